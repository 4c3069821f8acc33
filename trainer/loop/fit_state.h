// What a fit() counts, and the checkpoint that holds it beside everything else a resume needs.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/loop/fit_options.h"
#include "trainer/nn/module.h"
#include "trainer/optim/grad_scaler.h"
#include "trainer/optim/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// Sums over the current epoch are part of the state: a resumed epoch reports what an unbroken one
// does.
struct FitState {
  int64_t epoch = 0, step = 0;
  double loss_sum = 0;
  int64_t correct = 0, predictions = 0, items = 0;
  double best_accuracy = 0, best_value = 0;
  int64_t best_epoch = 0;
  double stop_value = 0;   // the best by min_delta
  int64_t stop_epoch = 0;  // when that was; 0: never
  // float16: steps in all that updated nothing, those in a row whose loss was not finite, and the
  // epoch's items with such a loss, which its mean is without.
  int64_t skipped = 0, lost = 0, unmeasured = 0;

  double mean_loss() const {
    return items > unmeasured ? loss_sum / static_cast<double>(items - unmeasured) : 0;
  }
  double accuracy() const {
    return predictions > 0 ? static_cast<double>(correct) / static_cast<double>(predictions) : 0;
  }
};

// What an epoch is judged by.
struct Monitored {
  std::string name;  // empty: nothing
  bool more = false;
  double value = 0;
};
Monitored monitored(const FitOptions& options, const EpochMetrics& m);
// Notes the epoch's number. True where it is the best so far.
bool note_epoch(FitState& state, const FitOptions& options, const EpochMetrics& m,
                const Monitored& watched);
// Early stopping: `patience` epochs have brought nothing.
inline bool out_of_patience(const FitState& state, const FitOptions& options) {
  return options.patience > 0 && state.epoch - state.stop_epoch >= options.patience;
}

// What a run consists of beside its state.
struct FitParts {
  nn::Module& model;
  optim::Optimizer& optimizer;
  optim::LrScheduler* schedule;
  const FitOptions& options;
  optim::Amp& amp;
};

// out/last.safetensors. `next`: the batch that a resumed run reads first.
void save_fit(const FitState& state, const FitParts& parts, const data::DataLoader& train,
              data::LoaderPosition next);
FitState load_fit(const FitParts& parts, data::DataLoader& train, const Where& where);
// out/best.safetensors: the weights of the average where there is one.
void save_best(const FitParts& parts);

std::string in_folder(const std::string& folder, const char* name);

}  // namespace wick::loop
