// A model of `wick train`, fresh or trained, with a batch of its images: what explain, roofline and
// doctor look at.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tools/wick/command_line.h"
#include "trainer/loop/recipes.h"

namespace wick::tool {

struct FirstBatchOptions {
  std::string model = "lenet";  // a name of nn::model_names()
  std::string run;              // a folder of `wick train` in its place; "": none
  std::string data;             // as of open_images(); "": the run's, or fashion-mnist
  int64_t batch = 64;
  uint64_t seed = 0;  // of the weights and of the choice of images
};

struct FirstBatch {
  std::string model, data;             // their names
  std::shared_ptr<nn::Module> module;  // in training mode
  Tensor images, labels;
  std::optional<loop::RunConfig> config;  // of the run
};

// Makes the same module and batch each time. Throws Error where the run, the model or its images
// are missing.
FirstBatch first_batch(const FirstBatchOptions& options);
// Makes the same module again, and seeds the generator as first_batch() does.
std::shared_ptr<nn::Module> first_module(const FirstBatchOptions& options);

// Returns the optimizer of the run for that module, or SGD with momentum for a fresh model.
std::unique_ptr<optim::Optimizer> first_optimizer(const FirstBatch& first, nn::Module& module);

// Accepts --data, --batch and --seed.
void accept_batch(Command command, FirstBatchOptions* options);

}  // namespace wick::tool
