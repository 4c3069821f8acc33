// Helpers for public functions that are composed of ops; not public.
#pragma once

#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {

// Passes the user's line to every op of a formula: at(x) * at(y).
struct At {
  Where where;
  explicit At(const Arg& x) : where(x.where) {}
  explicit At(const Where& w) : where(w) {}
  Arg operator()(const Tensor& t) const { return {t, where}; }
};

inline std::string text(const Tensor& t) { return to_text(t.raw_shape()).text; }
inline int64_t dim_of(const Tensor& t, int d) { return t.raw_shape()[d < 0 ? d + t.rank() : d]; }
inline Tensor mt(const Tensor& t, const At& at) { return t.transpose(-2, -1, at.where); }

// Reshapes: -1 is inferred, kCopy copies the dim of x at the same index, which keeps a dynamic
// batch symbolic under capture. A size of 0 is one, not ONNX's copy.
constexpr int64_t kCopy = -2;
Tensor reshape_to(const Tensor& x, const Dims& dims, const At& at);

[[noreturn]] inline void bad_shape(const char* op, const std::string& text, const Where& where) {
  throw_error(op, text, where, Code::kShapeMismatch);
}

// Throws Error for an attention mask of integers, which would be added to the scores. `means` says
// what true stands for.
inline void check_mask(const char* op, const Tensor& mask, const char* means, const Where& where) {
  if (!mask.defined() || mask.dtype() == DType::kBool || is_float(mask.dtype())) return;
  throw_error(op,
              std::string("a mask is bool (true: ") + means +
                  ") or floats that are added to the scores, got " + dtype_name(mask.dtype()) +
                  ": convert with to(DType::kBool)",
              where, Code::kTypeMismatch);
}

using Sizes = IntList<3>;  // one per spatial dim
inline Sizes sizes(int64_t n) { return {n}; }
inline Sizes sizes(Pair p) { return {p.h, p.w}; }
inline Sizes sizes(Triple t) { return {t.d, t.h, t.w}; }
// Returns x[N, C, spatial...] with a batch dim; sets *added if x had none.
Tensor batched(const char* op, const Arg& x, int64_t spatial, bool* added);

inline Tensor reduced(const Tensor& loss, Reduction reduction, const At& at) {
  if (reduction == Reduction::kMean) return mean(at(loss));
  if (reduction == Reduction::kSum) return sum(at(loss));
  return loss;
}

// For the sum over `dims` of x to the power of p, as in a norm: returns f(sum), but 0 where the sum
// is 0, with a gradient of 0 there instead of NaN.
template <class F>
Tensor where_positive(const Tensor& s, const At& at, const F& f) {
  Tensor none = eq(at(s), 0), one = full({}, 1, s.dtype()), zero = full({}, 0, s.dtype());
  Tensor safe = where(at(none), at(one), at(s));
  return where(at(none), at(zero), at(f(safe)));
}

}  // namespace wick
