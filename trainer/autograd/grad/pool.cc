#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

// Returns tap k of every window, for each of the prod(kernel) taps in row-major order, stacked on a
// new first dim; places outside x are `fill`.
Tensor taps(const Tensor& x, const PoolAttrs& a, const Shape& out, double fill) {
  int spatial = static_cast<int>(a.kernel_shape.count);
  PadAttrs p;
  p.value = fill;
  p.pads.count = 2 * x.rank();
  for (int i = 0; i < spatial; ++i) {
    int64_t begin = a.pads.at_or(i, 0);
    int64_t reach = (out[2 + i] - 1) * a.strides.at_or(i, 1) +
                    (a.kernel_shape[i] - 1) * a.dilations.at_or(i, 1) + 1;
    p.pads.values[2 + i] = begin;
    p.pads.values[x.rank() + 2 + i] = reach - begin - x.raw_shape()[2 + i];
  }
  Tensor padded = call(OpId::kPad, p, {x});
  int64_t total = 1;
  for (int64_t k : a.kernel_shape.span()) total *= k;
  std::vector<Tensor> all;
  for (int64_t tap = 0; tap < total; ++tap) {
    Tensor t = padded;
    int64_t rest = tap;
    for (int i = spatial - 1; i >= 0; --i) {
      int64_t at = rest % a.kernel_shape[i] * a.dilations.at_or(i, 1), step = a.strides.at_or(i, 1);
      rest /= a.kernel_shape[i];
      t = t.slice(2 + i, at, at + (out[2 + i] - 1) * step + 1, step);
    }
    all.push_back(t);
  }
  return stack(all, 0);
}

// LpPool in other ops. The gradient is 0 where a window has only zeros.
Tensor lp_pool(const Tensor& x, const LpPoolAttrs& a, const Shape& out, const At& at) {
  const auto p = static_cast<double>(a.p);
  const DType real = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor read = taps(x.to(real), a.pool, out, 0);
  const Tensor power = a.p == 1 ? abs(read) : a.p == 2 ? square(read) : pow(abs(read), p);
  Tensor y = sum(power, {0});
  if (a.p == 2) y = where_positive(y, at, [](const Tensor& t) { return sqrt(t); });
  if (a.p > 2) y = where_positive(y, at, [p](const Tensor& t) { return pow(t, 1 / p); });
  return y.to(x.dtype());
}

}  // namespace

WICK_GRAD(MaxPool, 1, 0, 0, [](GradCtx& c) {
  c.set(0, call(OpId::kMaxPoolGrad, c.attrs<PoolAttrs>(), {c.g(), c.in(0)}));
});
WICK_GRAD(AveragePool, 1, 0, 0, [](GradCtx& c) {
  c.set(0, call(OpId::kAveragePoolGrad, c.attrs<PoolAttrs>(), {c.g(), c.in(0)}));
});

WICK_GRAD(LpPool, 1, 0, 0, [](GradCtx& c) {
  if (numel(c.in_shape(0)) == 0 || numel(c.out_shape(0)) == 0) return c.set(0, zeros_of(c, 0));
  grad_through(c, [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{
        lp_pool(in[0], c.attrs<LpPoolAttrs>(), c.out_shape(0), At(c.where()))};
  });
});

// Linear in grad_output: its gradient reads the same places. x only selects the places, so it gets
// none.
WICK_GRAD(MaxPoolGrad, 2, 0, 2, [](GradCtx& c) {
  const auto& a = c.attrs<PoolAttrs>();
  const Shape& out = c.in_shape(0);
  Tensor first = argmax(taps(c.in(1), a, out, -__builtin_inf()), 0, true);
  c.set(0, gather(taps(c.g(), a, out, 0), 0, first).squeeze(0));
});
WICK_GRAD(AveragePoolGrad, 0, 0, 2,
          [](GradCtx& c) { c.set(0, call(OpId::kAveragePool, c.attrs<PoolAttrs>(), {c.g()})); });

}  // namespace wick
