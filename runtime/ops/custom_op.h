// Custom ops: the content of a row of ops.def as a value. A custom op is in the user's program or
// in a library (op_library.h) and is passed explicitly: to Program::load on a device, to the
// registry (runtime/registry) above the runtime. Nothing registers itself.
#pragma once

#include "runtime/ops/rule.h"

#if defined(__cpp_exceptions) && !defined(WICK_AMALGAMATED)
#include <runtime/ops/op_guard.h>
// 1: this code has exceptions, so that rules and kernels that are compiled with it may throw.
#define WICK_OPS_THROW 1
#else
// 0: they may not. The runtime as one source (WICK_AMALGAMATED) has C callbacks only.
#define WICK_OPS_THROW 0
#endif

namespace wick {

class Gradient;    // custom_gradient.h
struct KernelRow;  // runtime/kernels/kernel.h

// The version of this header's structs and of KernelRow. A library with another version is refused.
constexpr uint32_t kCustomOpAbi = 4;
constexpr uint32_t kKernelRowBytes = 48;  // sizeof(KernelRow), which kernel.h checks
// How many inputs and outputs a custom op may have.
constexpr size_t kMaxCustomInputs = 16;
constexpr size_t kMaxCustomOutputs = 8;

// The operations on sizes.
enum class DimOp : uint8_t { kAdd, kSub, kMul, kFloorDiv, kMax };

class OpDim;
// Computes with symbolic dimensions; the graph implements it, for models that are captured or read.
class DimHost {
 public:
  // Return a op b, and whether both sizes are equal for all values of the symbols.
  virtual OpDim apply(DimOp op, const OpDim& a, const OpDim& b) = 0;
  virtual Tri equal(const OpDim& a, const OpDim& b) = 0;

 protected:
  ~DimHost() = default;
};

// A dimension in a custom op's shape rule: a number, or a symbol ("batch") whose value is not known
// yet.
class OpDim {
 public:
  OpDim(int64_t value = 0) : value_(value) {}  // NOLINT: implicit
  OpDim(DimHost* host, int64_t handle) : host_(host), value_(handle) {}

  bool known() const { return host_ == nullptr; }
  int64_t value() const { return value_; }  // the number if known(), else the host's handle
  // Returns what computes with sizes that are no numbers; null if known().
  DimHost* host() const { return host_; }

  // Sums and products saturate: a file may hold any number.
  friend OpDim operator+(const OpDim& a, const OpDim& b) { return apply(DimOp::kAdd, a, b); }
  friend OpDim operator-(const OpDim& a, const OpDim& b) { return apply(DimOp::kSub, a, b); }
  friend OpDim operator*(const OpDim& a, const OpDim& b) { return apply(DimOp::kMul, a, b); }
  friend OpDim floor_div(const OpDim& a, int64_t b) {
    return apply(DimOp::kFloorDiv, a, b);
  }  // b > 0
  friend OpDim max(const OpDim& a, const OpDim& b) { return apply(DimOp::kMax, a, b); }
  // Returns kNo where they differ whatever the symbols are, kUnknown where it depends on them.
  friend Tri equal(const OpDim& a, const OpDim& b) {
    if (a.known() && b.known()) return dim_equal(a.value_, b.value_);
    return (a.known() ? b : a).host_->equal(a, b);
  }

 private:
  static OpDim apply(DimOp op, const OpDim& a, const OpDim& b) {
    if (!a.known() || !b.known()) return (a.known() ? b : a).host_->apply(op, a, b);
    return {numbers(op, a.value_, b.value_)};
  }
  static int64_t numbers(DimOp op, int64_t a, int64_t b) {
    int64_t r = 0;
    bool over = false;
    switch (op) {
      case DimOp::kAdd: over = __builtin_add_overflow(a, b, &r); break;
      case DimOp::kSub: over = __builtin_sub_overflow(a, b, &r); break;
      case DimOp::kMul: over = __builtin_mul_overflow(a, b, &r); break;
      case DimOp::kFloorDiv: return b > 0 ? dim_floor_div(a, b) : 0;
      case DimOp::kMax: return dim_max(a, b);
    }
    return over ? INT64_MAX : r;
  }

  DimHost* host_ = nullptr;
  int64_t value_ = 0;
};

// The context of a custom op's shape rule: c.in[0].shape[1], c.as<Attrs>(), c.out[0].shape = {...}.
// It has dtypes, shapes and attributes, but no values.
using OpShapes = RuleCtx<OpDim>;

// A pointer and a count; can be made from an array.
struct KernelRows {
  // The rows and their number.
  const KernelRow* data = nullptr;
  size_t size = 0;
  constexpr KernelRows() = default;
  template <class Row, size_t N>
  constexpr KernelRows(const Row (&rows)[N]) : data(rows), size(N) {}  // NOLINT: implicit
};

// Defines a custom op. It must outlive every program, session and tensor that uses it, so it is
// usually a constant.
struct CustomOp {
  const char* domain = nullptr;  // "com.example": letters, digits, ._-; the ONNX node's domain too
  const char* name = nullptr;    // "Swish": a C identifier; the ONNX node's op_type
  uint32_t version = 1;          // raise it when semantics change; older files still find the op
  uint8_t min_inputs = 1, max_inputs = 1;  // at most kMaxCustomInputs
  uint8_t outputs = 1;                     // at most kMaxCustomOutputs
  // The description of its attribute struct (WICK_ATTR_FIELDS).
  const AttrType* attrs = &AttrFields<NoAttrs>::kType;
  Status (*shape)(OpShapes&) = nullptr;  // null: every output is like input 0
  KernelRows kernels;                    // the first one that matches runs
  // -- used by the trainer only
  void (*gradient)(Gradient&) = nullptr;  // null: backward through the op is an error
  uint32_t saves_in = ~0u;                // bit i: the formula reads input i
  uint32_t saves_out = 0;                 // bit i: it reads output i
  uint32_t nondiff_in = 0;                // bit i: input i never gets a gradient (indices)
  // -- set by this header
#if WICK_OPS_THROW
  // Calls the shape rule, and turns what it throws into a Status; null: the rule is called as it
  // is.
  Status (*guard)(Status (*)(OpShapes&), OpShapes&) = call_guarded;
#else
  Status (*guard)(Status (*)(OpShapes&), OpShapes&) = nullptr;  // the rule is called as it is
#endif
};

// The full name, "com.example::Swish", which errors, traces and the graph's text use.
struct CustomOpName {
  char text[128];
};
// Returns the full name; of each part the first 60 bytes.
CustomOpName custom_op_name(const char* domain, const char* name);

// Checks names, counts, attributes and that each kernel has the functions it needs.
// kInvalidArgument.
Status check_custom_op(const CustomOp& op);
// Checks each op, and that no two have the same name.
Status check_custom_ops(Span<const CustomOp* const> ops);

// The part of check_custom_op() that checks kernel rows; it is compiled with the kernels.
Status check_kernel_rows(const KernelRows& rows, const char* op);

// Returns what a row of ops.def would contain for the op, under that id and full name.
OpInfo info_of(const CustomOp& op, OpId id, const char* name);

// Checks the arity, then runs the op's rule: for custom ops what infer_shapes() is for rows of
// ops.def.
Status infer_custom(const CustomOp& op, RuleCtx<int64_t>& ctx);
// The same for callers with their own dim type: `in` and `out` are already translated.
Status run_shape_rule(const CustomOp& op, OpShapes& ctx);

}  // namespace wick
