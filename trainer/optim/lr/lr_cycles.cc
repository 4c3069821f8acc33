#include "trainer/optim/lr/lr_cycles.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trainer/optim/integer_power.h"

namespace wick::optim {
namespace {

// Interpolates from `start` (at 0) to `end` (at 1).
double annealed(Anneal strategy, double start, double end, double at) {
  if (strategy == Anneal::kLinear) return (end - start) * at + start;
  return end + (start - end) / 2 * (std::cos(std::numbers::pi * at) + 1);
}

void check_momenta(const char* op, const std::vector<double>& momenta, const Where& where) {
  for (double m : momenta) check_fraction(op, "momentum", m, where);
}

}  // namespace

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t t_0,
                                                         int64_t t_mult, double eta_min,
                                                         Where where)
    : LrScheduler(optimizer, "cosine_annealing_warm_restarts"),
      t_0_(t_0),
      t_mult_(t_mult),
      eta_min_(eta_min),
      t_i_(t_0) {
  if (t_0 < 1 || t_mult < 1) {
    throw_error(name_, fmt::format("t_0 {} and t_mult {} must be at least 1", t_0, t_mult), where);
  }
  check_not_negative(name_, "eta_min", eta_min, where);
  start();
}

void CosineAnnealingWarmRestarts::advance(const double* metric) {
  if (last_step_ < 0) {
    t_i_ = t_0_;
    t_cur_ = 0;
  } else if (++t_cur_ >= t_i_) {
    t_cur_ -= t_i_;
    t_i_ *= t_mult_;
  }
  LrScheduler::advance(metric);
}

void CosineAnnealingWarmRestarts::set_last_step(int64_t step) {
  t_i_ = t_0_;
  t_cur_ = step;
  if (t_mult_ == 1) t_cur_ %= t_0_;
  for (; t_cur_ >= t_i_; t_i_ *= t_mult_) t_cur_ -= t_i_;
  LrScheduler::set_last_step(step);
}

void CosineAnnealingWarmRestarts::fields(Fields& f) {
  f.integer("t_i", t_i_);
  f.integer("t_cur", t_cur_);
}

double CosineAnnealingWarmRestarts::rate(int group) {
  const double at = static_cast<double>(t_cur_) / static_cast<double>(t_i_);
  return eta_min_ + (base(group) - eta_min_) * (1 + std::cos(std::numbers::pi * at)) / 2;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, const PerGroup& max_lr, const OneCycleOptions& options,
                       Where where)
    : LrScheduler(optimizer, "one_cycle_lr"), options_(options) {
  const OneCycleOptions& o = options_;
  total_ = o.total_steps != 0 ? o.total_steps : o.epochs * o.steps_per_epoch;
  if (total_ < 1 || (o.total_steps == 0 && o.epochs < 1)) {
    throw_error(name_,
                fmt::format("total_steps {}, epochs {}, steps_per_epoch {}: give total_steps, or "
                            "epochs and steps_per_epoch, at least 1",
                            o.total_steps, o.epochs, o.steps_per_epoch),
                where);
  }
  if (!(o.pct_start >= 0 && o.pct_start <= 1)) {
    throw_error(name_, fmt::format("pct_start must be in [0, 1], got {}", o.pct_start), where);
  }
  if (!(o.div_factor > 0 && o.final_div_factor > 0)) {
    throw_error(name_,
                fmt::format("div_factor {} and final_div_factor {} must be positive", o.div_factor,
                            o.final_div_factor),
                where);
  }
  max_lr_ = max_lr.expand(name_, "max_lr", groups(), where);
  for (double rate : max_lr_) check_not_negative(name_, "max_lr", rate, where);
  if (o.cycle_momentum) {
    if (!optimizer.has_momentum()) {
      throw_error(name_, std::string(optimizer.name()) + " has no momentum: cycle_momentum = false",
                  where);
    }
    base_momentum_ = o.base_momentum.expand(name_, "base_momentum", groups(), where);
    max_momentum_ = o.max_momentum.expand(name_, "max_momentum", groups(), where);
    check_momenta(name_, base_momentum_, where);
    check_momenta(name_, max_momentum_, where);
  }
  for (int i = 0; i < groups(); ++i) {
    base_[static_cast<size_t>(i)] = max_lr_[static_cast<size_t>(i)] / o.div_factor;
    optimizer.set_initial_lr(i, base(i));
  }
  start();
}

double OneCycleLR::rate(int group) {
  if (last_step_ > total_) {
    throw Error(fmt::format("[{}] step {} of a schedule of {} steps", name_, last_step_, total_));
  }
  const auto g = static_cast<size_t>(group);
  const auto t = static_cast<double>(last_step_), total = static_cast<double>(total_);
  const double first = base(group), top = max_lr_[g], least = first / options_.final_div_factor;
  const double rise = options_.pct_start * total - 1;
  double from = 0, to = total - 1;
  double start = top, end = least;
  bool momentum_falls = false, momentum_rests = false;
  if (t <= rise) {
    to = rise, start = first, end = top;
    momentum_falls = true;
  } else if (!options_.three_phase) {
    from = rise;
  } else if (t <= 2 * options_.pct_start * total - 2) {
    from = rise, to = 2 * options_.pct_start * total - 2, end = first;
  } else {
    from = 2 * options_.pct_start * total - 2, start = first;
    momentum_rests = true;
  }
  // A phase of length 0 ends where it begins.
  const double at = to == from ? 1 : (t - from) / (to - from);
  if (options_.cycle_momentum) {
    const double high = max_momentum_[g], low = base_momentum_[g];
    const double m0 = momentum_falls || momentum_rests ? high : low;
    optimizer_.set_momentum(
        group, annealed(options_.anneal_strategy, m0, momentum_falls ? low : high, at));
  }
  return annealed(options_.anneal_strategy, start, end, at);
}

CyclicLR::CyclicLR(Optimizer& optimizer, const PerGroup& base_lr, const PerGroup& max_lr,
                   const CyclicOptions& options, Where where)
    : LrScheduler(optimizer, "cyclic_lr"), options_(options) {
  const CyclicOptions& o = options_;
  if (o.step_size_up < 1 || o.step_size_down < 0) {
    throw_error(name_,
                fmt::format("step_size_up {}, step_size_down {} (needs at least 1, at least 0)",
                            o.step_size_up, o.step_size_down),
                where);
  }
  check_not_negative(name_, "gamma", o.gamma, where);
  const auto up = static_cast<double>(o.step_size_up);
  total_ = up + (o.step_size_down != 0 ? static_cast<double>(o.step_size_down) : up);
  up_ratio_ = up / total_;
  base_lr_ = base_lr.expand(name_, "base_lr", groups(), where);
  max_lr_ = max_lr.expand(name_, "max_lr", groups(), where);
  for (double rate : base_lr_) check_not_negative(name_, "base_lr", rate, where);
  for (double rate : max_lr_) check_not_negative(name_, "max_lr", rate, where);
  if (o.cycle_momentum) {
    if (!optimizer.has_momentum() || optimizer.has_betas()) {
      throw_error(name_, std::string(optimizer.name()) + " has no momentum: cycle_momentum = false",
                  where);
    }
    base_momentum_ = o.base_momentum.expand(name_, "base_momentum", groups(), where);
    max_momentum_ = o.max_momentum.expand(name_, "max_momentum", groups(), where);
    check_momenta(name_, base_momentum_, where);
    check_momenta(name_, max_momentum_, where);
  }
  for (int i = 0; i < groups(); ++i) {
    base_[static_cast<size_t>(i)] = base_lr_[static_cast<size_t>(i)];
    optimizer.set_initial_lr(i, base(i));
  }
  start();
}

double CyclicLR::scale(double cycle) const {
  const auto t = static_cast<double>(last_step_);
  if (options_.scale_fn) return options_.scale_fn(options_.scale_by_cycle ? cycle : t);
  switch (options_.mode) {
    case CyclicMode::kTriangular: return 1;
    case CyclicMode::kTriangular2: return std::ldexp(1.0, -static_cast<int>(cycle - 1));
    case CyclicMode::kExpRange: return integer_power(options_.gamma, last_step_);
  }
  return 1;
}

double CyclicLR::rate(int group) {
  const auto g = static_cast<size_t>(group);
  const double turns = static_cast<double>(last_step_) / total_;
  const double cycle = std::floor(1 + turns);
  const double x = 1 + turns - cycle;
  const double height = x <= up_ratio_ ? x / up_ratio_ : (x - 1) / (up_ratio_ - 1);
  const double scaled = height * scale(cycle);
  if (options_.cycle_momentum) {
    const double low = base_momentum_[g], high = max_momentum_[g];
    optimizer_.set_momentum(group, high - (high - low) * scaled);
  }
  return base_lr_[g] + (max_lr_[g] - base_lr_[g]) * scaled;
}

SWALR::SWALR(Optimizer& optimizer, const PerGroup& swa_lr, int64_t anneal_epochs,
             Anneal anneal_strategy, Where where)
    : LrScheduler(optimizer, "swa_lr"), epochs_(anneal_epochs), strategy_(anneal_strategy) {
  if (anneal_epochs < 0) {
    throw_error(name_, fmt::format("anneal_epochs must be >= 0, got {}", anneal_epochs), where);
  }
  swa_lr_ = swa_lr.expand(name_, "swa_lr", groups(), where);
  for (double rate : swa_lr_) check_not_negative(name_, "swa_lr", rate, where);
  start();
}

double SWALR::part(double t) const {
  t = std::clamp(t, 0.0, 1.0);
  return strategy_ == Anneal::kLinear ? t : (1 - std::cos(std::numbers::pi * t)) / 2;
}

double SWALR::rate(int group) {
  const double goal = swa_lr_[static_cast<size_t>(group)];
  int64_t step = step_count_ - 1;
  if (epochs_ == 0) step = std::max<int64_t>(1, step);
  const auto all = static_cast<double>(std::max<int64_t>(1, epochs_));
  // The initial rate is computed back from the current one.
  const double before = part(static_cast<double>(step - 1) / all);
  const double begun = before == 1 ? goal : (lr(group) - before * goal) / (1 - before);
  const double now = part(static_cast<double>(step) / all);
  return goal * now + begun * (1 - now);
}

}  // namespace wick::optim
