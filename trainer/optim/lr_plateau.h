// The schedule that listens to a metric.
#pragma once

#include "trainer/optim/lr_scheduler.h"

namespace wick::optim {

struct PlateauOptions {
  enum class Mode { kMin, kMax };
  enum class Threshold { kRel, kAbs };
  Mode mode = Mode::kMin;
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;  // what counts as better: by that part of the best (kRel), or that much
  Threshold threshold_mode = Threshold::kRel;
  int64_t cooldown = 0;
  PerGroup min_lr = 0.0;
  double eps = 1e-8;  // a smaller change of the rate is not made
};

// lr factor once the metric has not improved for more than `patience` steps, after which `cooldown`
// steps count for nothing (torch.optim.lr_scheduler.ReduceLROnPlateau). step(metric) only: a step
// without one is an Error. A metric that is NaN is no improvement.
class ReduceLROnPlateau : public LrScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = PlateauOptions(),
                             Where where = Where::current());
  bool wants_metric() const override { return true; }
  void set_last_step(int64_t step) override;  // an Error: the rate depends on what was measured
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
