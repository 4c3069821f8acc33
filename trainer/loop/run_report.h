// The files that a run writes to its folder for `wick report`, besides its checkpoints and
// metrics.csv: small JSON files, each replaced atomically after every epoch. The report does not
// change the training by a bit.
//
//   metrics.json     {"epochs": [{epoch, step, lr, train_loss, ..., "time": {"loader": s, ...}}]}
//   histograms.json  {"epochs": [{epoch, "gradients": [...], "activations": [...]}]}
//   validation.json  confusion matrix and worst mistakes of the last epoch, images included
//   memory.json      the memory of a step, by use; live bytes over the steps of this process
//   profile.json     the time of a few steps, by op, module and line
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/loop/metrics_csv.h"
#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// Seconds per epoch.
struct EpochTimes {
  double loader = 0, zero_grad = 0, forward = 0, loss = 0, backward = 0, optimizer = 0;
  double validation = 0;
  double other = 0;  // metrics, progress, checkpoints within the epoch
};

// Returns the names of the files, for code that removes those of an earlier run.
const std::vector<const char*>& report_files();

class RunReport {
 public:
  // Keeps the part of existing files that is about epochs <= keep_epochs. With an empty folder
  // nothing is written, recorded or timed. `classes`: names of the labels, may be empty.
  RunReport(const std::string& folder, int64_t keep_epochs, std::vector<std::string> classes);
  ~RunReport();
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;

  // Called around the parts of a training step, in this order. It records the memory of the second
  // step, and the time of some later steps.
  void epoch_begins();
  void loaded();  // the batch is loaded, since epoch_begins() or step_ends()
  void step_begins(const nn::Module& model, const optim::Optimizer& optimizer,
                   const data::Batch& batch);
  void part_ends(double EpochTimes::*part);  // since the last part's end
  void step_ends();
  // Called while the last batch's gradients still exist.
  void training_ends(const nn::Module& model);

  // Called around an evaluation whose answers the report shows.
  void validation_begins();
  // Takes a batch's logits [N, C] and int64 targets [N]. The layers of the first batch give the
  // histograms.
  void batch_validated(const data::Batch& batch, const Tensor& logits);
  // Writes all files. Throws Error (kIo).
  void epoch_ends(const EpochMetrics& metrics);

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: nothing is written
};

}  // namespace wick::loop
