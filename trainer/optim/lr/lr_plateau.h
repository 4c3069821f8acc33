// The schedule that depends on a metric.
#pragma once

#include "trainer/optim/lr/lr_scheduler.h"

namespace wick::optim {

// Options of ReduceLROnPlateau, with PyTorch's defaults.
struct PlateauOptions {
  enum class Mode { kMin, kMax };       // whether a smaller or a larger metric is better
  enum class Threshold { kRel, kAbs };  // of the best metric, or a difference
  Mode mode = Mode::kMin;               // which metric is better
  double factor = 0.1;                  // of the rate, below 1
  int64_t patience = 10;                // steps without improvement that are accepted
  double threshold = 1e-4;  // the least improvement: relative to the best (kRel), or absolute
  Threshold threshold_mode = Threshold::kRel;  // how `threshold` is meant
  int64_t cooldown = 0;                        // steps after a reduction that are not counted
  PerGroup min_lr = 0.0;                       // the rate is never smaller
  double eps = 1e-8;                           // smaller changes of the rate are not made
};

// Multiplies lr by factor if the metric has not improved for more than `patience` steps; the
// following `cooldown` steps are not counted (torch.optim.lr_scheduler.ReduceLROnPlateau). Only
// step(metric) is allowed: a step without a metric throws Error. A NaN metric is no improvement.
class ReduceLROnPlateau : public LrScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = PlateauOptions(),
                             Where where = Where::current());
  bool wants_metric() const override { return true; }
  void set_last_step(int64_t step) override;  // throws: the rate depends on past metrics
  // Returns the best metric so far; infinite (of the worse sign) before the first.
  double best() const { return best_; }

 protected:
  void advance(const double* metric) override;
  void fields(Fields& f) override;
  double rate(int group) override { return lr(group); }

 private:
  PlateauOptions options_;
  std::vector<double> min_lr_;
  double best_;
  int64_t bad_ = 0, cooling_ = 0;
};

}  // namespace wick::optim
