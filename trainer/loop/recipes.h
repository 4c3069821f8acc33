// Trains a known model on known images in one call; it implements `wick train`.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/image/images.h"
#include "trainer/loop/trainer.h"

namespace wick::loop {

// The complete configuration of a run, which its checkpoints store.
struct RunConfig {
  std::string model = "lenet";         // nn::model_names()
  std::string data = "fashion-mnist";  // data::open_images()
  int64_t epochs = 0;                  // passes over the training images
  int64_t batch = 0;                   // images a step
  double lr = 0;                       // learning rate that the schedule starts from
  uint64_t seed = 0;                   // for weights, shuffling, dropout, validation split
  // optimizer_names(), schedule_names() (recipe_parts.h).
  std::string optimizer = {}, schedule = {};
  double weight_decay = -1;  // negative: the default of the optimizer
  int64_t accumulate = 1;    // batches per step
  double clip_norm = 0;      // 0: none
  int64_t patience = 0;      // epochs; 0: no early stopping
  double val_split = 0;      // share of the training images to validate on
  double ema = 0;  // decay of an average of the weights, which is then saved instead; 0: none
  double label_smoothing = 0;     // of the cross entropy, as PyTorch's
  std::string autocast = "none";  // autocast_names()
  std::string out = {};           // the run's folder
};

// The configuration that the caller asks for. A missing value takes the default, or when resuming
// that of the saved run; a given value must then equal the saved run's.
struct TrainConfig {
  std::optional<std::string> model = {};                     // "lenet"
  std::optional<std::string> data = {};                      // "fashion-mnist"
  std::optional<int64_t> epochs = {};                        // default: the recipe's, also for 0
  std::optional<int64_t> batch = {};                         // default: the recipe's, also for 0
  std::optional<double> lr = {};                             // default: the recipe's, also for 0
  std::optional<uint64_t> seed = {};                         // 0
  std::optional<std::string> optimizer = {}, schedule = {};  // the recipe's, "cosine"
  std::optional<double> weight_decay = {};     // the recipe's, or the optimizer's default
  std::optional<int64_t> accumulate = {};      // 1
  std::optional<int64_t> patience = {};        // 0
  std::optional<double> clip_norm = {};        // 0
  std::optional<double> val_split = {};        // 0
  std::optional<double> ema = {};              // 0
  std::optional<double> label_smoothing = {};  // 0
  std::optional<std::string> autocast = {};    // "none"
  std::string out = {};                        // empty: nothing is saved
  bool resume = false;                         // goes on with the run that `out` holds

  // These do not change the result.
  int threads = 1;
  int workers = 1;
  int64_t save_every_steps = 0;
  TensorBoardOptions tensorboard = {};
  std::FILE* progress = nullptr;
  bool verdict = false;
  std::string resume_command = {};
  std::function<void(int64_t step)> on_step = {};
};

// Says what a training gave.
struct TrainResult {
  FitResult fit;  // of each epoch
  // On the test set: the validation, or with val_split that of the best weights (of the last ones
  // if no folder was given), for which the test set was not used.
  EvalResult test;
  RunConfig config;
  int64_t parameters = 0;
};

// Trains, or goes on with a run, and judges on the test set. Throws Error for a name, value or file
// that does not fit, before a step is done.
TrainResult run_training(const TrainConfig& config, Where where = Where::current());

// A model that run_training() saved.
struct TrainedModel {
  std::shared_ptr<nn::Module> module;  // in eval mode
  RunConfig config;                    // of its run
  std::vector<std::string> classes;    // their names, in the order of the outputs
  data::Normalization normalization;   // from bytes to the module's input
  Shape input_shape;                   // of one item: [1, height, width]
  std::string file;                    // the file of the weights
  std::string weights_sha256;          // of the weights in it
  std::string data_sha256;             // of the training images and labels; "" in older checkpoints
};

// Loads from a folder that run_training() wrote: best.safetensors, or last.safetensors if that is
// missing. Refuses a folder whose two files belong to different runs.
TrainedModel load_trained(const std::string& folder, Where where = Where::current());

}  // namespace wick::loop
