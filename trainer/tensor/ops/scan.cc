#include "trainer/tensor/ops/scan.h"

#include <cmath>

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/ops/line_places.h"

namespace wick {
namespace {

Tensor cumulate(OpId op, const char* name, const Arg& x, int dim, std::optional<DType> dtype) {
  Line line(name, x, dim);
  DType to = dtype.value_or(floats(line.x) ? line.x.dtype() : DType::kI64);
  return line.back(call(op, CumulateAttrs{line.dim, 0, 0}, {{line.x.to(to, x.where), x.where}}));
}

// Doubles the range with each step: element i then has the result over the last 2 * step elements.
// The number of steps is logarithmic in the length, so the graph stays small.
ValuesIndices running_extreme(const char* name, const Arg& x, int dim, bool largest) {
  Line line(name, x, dim);
  if (detail::walks(line)) {
    const ValuesIndices r = detail::running_extremes(line, largest);
    return {line.back(r.values), line.back(r.indices)};
  }
  Tensor at;
  {
    NoGrad guard;
    int64_t n = line.size();
    Tensor v = line.x.dtype() == DType::kBool ? line.x.to(DType::kU8) : line.x;
    at = positions(n, line.dim, v.rank()).expand(v.raw_shape()).contiguous();
    at = moved_beside(v, at, x.where);
    for (int64_t step = 1; step < n; step *= 2) {
      Tensor before = line.slice(v, 0, n - step), here = line.slice(v, step, n);
      Tensor stay = largest ? ge(here, before) : le(here, before);
      if (floats(v)) stay = logical_or(stay, ne(here, here));
      Tensor chosen = where(stay, line.slice(at, step, n), line.slice(at, 0, n - step));
      at = cat({line.slice(at, 0, step), chosen}, line.dim);
      v = cat({line.slice(v, 0, step), where(stay, here, before)}, line.dim);
    }
  }
  return {line.back(gather({line.x, x.where}, line.dim, at)), line.back(at)};
}

// log(exp(a) + exp(b)); if one is inf or both are -inf, the larger one, which gets the gradient.
Tensor log_add(const Tensor& a, const Tensor& b) {
  Tensor larger = maximum(a, b), top = larger.detach(), zero = number(0, top.dtype());
  Tensor far = isinf(top), shift = where(far, zero, top);
  auto part = [&](const Tensor& t) { return exp(where(far, zero, t) - shift); };
  return where(far, larger, shift + log(part(a) + part(b)));
}

}  // namespace

Tensor cumsum(const Arg& x, int dim, std::optional<DType> dtype) {
  return cumulate(OpId::kCumSum, "cumsum", x, dim, dtype);
}
Tensor cumprod(const Arg& x, int dim, std::optional<DType> dtype) {
  return cumulate(OpId::kCumProd, "cumprod", x, dim, dtype);
}
ValuesIndices cummax(const Arg& x, int dim) { return running_extreme("cummax", x, dim, true); }
ValuesIndices cummin(const Arg& x, int dim) { return running_extreme("cummin", x, dim, false); }

Tensor logcumsumexp(const Arg& x, int dim) {
  Line line("logcumsumexp", x, dim);
  if (!floats(line.x))
    throw_error("logcumsumexp",
                std::string("needs a floating-point tensor, got ") + dtype_name(line.x.dtype()),
                x.where, Code::kTypeMismatch);
  Tensor v = line.x;
  int64_t n = line.size();
  for (int64_t step = 1; step < n; step *= 2) {
    Tensor sums = log_add(line.slice(v, 0, n - step), line.slice(v, step, n));
    v = cat({line.slice(v, 0, step), sums}, line.dim);
  }
  return line.back(v);
}

Tensor diff(const Arg& x, int64_t n, int dim, const Tensor& prepend, const Tensor& append) {
  if (x.tensor.rank() == 0)
    throw_error("diff", "needs a tensor of at least one dimension", x.where, Code::kShapeMismatch);
  if (n < 0) throw_error("diff", "n must not be negative", x.where);
  int d = wrap_dim("diff", dim, x.tensor.rank(), x.where);
  std::vector<Tensor> parts;
  auto add = [&](Tensor t) {
    if (!t.defined()) return;
    if (t.rank() == 0) {
      Shape one = x.tensor.raw_shape();
      one[d] = 1;
      t = t.expand(one, x.where);
    }
    parts.push_back(t);
  };
  add(prepend), add(x.tensor), add(append);
  Tensor v = parts.size() == 1 ? parts[0] : cat(parts, d, x.where);
  for (int64_t i = 0; i < n; ++i) {
    int64_t size = v.raw_shape()[d];
    if (size == 0) break;
    Tensor to = v.slice(d, 1, size, 1, x.where), from = v.slice(d, 0, size - 1, 1, x.where);
    v = v.dtype() == DType::kBool ? logical_xor({to, x.where}, from) : sub({to, x.where}, from);
  }
  return n == 0 ? v.clone(x.where) : v;
}

}  // namespace wick
