// Shape and dtype rules: one per op, written once over Dim (int64_t here; a symbolic expression in
// graph/).
#pragma once

#include "runtime/core/shape.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick {

// The result of a symbolic comparison. int64 never gives kUnknown.
enum class Tri : uint8_t { kNo, kYes, kUnknown };

// The functions on Dim that rules use, for int64_t. graph/ overloads the same names for its SymDim.
inline bool dim_known(int64_t) { return true; }
inline int64_t dim_value(int64_t d) { return d; }
inline Tri dim_equal(int64_t a, int64_t b) { return a == b ? Tri::kYes : Tri::kNo; }
inline int64_t dim_floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}  // b > 0
inline int64_t dim_max(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t dim_min(int64_t a, int64_t b) { return a < b ? a : b; }

// Stands for a size that depends on values: with symbols it is a new symbol (graph/), here it is 0.
inline int64_t dim_open(int64_t) { return 0; }

// ValueInfo is what a rule knows about a value. `elements`: the integers of a small known int
// tensor (a shape, axes), else null; for a float input that the op's rule reads (reads_reals), the
// bits of its values as doubles.
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
  const CustomOp* custom = nullptr;  // a custom op, which has its own rule; `op` is only an id
  // Not null: the rule stores its resolved arguments here, and returns needs_value() where it
  // cannot.
  ShapeArgs* args = nullptr;

  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attrs);
  }
  // Returns whether optional input i was given.
  bool has(size_t i) const { return i < in.size() && in[i].present(); }
};

template <class Dim>
using Rule = Status (*)(RuleCtx<Dim>&);

// Checks the arity and runs the op's rule, which sets every output's dtype and shape. Error texts
// do not name the op: callers prefix the op and the place.
Status infer_shapes(RuleCtx<int64_t>& ctx);

// Conversions of the values of small float32 and float64 tensors to and from `elements`.
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
// Returns whether rules read the values of input i with this type.
inline bool holds_reals(OpId op, size_t input, DType dtype, int rank) {
  return reads_reals(op, input) && rank <= 1 && (dtype == DType::kF32 || dtype == DType::kF64);
}
inline int64_t real_bits_at(DType dtype, const void* data, int64_t i) {
  return bits_of_real(dtype == DType::kF64
                          ? static_cast<const double*>(data)[i]
                          : static_cast<double>(static_cast<const float*>(data)[i]));
}

// A rule needs the value of an input that is not known yet: the runtime plans the step when that
// input was computed.
inline Status needs_value() {
  return Status(Code::kNeedsValue, "the shape depends on the value of an input");
}
// For callers that cannot wait for the value: turns kNeedsValue into kUnsupported.
inline Status refuse_unknown(Status s) {
  return s.code() == Code::kNeedsValue ? Status(Code::kUnsupported, s.message()) : s;
}

}  // namespace wick
