// Convolution is bilinear, so Conv, ConvInputGrad and ConvWeightGrad are each other's gradients.
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/epilogue.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor conv(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvAttrs& a) {
  return call(OpId::kConv, a, {x, w, bias});
}
Tensor input_grad(const Tensor& g, const Tensor& w, const ConvAttrs& a, const Shape& x) {
  return call(OpId::kConvInputGrad, ConvGradAttrs{a, spatial(x)}, {g, w});
}
Tensor weight_grad(const Tensor& x, const Tensor& g, const ConvAttrs& a, const Shape& w) {
  return call(OpId::kConvWeightGrad, ConvGradAttrs{a, spatial(w)}, {x, g});
}

}  // namespace

WICK_GRAD(Conv, 3, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<ConvAttrs>();
  if (c.needs(0)) c.set(0, input_grad(c.g(), c.in(1), a, c.in_shape(0)));
  if (c.needs(1)) c.set(1, weight_grad(c.in(0), c.g(), a, c.in_shape(1)));
  if (c.has(2) && c.needs(2)) {
    Dims dims{0};
    for (int i = 2; i < c.g().rank(); ++i) dims.values[dims.count++] = i;
    c.set(2, sum(c.g(), dims));
  }
});

WICK_GRAD(ConvInputGrad, 3, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<ConvGradAttrs>().conv;
  if (c.needs(0)) c.set(0, conv(c.g(), c.in(1), Tensor(), a));
  if (c.needs(1)) c.set(1, weight_grad(c.g(), c.in(0), a, c.in_shape(1)));
});

WICK_GRAD(ConvWeightGrad, 3, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<ConvGradAttrs>().conv;
  if (c.needs(0)) c.set(0, input_grad(c.in(1), c.g(), a, c.in_shape(0)));
  if (c.needs(1)) c.set(1, conv(c.in(0), c.g(), Tensor(), a));
});

WICK_GRAD(FusedConv, 63, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<FusedConvAttrs>();
  grad_through(c, [&](const std::vector<Tensor>& in) {
    Tensor y = conv(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), a.conv);
    return std::vector<Tensor>{unfused_epilogue(y, in, 1, a.epilogue)};
  });
});

}  // namespace wick
