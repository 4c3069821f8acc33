// The model: a module of your own. Its members are its layers, and each is named once, as in
// PyTorch's state_dict ("conv.weight", "norm.running_mean", "gate" ...).
#pragma once

#include "wick/trainer.h"

using wick::Arg;
using wick::Tensor;
namespace nn = wick::nn;

// A convolution, batch norm, a learned gate for each channel, and two linear layers.
struct Net : nn::Module {
  explicit Net(int64_t classes)
      : conv(this, "conv", 1, 8, 3),
        norm(this, "norm", 8),
        fc1(this, "fc1", 8 * 13 * 13, 32),
        fc2(this, "fc2", 32, classes) {
    gate = register_parameter("gate", wick::ones({1, 8, 1, 1}));
  }

  Tensor forward(const Arg& image) override {          // [N, 1, 28, 28]
    Tensor h = wick::relu(norm(conv(image)));          // [N, 8, 26, 26]
    h = wick::max_pool2d(h * wick::sigmoid(gate), 2);  // [N, 8, 13, 13]
    return fc2(wick::relu(fc1(h.flatten(1))));         // [N, classes]
  }

  nn::Child<nn::Conv2d> conv;
  nn::Child<nn::BatchNorm2d> norm;
  Tensor gate;
  nn::Child<nn::Linear> fc1, fc2;
};
