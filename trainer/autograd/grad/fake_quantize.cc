#include <cmath>

#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor part(GradCtx& c, int64_t of) {
  FakeQuantizeAttrs a = c.attrs<FakeQuantizeAttrs>();
  a.of = of;
  return call(OpId::kFakeQuantizeGrad, a, {c.g(), c.in(0), c.in(1), c.in(2)});
}

DimList all_but(int axis, int rank) {
  DimList others;
  for (int d = 0; d < rank; ++d) {
    if (d != axis) others.values[others.count++] = d;
  }
  return others;
}

// Sums over the elements that share a scale.
Tensor sum_shared(const Tensor& t, const FakeQuantizeAttrs& a, const Shape& scale) {
  if (numel(scale) == 1) return t.sum().reshape(scale);
  const int axis = static_cast<int>(a.axis < 0 ? a.axis + t.rank() : a.axis);
  return t.rank() == 1 ? t : t.sum(all_but(axis, t.rank()));
}

// Esser et al., "Learned Step Size Quantization", 2020: the gradient of a scale that n elements
// share is divided by sqrt(n qmax), so that its steps, relative to its size, are as large as a
// weight's.
void learned(GradCtx& c) {
  const auto& a = c.attrs<FakeQuantizeAttrs>();
  if (c.needs(0)) c.set(0, part(c, 0));
  const auto shared = static_cast<double>(numel(c.in_shape(0))) /
                      static_cast<double>(std::max<int64_t>(1, numel(c.in_shape(1))));
  const double factor =
      shared > 0 ? 1 / std::sqrt(shared * static_cast<double>(std::max<int64_t>(1, a.qmax))) : 0;
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (!c.needs(i)) continue;
    c.set(i, sum_shared(part(c, static_cast<int64_t>(i)), a, c.in_shape(i)) * factor);
  }
}

constinit const GradRow kLearned = {learned, 7, 0, 8};
const GradRow* by_learned(const void* attrs) {
  return static_cast<const FakeQuantizeAttrs*>(attrs)->learned != 0 ? &kLearned
                                                                    : &kGrad_FakeQuantize;
}

}  // namespace

// The straight-through estimator (Bengio et al. 2013), within the range.
WICK_GRAD_BY_ATTRS(FakeQuantize, 7, 0, 14, by_learned, [](GradCtx& c) { c.set(0, part(c, 0)); });
// Linear in the gradient; the other inputs only select where it passes.
WICK_GRAD(FakeQuantizeGrad, 14, 0, 14, [](GradCtx& c) {
  c.set(0, call(OpId::kFakeQuantizeGrad, c.attrs<FakeQuantizeAttrs>(),
                {c.g(), c.in(1), c.in(2), c.in(3)}));
});
// Only y and the bias have gradients: the inputs after the bias do not change y + bias.
WICK_GRAD(FoldedBatchNorm, 0, 0, 0x7c, [](GradCtx& c) {
  c.set(0, c.g());
  if (c.needs(1)) c.set(1, c.g().sum(all_but(1, c.g().rank())));
});

}  // namespace wick
