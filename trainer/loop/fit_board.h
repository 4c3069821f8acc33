// fit() writes this for TensorBoard. The step of every value is the number of optimizer steps so
// far, so that epochs and steps lie over each other, and a resumed run's values take the place of
// those that it trains again:
//
//   step/loss, step/lr               of every so many steps: the mean over the step's items
//   loss/train, loss/val             of an epoch, as in metrics.csv; so are the others
//   accuracy/train, accuracy/val     where there are any
//   metric/NAME, lr, epoch, items_per_second
//   weights/NAME, gradients/NAME     histograms, if asked for: gradients of the last batch
#pragma once

#include <optional>

#include "trainer/board/summary_writer.h"
#include "trainer/loop/fit_options.h"
#include "trainer/nn/module.h"

namespace wick::loop {

// Does nothing where no folder is given. Errors are SummaryWriter's.
class FitBoard {
 public:
  explicit FitBoard(const TensorBoardOptions& options) : options_(options) {}
  // Makes the file. What the folder holds of later steps than `done` is forgotten.
  void begin(int64_t done, const Where& where);
  void step_ends(int64_t step, double loss, double lr, const Where& where);
  void epoch_ends(const EpochMetrics& metrics, const nn::Module& model, const Where& where);
  void flush(const Where& where);
  void close(const Where& where);

 private:
  const TensorBoardOptions& options_;
  std::optional<board::SummaryWriter> writer_;
};

}  // namespace wick::loop
