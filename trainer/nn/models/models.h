// The models of `wick train`, for 1x28x28 images and ten classes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/layers.h"

namespace wick::nn {

// Two 3x3 convolutions (32, 64), each with a 2x2 max pool; a hidden layer of 128. Its keys are
// those of PyTorch's nn.Sequential.
std::shared_ptr<Module> lenet();
// 784-512-256-10; takes images or flat rows.
std::shared_ptr<Module> mlp();
// CIFAR's ResNet with one block per stage (16, 32, 64 channels) and a global average pool.
std::shared_ptr<Module> resnet8();

// Makes a model by name. For an unknown name the Error lists the known ones.
std::shared_ptr<Module> make_model(const std::string& name, Where where = Where::current());
// Returns the names of all models.
std::vector<std::string> model_names();

}  // namespace wick::nn
