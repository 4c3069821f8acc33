// Shape and dtype rules: one per op, written once over Dim (int64_t here; a symbolic expression in
// graph/).
#pragma once

#include "runtime/core/shape.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick {

// What a symbolic comparison can say. int64 never says kUnknown.
enum class Tri : uint8_t { kNo, kYes, kUnknown };

// The Dim vocabulary of the rules, for int64_t. graph/ overloads the same names for its SymDim.
inline bool dim_known(int64_t) { return true; }
inline int64_t dim_value(int64_t d) { return d; }
inline Tri dim_equal(int64_t a, int64_t b) { return a == b ? Tri::kYes : Tri::kNo; }
inline int64_t dim_floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}  // b > 0
inline int64_t dim_max(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t dim_min(int64_t a, int64_t b) { return a < b ? a : b; }

// A size that only a value decides, where the rule has symbols instead: graph/ names it anew.
inline int64_t dim_open(int64_t) { return 0; }

// What a rule knows of a value. `elements`: the integers of a small known int tensor (a shape,
// axes), else null; of a float input that the op's rule reads (reads_reals), the bits of its values
// as doubles.
template <class Dim>
struct ValueInfo {
  DType dtype = DType::kNone;
  BasicShape<Dim> shape;
  const Dim* elements = nullptr;
  int64_t element_count = 0;

  bool present() const { return dtype != DType::kNone; }
  int rank() const { return shape.rank(); }
  Span<const Dim> values() const { return {elements, static_cast<size_t>(element_count)}; }
};

struct CustomOp;

template <class Dim>
struct RuleCtx {
  OpId op;
  const void* attrs;
  Span<const ValueInfo<Dim>> in;
  Span<ValueInfo<Dim>> out;
  const CustomOp* custom = nullptr;  // a user's op: it brings its rule, `op` only tells it apart
  // Where not null: the rule leaves what it resolved here, and says needs_value() where it cannot.
  ShapeArgs* args = nullptr;

  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attrs);
  }
  // True when optional input i was given.
  bool has(size_t i) const { return i < in.size() && in[i].present(); }
};

template <class Dim>
using Rule = Status (*)(RuleCtx<Dim>&);

// The rules by row of ops.def, in its order. A program of selected ops
// (runtime/kernels/selected_ops.h) defines this function itself, with nulls for the others.
Span<const Rule<int64_t>> shape_rules();
extern const Span<const Rule<int64_t>> kAllShapeRules;

// The row's rule, after checking the arity. Sets every output's dtype and shape. Error texts carry
// no op name: each caller prefixes the op and its own idea of where.
Status infer_shapes(RuleCtx<int64_t>& ctx);

// How `elements` hold the values of a small float32 or float64 tensor.
inline int64_t bits_of_real(double v) {
  int64_t bits;
  __builtin_memcpy(&bits, &v, sizeof(bits));
  return bits;
}
inline double real_of_bits(int64_t bits) {
  double v;
  __builtin_memcpy(&v, &bits, sizeof(v));
  return v;
}
// Whether the rules read input i of this value. `data` of a contiguous tensor: element i's bits.
inline bool holds_reals(OpId op, size_t input, DType dtype, int rank) {
  return reads_reals(op, input) && rank <= 1 && (dtype == DType::kF32 || dtype == DType::kF64);
}
inline int64_t real_bits_at(DType dtype, const void* data, int64_t i) {
  return bits_of_real(dtype == DType::kF64
                          ? static_cast<const double*>(data)[i]
                          : static_cast<double>(static_cast<const float*>(data)[i]));
}

// A rule needs the values of an input that is not known yet: the runtime plans such a step once its
// input has run.
inline Status needs_value() {
  return Status(Code::kNeedsValue, "the shape depends on the value of an input");
}
// The same for those who cannot wait: an error like others.
inline Status refuse_unknown(Status s) {
  return s.code() == Code::kNeedsValue ? Status(Code::kUnsupported, s.message()) : s;
}

}  // namespace wick
