// What a run leaves in its folder for `wick report`, beside its checkpoints and metrics.csv: small
// JSON files, each replaced at once after every epoch. Nothing here changes a bit of the training.
//
//   metrics.json     {"epochs": [{epoch, step, lr, train_loss, ..., "time": {"loader": s, ...}}]}
//   histograms.json  {"epochs": [{epoch, "gradients": [...], "activations": [...]}]}
//   validation.json  confusion matrix and worst mistakes of the last epoch, images included
//   memory.json      where the memory of a step went
//   profile.json     where the time of a few steps went, by op, module and line
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/loop/metrics_csv.h"
#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// Seconds of an epoch.
struct EpochTimes {
  double loader = 0, zero_grad = 0, forward = 0, loss = 0, backward = 0, optimizer = 0;
  double validation = 0;
  double other = 0;  // metrics, progress, checkpoints within the epoch
};

// The names of the files, for who removes an earlier run's.
const std::vector<const char*>& report_files();

class RunReport {
 public:
  // Keeps of an older run's files what is of epochs <= keep_epochs. An empty folder: nothing is
  // written, recorded or timed. `classes`: names for the labels, may be empty.
  RunReport(const std::string& folder, int64_t keep_epochs, std::vector<std::string> classes);
  ~RunReport();
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;

  // Around the parts of a training step, in this order. The second step's memory and some later
  // steps' time are recorded.
  void epoch_begins();
  void loaded();  // the batch is there: since epoch_begins() or step_ends()
  void step_begins(const nn::Module& model, const optim::Optimizer& optimizer,
                   const data::Batch& batch);
  void part_ends(double EpochTimes::*part);  // since the last part's end
  void step_ends();
  // The last batch's gradients are still there.
  void training_ends(const nn::Module& model);

  // Around an evaluation whose answers the report shows.
  void validation_begins();
  // A batch's logits [N, C] and int64 targets [N]. The first batch's layers make the histograms.
  void batch_validated(const data::Batch& batch, const Tensor& logits);
  // Writes all files. Throws Error (kIo).
  void epoch_ends(const EpochMetrics& metrics);

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: nothing is written
};

}  // namespace wick::loop
