// Wick's training engine: tensors, autograd, modules, optimizers, data, the training loop.
// PyTorch's names where PyTorch has them.
// Example (tests/docs/readme_train.cc):
//
//   struct Net : nn::Module {
//     nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
//     nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
//     Tensor forward(const Arg& x) override { return fc2(relu(fc1(x.tensor.flatten(1)))); }
//   };
//
// Everything throws wick::Error: the op first, both shapes, your line. A whole project, training
// loop included: examples/own_model.
#pragma once

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/checkpoint.h"
#include "trainer/autograd/custom.h"
#include "trainer/autograd/forward.h"
#include "trainer/autograd/function.h"
#include "trainer/autograd/functional.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/cifar.h"
#include "trainer/data/csv_table.h"
#include "trainer/data/dataset.h"
#include "trainer/data/datasets.h"
#include "trainer/data/eval_transform.h"
#include "trainer/data/image_folder.h"
#include "trainer/data/images.h"
#include "trainer/data/loader.h"
#include "trainer/data/npy.h"
#include "trainer/data/step_profile.h"
#include "trainer/data/tar.h"
#include "trainer/data/token_file.h"
#include "trainer/data/transforms.h"
#include "trainer/explain/anomaly.h"
#include "trainer/explain/broadcast_check.h"
#include "trainer/explain/describe.h"
#include "trainer/explain/live.h"
#include "trainer/explain/memory.h"
#include "trainer/explain/render.h"
#include "trainer/explain/report.h"
#include "trainer/explain/trace_ops.h"
#include "trainer/explain/warn.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lr_scheduler.h"
#include "trainer/optim/sgd.h"
#include "trainer/profile/allocator_stats.h"
#include "trainer/profile/audit.h"
#include "trainer/profile/benchmark.h"
#include "trainer/profile/measure.h"
#include "trainer/profile/profiler.h"
#include "trainer/profile/step_memory.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/memory.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/tensor.h"
#include "wick/error.h"
