// A network of depthwise convolutions, small enough to train in minutes.
#pragma once

#include <memory>

#include "trainer/nn/layers.h"

namespace wick::nn {

// A small MobileNetV2 (Sandler et al. 2018) for images [N, 1, H, W] with logits [N, 10]: inverted
// residual blocks of 16 to 40 channels with half the paper's expansion, ReLU6, two strides.
// "features" has torchvision's keys.
std::shared_ptr<Module> mobilenet();

}  // namespace wick::nn
