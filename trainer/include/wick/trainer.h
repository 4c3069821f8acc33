// Wick's training engine: tensors, autograd, modules. PyTorch's names where PyTorch has them.
// Example (tests/docs/readme_train.cc):
//
//   struct Net : nn::Module {
//     nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
//     nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
//     Tensor forward(const Arg& x) override { return fc2(relu(fc1(x.tensor.flatten(1)))); }
//   };
//
// Everything throws wick::Error: the op first, both shapes, your line. Optimizers, data,
// checkpoints and the loop have headers of their own: trainer/optim/sgd.h, trainer/optim/adam.h,
// trainer/data/loader.h, trainer/checkpoint/safetensors.h, trainer/loop/trainer.h.
#pragma once

#include "trainer/autograd/autograd.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/tensor.h"
#include "wick/error.h"
