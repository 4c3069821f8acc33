// Trainer: the loop around model, optimizer, schedule and loaders. It saves what a later run needs
// to go on as if nothing had happened, to the bit.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/nn/module.h"
#include "trainer/optim/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

using Loss = std::function<Tensor(const Tensor& output, const Tensor& target)>;

struct FitOptions {
  int64_t epochs = 1;
  // last.safetensors (everything, each epoch), best.safetensors (weights of the best validation
  // accuracy), metrics.csv, and what `wick report` shows (run_report.h). Empty: nothing is written.
  // Without resume the folder's former ones are removed first.
  std::string out;
  std::vector<std::string> classes;             // names of the labels, for the report
  bool resume = false;                          // goes on from out/last.safetensors
  int64_t save_every_steps = 0;                 // also within an epoch; 0: not
  std::string resume_command;                   // shown after Ctrl-C
  std::map<std::string, std::string> metadata;  // kept in both files
  std::FILE* progress = nullptr;                // null: silent
  bool handle_interrupt = true;                 // Ctrl-C saves and returns
  std::function<void(int64_t step)> on_step;    // after each optimizer step (and save)
};

struct EvalResult {
  double loss = 0, accuracy = 0;
  int64_t items = 0;
};

struct FitResult {
  bool interrupted = false;
  int64_t epochs = 0, steps = 0;              // done in all
  double train_loss = 0, train_accuracy = 0;  // of the last epoch
  EvalResult validation;
  double best_accuracy = 0;
  int64_t best_epoch = 0;  // from 1; 0: never validated
  double items_per_second = 0;
  std::string weights_sha256;  // of the state dict, now
};

class RunReport;

class Trainer {
 public:
  // All must outlive it. The schedule, if any, steps with every batch; one that wants a metric
  // (ReduceLROnPlateau) with every epoch, by the validation loss, or the training loss without one.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, Loss loss,
          optim::LrScheduler* schedule = nullptr)
      : model_(model), optimizer_(optimizer), loss_(std::move(loss)), schedule_(schedule) {}

  FitResult fit(data::DataLoader& train, data::DataLoader* validation, const FitOptions& options,
                Where where = Where::current());
  // In eval mode, without gradients; the loader's current epoch. Restores the mode.
  EvalResult evaluate(data::DataLoader& loader);

 private:
  struct Run;  // counters of one fit(), saved with the rest

  Tensor train_step(const data::Batch& batch, Tensor& output, RunReport& report);
  EvalResult evaluate(data::DataLoader& loader, RunReport* report);
  void save(const Run& run, const FitOptions& options, const data::DataLoader& train) const;
  void load(Run& run, const FitOptions& options, data::DataLoader& train, const Where& where);

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  Loss loss_;
  optim::LrScheduler* schedule_;
};

// Rows of logits [N, C] whose largest value is at target[n] (int64); the first of equal ones
// counts.
int64_t count_correct(const Tensor& logits, const Tensor& target);

}  // namespace wick::loop
