// The models `wick train` knows, for 1x28x28 images and ten classes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/layers.h"

namespace wick::nn {

// Two 3x3 convolutions (32, 64), each with a 2x2 max pool; a hidden layer of 128. Keys as PyTorch's
// nn.Sequential.
std::shared_ptr<Module> lenet();
// 784-512-256-10; takes images or rows.
std::shared_ptr<Module> mlp();
// CIFAR's ResNet with one block a stage (16, 32, 64 channels) and a global average.
std::shared_ptr<Module> resnet8();

// By name; an unknown one is an error that lists the known.
std::shared_ptr<Module> make_model(const std::string& name, Where where = Where::current());
std::vector<std::string> model_names();

}  // namespace wick::nn
