#include "trainer/autograd/grad/epilogue.h"

#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor hard_sigmoid(const Tensor& y, const EpilogueAttrs& e) {
  return call(OpId::kHardSigmoid, HardSigmoidAttrs{e.alpha, e.beta}, {y});
}

}  // namespace

Tensor unfused_epilogue(Tensor y, const std::vector<Tensor>& in, int channel,
                        const EpilogueAttrs& e) {
  auto given = [&](size_t i) { return i < in.size() && in[i].defined(); };
  auto along = [&](const Tensor& v) {
    Shape s;
    for (int i = 0; i < y.rank(); ++i) s.push_back(1);
    s[channel < 0 ? channel + y.rank() : channel] = v.layout().numel();
    return v.reshape(s);
  };
  if (given(3)) y = y * along(in[3]) + along(in[4]);
  if (given(5)) y = y + in[5];
  switch (static_cast<Activation>(e.activation)) {
    case Activation::kNone: return y;
    case Activation::kRelu: return relu(y);
    case Activation::kClip: return clamp(y, e.alpha, e.beta);
    case Activation::kLeakyRelu: return leaky_relu(y, e.alpha);
    case Activation::kSigmoid: return sigmoid(y);
    case Activation::kTanh: return tanh(y);
    case Activation::kSilu: return silu(y);
    case Activation::kHardSwish: return hardswish(y);
    case Activation::kGeluErf: return gelu(y, false);
    case Activation::kGeluTanh: return gelu(y, true);
    case Activation::kHardSigmoid: return hard_sigmoid(y, e);
    case Activation::kTimesSigmoid: return y * sigmoid(y);
    case Activation::kTimesHardSigmoid: return y * hard_sigmoid(y, e);
  }
  throw Error("[fused] unknown activation", Code::kInternal);
}

}  // namespace wick
