#include "trainer/nn/models/mobilenet.h"

namespace wick::nn {
namespace {

Conv2dOptions unbiased(int64_t padding, int64_t stride = 1) {
  Conv2dOptions o;
  o.stride = stride;
  o.padding = padding;
  o.bias = false;
  return o;
}

// torchvision's Conv2dNormActivation: its keys are "0" and "1".
Sequential conv_norm_relu6(int64_t in, int64_t out, int64_t kernel, const Conv2dOptions& o) {
  return Sequential(Conv2d(in, out, kernel, o), BatchNorm2d(out), ReLU6());
}

// A 1x1 convolution to more channels, a 3x3 depthwise one, and a 1x1 one to fewer channels without
// an activation after it; with a shortcut if the shape does not change.
struct InvertedResidual : Module {
  InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expand)
      : shortcut(in == out && stride == 1), conv(std::make_shared<Sequential>()) {
    const int64_t wide = in * expand;
    Conv2dOptions depthwise = unbiased(1, stride), pointwise = unbiased(0);
    depthwise.groups = wide;
    if (expand != 1) conv->append(conv_norm_relu6(in, wide, 1, pointwise));
    conv->append(conv_norm_relu6(wide, wide, 3, depthwise));
    conv->append(Conv2d(wide, out, 1, pointwise)).append(BatchNorm2d(out));
    register_module("conv", conv);
  }
  Tensor forward(const Arg& x) override {
    Tensor h = (*conv)(x);
    return shortcut ? h + x.tensor : h;
  }

  bool shortcut;
  std::shared_ptr<Sequential> conv;
};

struct MobileNet : Module {
  std::shared_ptr<Sequential> features = std::make_shared<Sequential>(
      conv_norm_relu6(1, 16, 3, unbiased(1)), InvertedResidual(16, 16, 1, 1),
      InvertedResidual(16, 24, 2, 3), InvertedResidual(24, 24, 1, 3),
      InvertedResidual(24, 40, 2, 3), InvertedResidual(40, 40, 1, 3),
      conv_norm_relu6(40, 128, 1, unbiased(0)));
  MobileNet() { register_module("features", features); }
  Child<Linear> classifier{this, "classifier", 128, 10};

  Tensor forward(const Arg& x) override {
    const Tensor y = adaptive_avg_pool2d({(*features)(x), x.where}, 1);
    return classifier({y.flatten(1, -1, x.where), x.where});
  }
};

}  // namespace

std::shared_ptr<Module> mobilenet() { return std::make_shared<MobileNet>(); }

}  // namespace wick::nn
