#include "trainer/tensor/ops/reduce.h"

#include <cmath>

#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

namespace {

ReduceAttrs reduce_attrs(const char* name, const Arg& x, Dims dims, bool keepdim) {
  need_defined(name, {x});
  ReduceAttrs a;
  const int rank = x.tensor.rank();
  bool seen[kMaxRank] = {};
  for (int64_t d : dims.span()) {
    if (rank == 0 && (d == 0 || d == -1)) continue;  // a 0-dim tensor has one element
    int at = wrap_dim(name, d, rank, x.where);
    if (seen[at]) {
      throw_error(name, "dimension " + std::to_string(at) + " is listed twice", x.where);
    }
    seen[at] = true;
    a.axes.values[a.axes.count++] = at;
  }
  a.keepdims = keepdim ? 1 : 0;
  return a;
}
Tensor reduce(OpId op, const char* name, const Arg& x, Dims dims, bool keepdim) {
  return call(op, reduce_attrs(name, x, dims, keepdim), {x});
}

// Returns the number of elements that are reduced to one.
int64_t reduced(const Arg& x, const ReduceAttrs& a) {
  int64_t n = 1;
  const Shape& s = x.tensor.raw_shape();
  if (a.axes.empty()) return numel(s);
  for (int64_t d : a.axes.span()) n *= s[static_cast<int>(d)];
  return n;
}

Tensor extremum(OpId op, const char* name, const Arg& x, Dims dims, bool keepdim) {
  ReduceAttrs a = reduce_attrs(name, x, dims, keepdim);
  const Shape& s = x.tensor.raw_shape();
  for (int d = 0; d < s.rank(); ++d) {
    bool taken = a.axes.empty();
    for (int64_t axis : a.axes.span()) taken = taken || axis == d;
    if (taken && s[d] == 0) {
      throw_error(name,
                  "dimension " + std::to_string(d) + " of " + to_text(s).text +
                      " is empty: it has no extremum",
                  x.where, Code::kShapeMismatch);
    }
  }
  return call(op, a, {x});
}

// Converts integers and bools to int64, in which they accumulate.
Tensor wide(const Arg& x, OptDType dtype) {
  DType t = x.tensor.dtype();
  if (dtype) return x.tensor.to(*dtype, x.where);
  return is_float(t) ? x.tensor : x.tensor.to(DType::kI64, x.where);
}
void need_float(const char* name, const Arg& x, const char* hint) {
  if (is_float(x.tensor.dtype())) return;
  throw_error(
      name,
      std::string("needs a floating-point tensor, got ") + dtype_name(x.tensor.dtype()) + hint,
      x.where, Code::kTypeMismatch);
}
// Drops the dims that keepdim has kept.
Tensor drop(const Tensor& kept, const ReduceAttrs& a) {
  AxesAttrs axes;
  axes.axes = a.axes;
  if (a.axes.empty()) {
    for (int i = 0; i < kept.rank(); ++i) axes.axes.values[axes.axes.count++] = i;
  }
  return axes.axes.empty() ? kept : call(OpId::kSqueeze, axes, {kept});
}

}  // namespace

Tensor sum(const Arg& x, Dims dims, bool keepdim, OptDType dtype) {
  need_defined("sum", {x});
  return reduce(OpId::kReduceSum, "sum", {wide(x, dtype), x.where}, dims, keepdim);
}
Tensor prod(const Arg& x, Dims dims, bool keepdim, OptDType dtype) {
  need_defined("prod", {x});
  return reduce(OpId::kReduceProd, "prod", {wide(x, dtype), x.where}, dims, keepdim);
}
Tensor mean(const Arg& x, Dims dims, bool keepdim, OptDType dtype) {
  need_defined("mean", {x});
  Tensor v = dtype ? x.tensor.to(*dtype, x.where) : x.tensor;
  need_float("mean", {v, x.where}, ": give a dtype, mean(x, dims, keepdim, DType::kF32)");
  return reduce(OpId::kReduceMean, "mean", {v, x.where}, dims, keepdim);
}
Tensor nansum(const Arg& x, Dims dims, bool keepdim) {
  if (!is_float(x.tensor.dtype())) return sum(x, dims, keepdim);
  Composite composite("nansum", x.where);
  return sum(where(isnan(x), constant(x.tensor, 0), x), dims, keepdim);
}
Tensor nanmean(const Arg& x, Dims dims, bool keepdim) {
  need_float("nanmean", x, "");
  Composite composite("nanmean", x.where);
  Tensor counted = sum(eq(x, x).to(x.tensor.dtype()), dims, keepdim);
  return nansum(x, dims, keepdim) / counted;
}

std::pair<Tensor, Tensor> var_mean(const Arg& x, Dims dims, int64_t correction, bool keepdim) {
  need_float("var", x, "");
  Composite composite("var", x.where);
  ReduceAttrs a = reduce_attrs("var", x, dims, true);
  const int64_t n = reduced(x, a);
  Tensor center = call(OpId::kReduceMean, a, {x});
  Tensor off = x.tensor - center;
  Tensor spread = call(OpId::kReduceSum, a, {off * off}) /
                  static_cast<double>(n > correction ? n - correction : 0);
  if (keepdim) return {spread, center};
  return {drop(spread, a), drop(center, a)};
}
Tensor var(const Arg& x, Dims dims, int64_t correction, bool keepdim) {
  return var_mean(x, dims, correction, keepdim).first;
}
std::pair<Tensor, Tensor> std_mean(const Arg& x, Dims dims, int64_t correction, bool keepdim) {
  Composite composite("std", x.where);
  auto [v, m] = var_mean(x, dims, correction, keepdim);
  // A constant row is a minimum: its gradient is 0.
  return {where_positive(v, At(x), [](const Tensor& safe) { return sqrt(safe); }), m};
}
Tensor std(const Arg& x, Dims dims, int64_t correction, bool keepdim) {
  return std_mean(x, dims, correction, keepdim).first;
}

Tensor amax(const Arg& x, Dims dims, bool keepdim) {
  return extremum(OpId::kReduceMax, "amax", x, dims, keepdim);
}
Tensor amin(const Arg& x, Dims dims, bool keepdim) {
  return extremum(OpId::kReduceMin, "amin", x, dims, keepdim);
}
Tensor max(const Arg& x) { return extremum(OpId::kReduceMax, "max", x, {}, false); }
Tensor min(const Arg& x) { return extremum(OpId::kReduceMin, "min", x, {}, false); }

static Tensor place_of(OpId op, const char* name, const Arg& x, int dim, bool keepdim) {
  need_defined(name, {x});
  if (x.tensor.rank() > 0) return call(op, ArgAttrs{dim, keepdim ? 1 : 0, 0}, {x});
  wrap_dim(name, dim, 1, x.where);  // a 0-dim tensor has one element
  return zeros({}, DType::kI64);
}
Tensor argmax(const Arg& x, int dim, bool keepdim) {
  return place_of(OpId::kArgMax, "argmax", x, dim, keepdim);
}
Tensor argmin(const Arg& x, int dim, bool keepdim) {
  return place_of(OpId::kArgMin, "argmin", x, dim, keepdim);
}

// Reduces 0 and 1 in uint8: an empty product is true, an empty sum false.
static Tensor truth(OpId op, const char* name, const Arg& x, Dims dims, bool keepdim) {
  need_defined(name, {x});
  Composite composite(name, x.where);
  DType out = x.tensor.dtype() == DType::kU8 ? DType::kU8 : DType::kBool;
  ReduceAttrs a = reduce_attrs(name, x, dims, keepdim);
  if (reduced(x, a) == 0) {
    Tensor none = sum(x.tensor.to(DType::kI64), dims, keepdim);
    return (op == OpId::kReduceMin ? eq(none, 0) : ne(none, 0)).to(out);
  }
  return call(op, a, {x.tensor.to(DType::kBool)}).to(out);
}
Tensor all(const Arg& x, Dims dims, bool keepdim) {
  return truth(OpId::kReduceMin, "all", x, dims, keepdim);
}
Tensor any(const Arg& x, Dims dims, bool keepdim) {
  return truth(OpId::kReduceMax, "any", x, dims, keepdim);
}
Tensor count_nonzero(const Arg& x, Dims dims) {
  Composite composite("count_nonzero", x.where);
  return sum(ne(x, 0), dims);
}

// The largest element is subtracted first, so that no exponential overflows.
Tensor logsumexp(const Arg& x, Dims dims, bool keepdim) {
  Composite composite("logsumexp", x.where);
  need_defined("logsumexp", {x});
  Tensor v = as_float(x);
  ReduceAttrs a = reduce_attrs("logsumexp", x, dims, true);
  if (reduced(x, a) == 0) return log(sum(exp(v), dims, keepdim));
  Tensor top = call(OpId::kReduceMax, a, {v.detach()});
  top = where(isinf(top), constant(top, 0), top);
  Tensor result = log(call(OpId::kReduceSum, a, {exp(v - top)})) + top;
  return keepdim ? result : drop(result, a);
}

Tensor norm(const Arg& x, double p, Dims dims, bool keepdim) {
  need_float("norm", x, "");
  Composite composite("norm", x.where);
  return linalg::vector_norm(x, p, dims, keepdim);
}

}  // namespace wick
