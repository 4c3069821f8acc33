#include "trainer/optim/lr/lr_scheduler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "trainer/checkpoint/json.h"
#include "trainer/optim/integer_power.h"
#include "trainer/tensor/recorder.h"

namespace wick::optim {
namespace {

using Json = nlohmann::json;

constexpr double kMost = std::numeric_limits<double>::max();

// JSON has no infinity, which is the initial best of a plateau.
double from_json(const JsonPlace& place) {
  if (place.value() == "inf") return std::numeric_limits<double>::infinity();
  if (place.value() == "-inf") return -std::numeric_limits<double>::infinity();
  return place.number(-kMost, kMost);
}

std::vector<double> rates(const JsonPlace& list) {
  std::vector<double> all;
  for (size_t i = 0; i < list.size(); ++i) all.push_back(list.at(i).number(-kMost, kMost));
  return all;
}

}  // namespace

std::vector<double> PerGroup::expand(const char* op, const char* name, int groups,
                                     const Where& where) const {
  for (double value : values) {
    if (!std::isfinite(value)) throw_error(op, fmt::format("{} is {}", name, value), where);
  }
  if (values.size() == 1) return std::vector<double>(static_cast<size_t>(groups), values[0]);
  if (values.size() != static_cast<size_t>(groups)) {
    throw_error(op, fmt::format("expected {} values for {}, got {}", groups, name, values.size()),
                where);
  }
  return values;
}

LrScheduler::LrScheduler(Optimizer& optimizer, const char* name, bool begins)
    : optimizer_(optimizer), name_(name) {
  for (int i = 0; i < optimizer.groups(); ++i) {
    base_.push_back(optimizer.initial_lr(i));
    if (begins) optimizer.set_initial_lr(i, base_.back());
    last_lr_.push_back(optimizer.lr(i));
  }
}

void LrScheduler::start() {
  last_step_ = -1;
  step_count_ = 0;
  step();
}

LrScheduler::~LrScheduler() { note_owner_gone(this); }

void LrScheduler::step() {
  run_on_host(name_, this, [this] { advance(nullptr); });
}

void LrScheduler::step(double metric) {
  note_host_read(name_, Where());  // the metric is a number of the program
  advance(&metric);
}

void LrScheduler::advance(const double*) {
  ++step_count_;
  ++last_step_;
  set_rates(false);
}

void LrScheduler::set_last_step(int64_t step) {
  ++step_count_;
  last_step_ = step;
  set_rates(true);
}

void LrScheduler::set_rates(bool closed) {
  std::vector<double> rates;
  for (int i = 0; i < groups(); ++i) rates.push_back(closed ? closed_rate(i) : rate(i));
  for (int i = 0; i < groups(); ++i) optimizer_.set_lr(i, rates[static_cast<size_t>(i)]);
  last_lr_ = std::move(rates);
}

std::string LrScheduler::state_dict() const {
  struct Writer : Fields {
    JsonWriter json, parts;
    bool composed = false;
    void number(const char* name, double& value) override {
      if (std::isfinite(value)) {
        json.field(name, value);
      } else {
        json.field(name, fmt::format("{}", value));
      }
    }
    void integer(const char* name, int64_t& value) override { json.field(name, value); }
    void part(LrScheduler& s) override {
      if (!std::exchange(composed, true)) parts.open('[');
      parts.raw(s.state_dict());
    }
  } writer;
  writer.json.open('{').field("schedule", name_).field("last_step", last_step_);
  writer.json.field("step_count", step_count_).list("base", base_).list("last_lr", last_lr_);
  const_cast<LrScheduler*>(this)->fields(writer);
  if (writer.composed) writer.json.key("parts").raw(writer.parts.close().done());
  return writer.json.close().done();
}

void LrScheduler::load_state_dict(const std::string& state, Where where) {
  struct Reader : Fields {
    JsonPlace json;
    Where where;
    size_t parts = 0;
    Reader(const JsonPlace& from, const Where& w) : json(from), where(w) {}
    void number(const char* name, double& value) override { value = from_json(json.at(name)); }
    void integer(const char* name, int64_t& value) override {
      value = json.at(name).integer(0, kMaxJsonCount);
    }
    void part(LrScheduler& s) override {
      s.load_state_dict(json.at("parts").at(parts++).value().dump(), where);
    }
  };
  try {
    const Json tree = read_json(state, "schedule");
    const JsonPlace json(tree, "schedule");
    Reader reader(json, where);
    if (const std::string saved = json.at("schedule").text(); saved != name_) {
      throw_error(name_, "the state is of " + shortened(saved), where);
    }
    const std::vector<double> base = rates(json.at("base")), last_lr = rates(json.at("last_lr"));
    const int64_t last_step = json.at("last_step").integer(-1, kMaxJsonCount);
    const int64_t step_count = json.at("step_count").integer(0, kMaxJsonCount);
    if (base.size() != base_.size() || last_lr.size() != base_.size()) {
      throw_error(
          name_, fmt::format("the state has {} groups, the schedule {}", base.size(), base_.size()),
          where);
    }
    fields(reader);
    base_ = base;
    last_lr_ = last_lr;
    last_step_ = last_step;
    step_count_ = step_count;
  } catch (const JsonError& e) {
    throw_error(name_, std::string("damaged schedule state: ") + e.what(), where);
  }
}

namespace {

std::vector<LambdaLR::Lambda> one_each(const char* op, std::vector<LambdaLR::Lambda> lambdas,
                                       int groups, const Where& where) {
  if (lambdas.size() != static_cast<size_t>(groups)) {
    throw_error(op, fmt::format("expected {} lambdas, got {}", groups, lambdas.size()), where);
  }
  for (const LambdaLR::Lambda& f : lambdas) {
    if (!f) throw_error(op, "an empty function", where);
  }
  return lambdas;
}
std::vector<LambdaLR::Lambda> repeat(const LambdaLR::Lambda& f, int groups) {
  return std::vector<LambdaLR::Lambda>(static_cast<size_t>(groups), f);
}
void check_at_least_one(const char* op, const char* name, int64_t value, const Where& where) {
  if (value < 1) throw_error(op, fmt::format("{} must be at least 1, got {}", name, value), where);
}

}  // namespace

LambdaLR::LambdaLR(Optimizer& optimizer, Lambda lr_lambda, Where where)
    : LambdaLR(optimizer, repeat(lr_lambda, optimizer.groups()), where) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda, Where where)
    : LrScheduler(optimizer, "lambda_lr"),
      lambdas_(one_each(name_, std::move(lr_lambda), groups(), where)) {
  start();
}
double LambdaLR::rate(int group) {
  return base(group) * lambdas_[static_cast<size_t>(group)](last_step_);
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, Where where)
    : MultiplicativeLR(optimizer, repeat(lr_lambda, optimizer.groups()), where) {}
MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda, Where where)
    : LrScheduler(optimizer, "multiplicative_lr"),
      lambdas_(one_each(name_, std::move(lr_lambda), groups(), where)) {
  start();
}
double MultiplicativeLR::rate(int group) {
  if (last_step_ <= 0) return lr(group);
  return lr(group) * lambdas_[static_cast<size_t>(group)](last_step_);
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma, Where where)
    : LrScheduler(optimizer, "step_lr"), step_size_(step_size), gamma_(gamma) {
  check_at_least_one(name_, "step_size", step_size, where);
  check_not_negative(name_, "gamma", gamma, where);
  start();
}
double StepLR::rate(int group) {
  return last_step_ == 0 || last_step_ % step_size_ != 0 ? lr(group) : lr(group) * gamma_;
}
double StepLR::closed_rate(int group) {
  return base(group) * integer_power(gamma_, last_step_ / step_size_);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma,
                         Where where)
    : LrScheduler(optimizer, "multi_step_lr"), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  if (!milestones_.empty() && milestones_[0] < 0) {
    throw_error(name_, fmt::format("milestone {} is negative", milestones_[0]), where);
  }
  check_not_negative(name_, "gamma", gamma, where);
  start();
}
double MultiStepLR::rate(int group) {
  const auto [first, last] = std::equal_range(milestones_.begin(), milestones_.end(), last_step_);
  return first == last ? lr(group) : lr(group) * integer_power(gamma_, last - first);
}
double MultiStepLR::closed_rate(int group) {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_step_);
  return base(group) * integer_power(gamma_, passed - milestones_.begin());
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters, Where where)
    : LrScheduler(optimizer, "constant_lr"), factor_(factor), total_iters_(total_iters) {
  if (!(factor > 0 && factor <= 1)) {
    throw_error(name_, fmt::format("factor must be in (0, 1], got {}", factor), where);
  }
  check_at_least_one(name_, "total_iters", total_iters, where);
  start();
}
double ConstantLR::rate(int group) {
  if (last_step_ == 0) return lr(group) * factor_;
  return last_step_ == total_iters_ ? lr(group) * (1.0 / factor_) : lr(group);
}
double ConstantLR::closed_rate(int group) {
  return last_step_ >= total_iters_ ? base(group) : base(group) * factor_;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor,
                   int64_t total_iters, Where where)
    : LrScheduler(optimizer, "linear_lr"),
      start_(start_factor),
      end_(end_factor),
      total_iters_(total_iters) {
  if (!(start_factor > 0 && start_factor <= 1)) {
    throw_error(name_, fmt::format("start_factor must be in (0, 1], got {}", start_factor), where);
  }
  if (!(end_factor >= 0 && end_factor <= 1)) {
    throw_error(name_, fmt::format("end_factor must be in [0, 1], got {}", end_factor), where);
  }
  check_at_least_one(name_, "total_iters", total_iters, where);
  start();
}
double LinearLR::rate(int group) {
  if (last_step_ == 0) return lr(group) * start_;
  if (last_step_ > total_iters_) return lr(group);
  const double rise = end_ - start_;
  const auto total = static_cast<double>(total_iters_);
  return lr(group) * (1 + rise / (total * start_ + static_cast<double>(last_step_ - 1) * rise));
}
double LinearLR::closed_rate(int group) {
  const double done =
      static_cast<double>(std::min(total_iters_, last_step_)) / static_cast<double>(total_iters_);
  return base(group) * (start_ + (end_ - start_) * done);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, Where where)
    : LrScheduler(optimizer, "exponential_lr"), gamma_(gamma) {
  check_not_negative(name_, "gamma", gamma, where);
  start();
}
double ExponentialLR::rate(int group) { return last_step_ == 0 ? lr(group) : lr(group) * gamma_; }
double ExponentialLR::closed_rate(int group) {
  return base(group) * integer_power(gamma_, last_step_);
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power, Where where)
    : LrScheduler(optimizer, "polynomial_lr"), total_iters_(total_iters), power_(power) {
  check_at_least_one(name_, "total_iters", total_iters, where);
  check_not_negative(name_, "power", power, where);
  start();
}
double PolynomialLR::rate(int group) {
  if (last_step_ == 0 || last_step_ > total_iters_) return lr(group);
  const auto total = static_cast<double>(total_iters_), t = static_cast<double>(last_step_);
  return lr(group) * std::pow((1 - t / total) / (1 - (t - 1) / total), power_);
}
double PolynomialLR::closed_rate(int group) {
  const double done =
      static_cast<double>(std::min(total_iters_, last_step_)) / static_cast<double>(total_iters_);
  return base(group) * std::pow(1 - done, power_);
}

WarmupLR::WarmupLR(Optimizer& optimizer, int64_t steps, Where where)
    : LrScheduler(optimizer, "warmup_lr"), steps_(steps) {
  check_at_least_one(name_, "steps", steps, where);
  start();
}
double WarmupLR::rate(int group) {
  const auto t = static_cast<double>(last_step_);
  if (last_step_ == 0) return lr(group) / static_cast<double>(steps_);
  return last_step_ < steps_ ? lr(group) * ((t + 1) / t) : lr(group);
}
double WarmupLR::closed_rate(int group) {
  return base(group) * static_cast<double>(std::min(steps_, last_step_ + 1)) /
         static_cast<double>(steps_);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min,
                                     int64_t warmup, Where where)
    : LrScheduler(optimizer, "cosine_annealing_lr"),
      t_max_(t_max),
      warmup_(warmup),
      eta_min_(eta_min) {
  if (t_max < 1 || warmup < 0 || warmup >= t_max) {
    throw_error(name_,
                fmt::format("t_max {}, warmup {} (needs 0 <= warmup < t_max)", t_max, warmup),
                where);
  }
  check_not_negative(name_, "eta_min", eta_min, where);
  start();
}

double CosineAnnealingLR::at(double base, int64_t step) const {
  if (step < warmup_) {
    return base * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  }
  double t = static_cast<double>(step - warmup_) / static_cast<double>(t_max_ - warmup_);
  return eta_min_ + (base - eta_min_) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

double CosineAnnealingLR::rate(int group) {
  const double now = lr(group), from = base(group);
  const int64_t t = last_step_;
  // Alone on its rate, the closed form: the rounding of one step, not of all so far.
  if (t == 0 ? now == from : now == at(from, t - 1)) return at(from, t);
  if (t < warmup_) {
    const auto step = static_cast<double>(t);
    return t == 0 ? now / static_cast<double>(warmup_) : now * ((step + 1) / step);
  }
  if (t == warmup_) return now;
  const int64_t half = t_max_ - warmup_;
  // If the cosine was at its minimum, there is no ratio to multiply by.
  if ((t - warmup_ - 1 - half) % (2 * half) == 0) {
    return now +
           (from - eta_min_) * (1 - std::cos(std::numbers::pi / static_cast<double>(half))) / 2;
  }
  return (at(from, t) - eta_min_) / (at(from, t - 1) - eta_min_) * (now - eta_min_) + eta_min_;
}

}  // namespace wick::optim
