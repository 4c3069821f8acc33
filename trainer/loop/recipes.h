// Training a known model on known images in one call: what `wick train` does.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/images.h"
#include "trainer/loop/trainer.h"

namespace wick::loop {

// What a run is, with every value filled in: kept in its checkpoints.
struct RunConfig {
  std::string model = "lenet";         // nn::model_names()
  std::string data = "fashion-mnist";  // data::open_images()
  int64_t epochs = 0;
  int64_t batch = 0;
  double lr = 0;
  uint64_t seed = 0;                // of initial weights, shuffling, dropout and what is held out
  std::string optimizer, schedule;  // optimizer_names(), schedule_names() (recipe_parts.h)
  double weight_decay = -1;
  int64_t accumulate = 1;  // batches a step
  double clip_norm = 0;    // 0: not
  int64_t patience = 0;    // epochs; 0: no early stopping
  double val_split = 0;    // share of the training images that validates instead of the test set
  double ema = 0;  // decay of an average of the weights, which is then what is kept; 0: none
  double label_smoothing = 0;
  std::string autocast = "none";  // autocast_names()
  std::string out;
};

// What is asked for. A value left out is the default, or, resuming, the saved run's; one that is
// given must then equal the saved run's.
struct TrainConfig {
  std::optional<std::string> model;                // "lenet"
  std::optional<std::string> data;                 // "fashion-mnist"
  std::optional<int64_t> epochs;                   // the recipe's; so is 0
  std::optional<int64_t> batch;                    // the recipe's; so is 0
  std::optional<double> lr;                        // the recipe's; so is 0
  std::optional<uint64_t> seed;                    // 0
  std::optional<std::string> optimizer, schedule;  // the recipe's, "cosine"
  std::optional<double> weight_decay;              // the recipe's, or the other optimizer's default
  std::optional<int64_t> accumulate, patience;
  std::optional<double> clip_norm, val_split, ema, label_smoothing;
  std::optional<std::string> autocast;  // "none"
  std::string out;                      // empty: nothing is kept
  bool resume = false;

  // Change nothing in the result.
  int threads = 1;
  int workers = 1;
  int64_t save_every_steps = 0;
  std::FILE* progress = nullptr;
  bool verdict = false;
  std::string resume_command;
  std::function<void(int64_t step)> on_step;
};

struct TrainResult {
  FitResult fit;
  // Of the test set: the validation, or with val_split the best weights' (the last ones' where no
  // folder was given), which nothing was picked by.
  EvalResult test;
  RunConfig config;
  int64_t parameters = 0;
};

TrainResult run_training(const TrainConfig& config, Where where = Where::current());

struct TrainedModel {
  std::shared_ptr<nn::Module> module;  // in eval mode
  RunConfig config;
  std::vector<std::string> classes;
  data::Normalization normalization;  // from bytes to the module's input
  Shape input_shape;                  // of one item: [1, height, width]
  std::string file;                   // where the weights came from
  std::string weights_sha256;
  std::string data_sha256;  // of the training images and labels; "": an older checkpoint
};

// From a folder run_training() wrote: best.safetensors, or last.safetensors where that is missing.
// Refuses a folder whose two files are of different runs.
TrainedModel load_trained(const std::string& folder, Where where = Where::current());

}  // namespace wick::loop
