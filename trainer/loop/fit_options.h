// The options of Trainer::fit.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trainer/loop/metrics_csv.h"
#include "trainer/optim/averaged_model.h"
#include "trainer/optim/grad_scaler.h"
#include "trainer/tensor/tensor.h"

namespace wick::loop {

// Returns a scalar, the mean over the items of the batch.
using Loss = std::function<Tensor(const Tensor& output, const Tensor& target)>;
// Returns one number for a batch; the outputs are float32 also under autocast. The value of an
// epoch is the mean over the items of the validation.
using Metric = std::function<double(const Tensor& output, const Tensor& target)>;

// The direction in which a monitored number improves. kAuto: up for accuracies, down for all
// others.
enum class Better { kAuto, kLess, kMore };

// Selects what is written for TensorBoard (fit_board.h); it changes no bit of the training.
struct TensorBoardOptions {
  std::string folder = {};  // empty: nothing is written
  // Loss and learning rate are written every so many optimizer steps; 0: only for epochs.
  int64_t every_steps = 10;
  bool histograms = false;  // of weights and their gradients, after each epoch
};

// Options of Trainer::fit().
struct FitOptions {
  int64_t epochs = 1;  // passes over the training data, those before a resume included
  // The output folder: last.safetensors (the full state, after each epoch), best.safetensors (the
  // weights of the best epoch by `monitor`), metrics.csv, and the files for `wick report`
  // (run_report.h). Empty: nothing is written. Without `resume` the files of a former run are
  // removed first.
  std::string out = {};
  std::vector<std::string> classes = {};             // names of the labels, for the report
  bool resume = false;                               // continues from out/last.safetensors
  int64_t save_every_steps = 0;                      // also saves within an epoch; 0: does not
  std::string resume_command = {};                   // shown after Ctrl-C
  std::map<std::string, std::string> metadata = {};  // written to both checkpoints
  std::FILE* progress = nullptr;                     // null: silent
  bool handle_interrupt = true;                      // Ctrl-C saves and returns
  std::function<void(int64_t step)> on_step = {};    // after each optimizer step (and save)

  // The number of batches per optimizer step, which uses the mean over all their items: equal to
  // one large batch for losses that are means over items, also for the last group of an epoch,
  // which may be incomplete. It replaces whatever optimizer.accumulate() set before.
  int64_t accumulation_steps = 1;
  // Limits of the norm of all gradients of a step, and of each element's absolute value; 0: none.
  double clip_grad_norm = 0, clip_grad_value = 0;

  // Mixed precision, in training and validation. float16 has its GradScaler: a step whose gradients
  // are not finite updates nothing (weights, schedule or average) and halves the scale. kLostSteps
  // losses in a row that are not finite are an error, as the first one is in float32.
  optim::AmpOptions amp = {};
  static constexpr int64_t kLostSteps = 5;

  // Computed on the validation's items besides loss and accuracy: for metrics.csv and metrics.json.
  std::map<std::string, Metric> metrics = {};
  // The number that decides which epoch is the best: "val_loss", "val_accuracy", "train_loss",
  // "train_accuracy" or one of `metrics`. Empty: val_accuracy if there is one, else val_loss.
  std::string monitor = {};
  Better better = Better::kAuto;  // whether more or less of it is better
  // Early stopping: ends after `patience` epochs in a row in which the monitored number did not
  // improve on the best one by more than min_delta. 0: never.
  int64_t patience = 0;
  double min_delta = 0;

  // Updated after each step. It is validated and saved in best.safetensors instead of the model.
  // Its buffers are then its own: with batch norm, use use_buffers, or call update_bn afterwards.
  optim::AveragedModel* average = nullptr;

  std::function<void(const EpochMetrics&)> on_epoch = {};  // after each epoch (and save)
  bool verdict = false;                 // prints a last line about what training waited for
  TensorBoardOptions tensorboard = {};  // event files for TensorBoard
};

}  // namespace wick::loop
