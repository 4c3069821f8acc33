// Learning-rate schedules. Like PyTorch's: the base rates are the optimizer's when the schedule is
// made, step() is called after each optimizer step (or epoch: the unit of t_max).
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace wick::optim {

class LrScheduler {
 public:
  virtual ~LrScheduler() = default;
  void step() { set_last_step(last_step_ + 1); }
  int64_t last_step() const { return last_step_; }
  // Resumes: sets the rates that belong to `step`.
  void set_last_step(int64_t step);

 protected:
  explicit LrScheduler(Optimizer& optimizer);  // must outlive the schedule
  virtual double rate(double base, int64_t step) const = 0;

 private:
  Optimizer& optimizer_;
  std::vector<double> base_;
  int64_t last_step_ = 0;
};

// eta_min + (base - eta_min) (1 + cos(pi t / t_max)) / 2. With warmup, the first `warmup` steps
// rise linearly to base (base / warmup, 2 base / warmup ...) and the cosine runs over the rest of
// t_max.
class CosineAnnealingLR : public LrScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min = 0, int64_t warmup = 0,
                    Where where = Where::current());

 protected:
  double rate(double base, int64_t step) const override;

 private:
  int64_t t_max_, warmup_;
  double eta_min_;
};

}  // namespace wick::optim
