#include "trainer/optim/lr_scheduler.h"

#include <cmath>
#include <numbers>

namespace wick::optim {

LrScheduler::LrScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  for (int i = 0; i < optimizer.groups(); ++i) base_.push_back(optimizer.lr(i));
}

void LrScheduler::set_last_step(int64_t step) {
  last_step_ = step;
  for (size_t i = 0; i < base_.size(); ++i) {
    optimizer_.set_lr(static_cast<int>(i), rate(base_[i], step));
  }
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min,
                                     int64_t warmup, Where where)
    : LrScheduler(optimizer), t_max_(t_max), warmup_(warmup), eta_min_(eta_min) {
  if (t_max < 1 || warmup < 0 || warmup >= t_max) {
    throw_error("cosine_annealing_lr",
                "t_max " + std::to_string(t_max) + ", warmup " + std::to_string(warmup) +
                    " (needs 0 <= warmup < t_max)",
                where);
  }
  set_last_step(0);
}

double CosineAnnealingLR::rate(double base, int64_t step) const {
  if (step < warmup_) {
    return base * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  }
  double t = static_cast<double>(step - warmup_) / static_cast<double>(t_max_ - warmup_);
  return eta_min_ + (base - eta_min_) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace wick::optim
