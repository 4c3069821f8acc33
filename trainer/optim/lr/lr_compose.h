// Schedules composed of other schedules, which must be of the same optimizer and outlive them.
#pragma once

#include "trainer/optim/lr/lr_scheduler.h"

namespace wick::optim {

// All parts step, in order, so that their factors multiply.
class ChainedScheduler : public LrScheduler {
 public:
  explicit ChainedScheduler(std::vector<LrScheduler*> schedulers, Where where = Where::current());
  void set_last_step(int64_t step) override;  // throws Error

 protected:
  void advance(const double* metric) override;
  void fields(Fields& f) override;
  double rate(int group) override { return lr(group); }

 private:
  std::vector<LrScheduler*> parts_;
};

// One part after the other: part i runs from step milestones[i - 1] on, which is its step 0. The
// rates start at the optimizer's initial ones, whatever the parts' constructors did. As in PyTorch
// a part must not be composed, or need a metric.
class SequentialLR : public LrScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LrScheduler*> schedulers,
               std::vector<int64_t> milestones, Where where = Where::current());
  void set_last_step(int64_t step) override;  // throws Error

 protected:
  void advance(const double* metric) override;
  void fields(Fields& f) override;
  double rate(int group) override { return lr(group); }

 private:
  std::vector<LrScheduler*> parts_;
  std::vector<int64_t> milestones_;
};

}  // namespace wick::optim
