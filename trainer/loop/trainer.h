// Trainer: the loop around model, optimizer, schedule and loaders. It saves what a later run needs
// to go on as if nothing had happened, to the bit.
#pragma once

#include <map>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/data/step_profile.h"
#include "trainer/loop/accuracy.h"
#include "trainer/loop/fit_options.h"
#include "trainer/nn/module.h"
#include "trainer/optim/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

struct EvalResult {
  double loss = 0, accuracy = 0;
  int64_t items = 0;
  int64_t predictions = 0;  // what accuracy is of; 0: there is none (count_correct)
  std::map<std::string, double> metrics;
};

struct FitResult {
  bool interrupted = false;
  int64_t epochs = 0, steps = 0;              // done in all
  double train_loss = 0, train_accuracy = 0;  // of the last epoch
  EvalResult validation;
  double best_accuracy = 0;  // the validation's in the best epoch
  double best_value = 0;     // what was monitored, then
  int64_t best_epoch = 0;    // from 1; 0: nothing was monitored
  bool stopped_early = false;
  int64_t skipped_steps = 0;  // of `steps`: updated nothing (float16)
  double items_per_second = 0;
  data::StepReport steps_report;  // where this call's training steps spent their time
  std::string weights_sha256;     // of the state dict, now
};

class RunReport;

class Trainer {
 public:
  // All must outlive it. The schedule, if any, steps with every optimizer step; one that wants a
  // metric (ReduceLROnPlateau) with every epoch, by the validation loss, or the training loss
  // without one.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, Loss loss,
          optim::LrScheduler* schedule = nullptr)
      : model_(model), optimizer_(optimizer), loss_(std::move(loss)), schedule_(schedule) {}

  // Batches are {input, target, ...}: the model is called with the first field, the loss with its
  // output and the second. An Error (a loss that is not finite, a label out of range, an item that
  // cannot be read, a full disk) leaves the last checkpoint whole, and resume goes on from it.
  // A model in eval mode is put in training mode, all of it; in one that trains already, layers
  // that are in eval mode (a frozen batch norm) stay so.
  FitResult fit(data::DataLoader& train, data::DataLoader* validation, const FitOptions& options,
                Where where = Where::current());
  // In eval mode, without gradients, under the caller's AutocastScope if any; the loader's current
  // epoch. Every module's mode is restored.
  EvalResult evaluate(data::DataLoader& loader);

 private:
  class Fit;  // a call of fit()
  // The loss of a batch, a scalar; what is wrong with its labels is said by item.
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
