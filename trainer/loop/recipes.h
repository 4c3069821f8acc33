// Training a known model on known images in one call: what `wick train` does.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/images.h"
#include "trainer/loop/trainer.h"

namespace wick::loop {

// Zero and empty mean: the recipe's own value (or, resuming, the saved run's).
struct TrainConfig {
  std::string model;  // nn::model_names(); default "lenet"
  std::string data;   // data::open_images(); default "fashion-mnist"
  int64_t epochs = 0;
  int64_t batch = 0;
  double lr = 0;
  uint64_t seed = 0;  // of initial weights, shuffling and dropout; a resumed run keeps its own
  std::string out;    // empty: nothing is kept
  bool resume = false;

  // Change nothing in the result.
  int threads = 1;
  int workers = 1;
  int64_t save_every_steps = 0;
  std::FILE* progress = nullptr;
  std::string resume_command;
  std::function<void(int64_t step)> on_step;
};

struct TrainResult {
  FitResult fit;
  TrainConfig config;  // with every value filled in
  int64_t parameters = 0;
};

TrainResult run_training(const TrainConfig& config, Where where = Where::current());

struct TrainedModel {
  std::shared_ptr<nn::Module> module;  // in eval mode
  TrainConfig config;
  std::vector<std::string> classes;
  data::Normalization normalization;  // from bytes to the module's input
  Shape input_shape;                  // of one item: [1, height, width]
  std::string file;                   // where the weights came from
  std::string weights_sha256;
};

// From a folder run_training() wrote: best.safetensors, or last.safetensors where that is missing.
TrainedModel load_trained(const std::string& folder, Where where = Where::current());

}  // namespace wick::loop
