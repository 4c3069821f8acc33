// What Trainer::fit is asked for.
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

// A scalar, the mean over the items of the batch.
using Loss = std::function<Tensor(const Tensor& output, const Tensor& target)>;
// One number for a batch, of outputs in float32 also under autocast; an epoch's is the mean over
// the items of the validation.
using Metric = std::function<double(const Tensor& output, const Tensor& target)>;

// Which way a monitored number gets better. kAuto: up for accuracies, down for all else.
enum class Better { kAuto, kLess, kMore };

struct FitOptions {
  int64_t epochs = 1;
  // last.safetensors (everything, each epoch), best.safetensors (weights of the best epoch by
  // `monitor`), metrics.csv, and what `wick report` shows (run_report.h). Empty: nothing is
  // written. Without resume the folder's former ones are removed first.
  std::string out = {};
  std::vector<std::string> classes = {};             // names of the labels, for the report
  bool resume = false;                               // goes on from out/last.safetensors
  int64_t save_every_steps = 0;                      // also within an epoch; 0: not
  std::string resume_command = {};                   // shown after Ctrl-C
  std::map<std::string, std::string> metadata = {};  // kept in both files
  std::FILE* progress = nullptr;                     // null: silent
  bool handle_interrupt = true;                      // Ctrl-C saves and returns
  std::function<void(int64_t step)> on_step = {};    // after each optimizer step (and save)

  // So many batches make one step, by the mean over all their items: equal to one large batch for
  // losses that are means over items, the last group of an epoch, which may be short, included.
  // This decides; what optimizer.accumulate() declared before is put aside.
  int64_t accumulation_steps = 1;
  // 0: not. The norm of all gradients of a step, or each element's absolute value, is at most that.
  double clip_grad_norm = 0, clip_grad_value = 0;

  // Mixed precision, of training and validation. float16 has its GradScaler: a step whose gradients
  // are not finite updates nothing, neither weights nor schedule nor average, and halves the scale.
  // Its kLostSteps-th loss in a row that is not finite is the error that float32's first is.
  optim::AmpOptions amp = {};
  static constexpr int64_t kLostSteps = 5;

  // Of the validation's items, beside loss and accuracy: in metrics.csv and metrics.json.
  std::map<std::string, Metric> metrics = {};
  // What says which epoch is the best: "val_loss", "val_accuracy", "train_loss", "train_accuracy"
  // or one of `metrics`. Empty: val_accuracy where there is one, else val_loss.
  std::string monitor = {};
  Better better = Better::kAuto;
  // Early stopping: ends after `patience` epochs in a row in which the monitored number was not
  // better than the best before by more than min_delta. 0: never.
  int64_t patience = 0;
  double min_delta = 0;

  // Updated after each step; validated and kept in best.safetensors instead of the model (its
  // buffers are then its own: use_buffers, or update_bn afterwards, where there is batch norm).
  optim::AveragedModel* average = nullptr;

  std::function<void(const EpochMetrics&)> on_epoch = {};  // after each epoch (and save)
  bool verdict = false;  // the last line says what training waited for
};

}  // namespace wick::loop
