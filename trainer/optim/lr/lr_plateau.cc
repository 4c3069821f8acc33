#include "trainer/optim/lr/lr_plateau.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace wick::optim {

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options,
                                     Where where)
    : LrScheduler(optimizer, "reduce_lr_on_plateau", false), options_(options) {
  const PlateauOptions& o = options_;
  if (!(o.factor >= 0 && o.factor < 1)) {
    throw_error(name_, fmt::format("factor must be in [0, 1), got {}", o.factor), where);
  }
  if (o.patience < 0 || o.cooldown < 0) {
    throw_error(name_,
                fmt::format("patience {} and cooldown {} must be >= 0", o.patience, o.cooldown),
                where);
  }
  check_not_negative(name_, "threshold", o.threshold, where);
  check_not_negative(name_, "eps", o.eps, where);
  min_lr_ = o.min_lr.expand(name_, "min_lr", groups(), where);
  best_ = std::numeric_limits<double>::infinity() * (o.mode == PlateauOptions::Mode::kMin ? 1 : -1);
  last_step_ = 0;
}

void ReduceLROnPlateau::set_last_step(int64_t) {
  throw Error(std::string("[") + name_ + "] cannot jump: its rate depends on the metrics so far",
              Code::kUnsupported);
}

void ReduceLROnPlateau::fields(Fields& f) {
  f.number("best", best_);
  f.integer("num_bad_epochs", bad_);
  f.integer("cooldown_counter", cooling_);
}

void ReduceLROnPlateau::advance(const double* metric) {
  if (metric == nullptr) {
    throw Error(std::string("[") + name_ + "] step() without a metric: call step(validation_loss)");
  }
  ++last_step_;
  ++step_count_;
  const bool least = options_.mode == PlateauOptions::Mode::kMin;
  const double margin = least ? -options_.threshold : options_.threshold;
  const double bar = options_.threshold_mode == PlateauOptions::Threshold::kRel
                         ? best_ * (1 + margin)
                         : best_ + margin;
  if (least ? *metric < bar : *metric > bar) {
    best_ = *metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ > options_.patience) {
    for (int i = 0; i < groups(); ++i) {
      const double now = lr(i);
      const double less = std::max(now * options_.factor, min_lr_[static_cast<size_t>(i)]);
      if (now - less > options_.eps) optimizer_.set_lr(i, less);
    }
    cooling_ = options_.cooldown;
    bad_ = 0;
  }
  for (int i = 0; i < groups(); ++i) last_lr_[static_cast<size_t>(i)] = lr(i);
}

}  // namespace wick::optim
