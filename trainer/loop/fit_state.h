// The counters of a fit(), and the checkpoint that stores them with everything else a resume needs.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/loop/fit_options.h"
#include "trainer/nn/module.h"
#include "trainer/optim/grad_scaler.h"
#include "trainer/optim/lr/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// The sums over the current epoch are part of the state: a resumed epoch reports the same numbers
// as an uninterrupted one.
struct FitState {
  int64_t epoch = 0, step = 0;
  double loss_sum = 0;
  int64_t correct = 0, predictions = 0, items = 0;
  double best_accuracy = 0, best_value = 0;
  int64_t best_epoch = 0;
  double stop_value = 0;   // the best by more than min_delta
  int64_t stop_epoch = 0;  // its epoch; 0: none
  // float16: the total of steps that updated nothing, the steps in a row whose loss was not finite,
  // and the epoch's items with such a loss, which its mean leaves out.
  int64_t skipped = 0, lost = 0, unmeasured = 0;

  double mean_loss() const {
    return items > unmeasured ? loss_sum / static_cast<double>(items - unmeasured) : 0;
  }
  double accuracy() const {
    return predictions > 0 ? static_cast<double>(correct) / static_cast<double>(predictions) : 0;
  }
};

// The number by which an epoch is judged.
struct Monitored {
  std::string name;  // empty: none
  bool more = false;
  double value = 0;
};
Monitored monitored(const FitOptions& options, const EpochMetrics& m);
// Counts the epoch. Returns whether it is the best so far.
bool note_epoch(FitState& state, const FitOptions& options, const EpochMetrics& m,
                const Monitored& watched);
// Early stopping: returns whether `patience` epochs brought no improvement.
inline bool out_of_patience(const FitState& state, const FitOptions& options) {
  return options.patience > 0 && state.epoch - state.stop_epoch >= options.patience;
}

// The parts of a run besides its state.
struct FitParts {
  nn::Module& model;
  optim::Optimizer& optimizer;
  optim::LrScheduler* schedule;
  const FitOptions& options;
  optim::Amp& amp;
};

// Writes out/last.safetensors. `next`: the batch that a resumed run reads first.
void save_fit(const FitState& state, const FitParts& parts, const data::DataLoader& train,
              data::LoaderPosition next);
FitState load_fit(const FitParts& parts, data::DataLoader& train, const Where& where);
// Writes out/best.safetensors: the weights of the average if there is one.
void save_best(const FitParts& parts);

std::string in_folder(const std::string& folder, const char* name);

}  // namespace wick::loop
