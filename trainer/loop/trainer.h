// Trainer: the training loop for a model, optimizer, schedule and loaders. Its checkpoints let a
// later run continue as if it had not been interrupted, with the same bits.
#pragma once

#include <map>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/data/step_profile.h"
#include "trainer/loop/accuracy.h"
#include "trainer/loop/fit_options.h"
#include "trainer/nn/module.h"
#include "trainer/optim/lr/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// Holds what Trainer::evaluate() measured.
struct EvalResult {
  double loss = 0, accuracy = 0;  // means over items and predictions
  int64_t items = 0;              // number of items
  int64_t predictions = 0;  // number of predictions that accuracy counts; 0: none (count_correct)
  std::map<std::string, double> metrics;  // the metrics of FitOptions::metrics, by name
};

// Says what Trainer::fit() did.
struct FitResult {
  bool interrupted = false;                   // Ctrl-C ended it
  int64_t epochs = 0, steps = 0;              // total, including those before a resume
  double train_loss = 0, train_accuracy = 0;  // of the last epoch
  EvalResult validation;                      // of the last epoch
  double best_accuracy = 0;                   // that of the validation in the best epoch
  double best_value = 0;                      // the monitored number in that epoch
  int64_t best_epoch = 0;                     // from 1; 0: nothing was monitored
  bool stopped_early = false;                 // by FitOptions' patience
  int64_t skipped_steps = 0;                  // steps that updated nothing (float16)
  double items_per_second = 0;                // of training
  data::StepReport steps_report;              // how this call's training steps spent their time
  std::string weights_sha256;                 // of the state dict at the end
};

class RunReport;

// Trains a model: epochs, validation, checkpoints, resume, early stopping, metrics.
class Trainer {
 public:
  // All arguments must outlive it. The schedule, if any, steps with every optimizer step; one that
  // needs a metric (ReduceLROnPlateau) steps with every epoch, by the validation loss, or without
  // validation by the training loss.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, Loss loss,
          optim::LrScheduler* schedule = nullptr)
      : model_(model), optimizer_(optimizer), loss_(std::move(loss)), schedule_(schedule) {}

  // Batches are {input, target, ...}: the model is called with the first field, the loss with its
  // output and the second. After an Error (a loss that is not finite, a label out of range, an
  // unreadable item, a full disk) the last checkpoint is still complete, and resume continues from
  // it. A model in eval mode is put in training mode, with all its layers; in one that is in
  // training mode, layers in eval mode (a frozen batch norm) stay in it.
  FitResult fit(data::DataLoader& train, data::DataLoader* validation, const FitOptions& options,
                Where where = Where::current());
  // Evaluates in eval mode without gradients, under the caller's AutocastScope if any, over the
  // loader's current epoch. Afterwards the mode of every module is restored.
  EvalResult evaluate(data::DataLoader& loader);

 private:
  class Fit;  // one call of fit()
  // Returns the loss of a batch, a scalar; an Error about its labels names the item.
  Tensor loss_of(const Tensor& output, const data::DataLoader& loader, data::LoaderPosition at,
                 const data::Batch& batch) const;
  EvalResult evaluate(nn::Module& model, data::DataLoader& loader,
                      const std::map<std::string, Metric>& metrics, RunReport* report);

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  Loss loss_;
  optim::LrScheduler* schedule_;
};

}  // namespace wick::loop
