// Learning-rate schedules with PyTorch's names, formulas and defaults. step() is called after each
// optimizer step (or epoch: it is the unit of the schedule's numbers); the constructor does step 0.
//
// As in PyTorch 1.13, a schedule modifies the current rate, so that several on one optimizer
// multiply (ChainedScheduler). Its base rates are those of the optimizer when its first schedule
// was made. lr_cycles.h has restarts, one-cycle, cyclic and SWA, lr_plateau.h the one by a metric,
// lr_compose.h compositions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace wick::optim {

// One value for all groups of an optimizer, or one for each.
struct PerGroup {
  PerGroup(double value) : values{value} {}                            // NOLINT: implicit by design
  PerGroup(std::initializer_list<double> values) : values(values) {}   // NOLINT
  PerGroup(std::vector<double> values) : values(std::move(values)) {}  // NOLINT
  // Returns one value per group; throws Error if the number of values is another.
  std::vector<double> expand(const char* op, const char* name, int groups,
                             const Where& where) const;
  std::vector<double> values;  // as they were given
};

// The base of the schedules: _LRScheduler of torch.optim.lr_scheduler. A schedule sets the rate of
// every group of its optimizer when it is made (step 0), and at each step().
class LrScheduler {
 public:
  virtual ~LrScheduler();
  LrScheduler(const LrScheduler&) = delete;
  LrScheduler& operator=(const LrScheduler&) = delete;

  // Goes on to the next step and sets its rates.
  void step();
  // Takes the epoch's metric, which only ReduceLROnPlateau uses (and needs).
  void step(double metric);
  // Returns whether step() needs a metric.
  virtual bool wants_metric() const { return false; }

  // Returns the number of the last step: 0 after the constructor.
  int64_t last_step() const { return last_step_; }
  // Jumps to `step` and sets its rates, by the closed form if there is one (PyTorch's step(epoch)).
  virtual void set_last_step(int64_t step);
  // Returns the rates that the last step set, one per group.
  const std::vector<double>& get_last_lr() const { return last_lr_; }

  // Returns JSON with the counters and everything else that step() continues from. The settings are
  // those of the constructor, the rates are the optimizer's state. Loading the state of another
  // schedule throws Error.
  std::string state_dict() const;
  // Continues from what state_dict() returned.
  virtual void load_state_dict(const std::string& state, Where where = Where::current());
  // Returns the schedule's class, "StepLR", and the optimizer that it changes.
  const char* name() const { return name_; }
  Optimizer& optimizer() const { return optimizer_; }

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;
  // Visits the state of a schedule besides its counters, by name.
  struct Fields {
    virtual ~Fields() = default;
    // Visit a number, an integer, and the state of a schedule that is part of this one.
    virtual void number(const char* name, double& value) = 0;
    virtual void integer(const char* name, int64_t& value) = 0;
    virtual void part(LrScheduler& schedule) = 0;
  };

  // The optimizer must outlive the schedule. `begins`: its rates become the initial rates, unless
  // an earlier schedule set them.
  LrScheduler(Optimizer& optimizer, const char* name, bool begins = true);
  // Does step 0; every constructor calls it last.
  void start();
  // Does the work of step(); `metric` is null without one.
  virtual void advance(const double* metric);
  // Shows the state besides the counters to state_dict() and load_state_dict().
  virtual void fields(Fields&) {}
  // Return the rate of step last_step(): rate() from the current one, closed_rate() without it.
  virtual double rate(int group) = 0;
  // Returns the rate of step last_step() without the current one: rate(), unless overridden.
  virtual double closed_rate(int group) { return rate(group); }
  // Sets the rates of step last_step(), by closed_rate() if `closed`.
  void set_rates(bool closed);

  // The current rate of a group, the rate that the schedule started from, and the number of groups.
  double lr(int group) const { return optimizer_.lr(group); }
  double base(int group) const { return base_[static_cast<size_t>(group)]; }
  int groups() const { return static_cast<int>(base_.size()); }

  Optimizer& optimizer_;
  const char* name_;
  std::vector<double> base_, last_lr_;
  int64_t last_step_ = -1;
  int64_t step_count_ = 0;  // number of steps taken; a jump does not change it
};

// base lambda(t), with one lambda for all groups or one for each.
class LambdaLR : public LrScheduler {
 public:
  // Returns the factor for a step.
  using Lambda = std::function<double(int64_t step)>;
  LambdaLR(Optimizer& optimizer, Lambda lr_lambda, Where where = Where::current());
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda, Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  std::vector<Lambda> lambdas_;
};

// Multiplies lr by lambda(t) at every step but the first.
class MultiplicativeLR : public LrScheduler {
 public:
  // Returns the factor for a step.
  using Lambda = std::function<double(int64_t step)>;
  MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, Where where = Where::current());
  MultiplicativeLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda,
                   Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  std::vector<Lambda> lambdas_;
};

// Multiplies lr by gamma at every step_size-th step.
class StepLR : public LrScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1,
         Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  int64_t step_size_;
  double gamma_;
};

// Multiplies lr by gamma at each milestone; a milestone given twice counts twice.
class MultiStepLR : public LrScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1,
              Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

// Multiplies lr by factor, until step total_iters restores it. 0 < factor <= 1.
class ConstantLR : public LrScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5,
                      Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  double factor_;
  int64_t total_iters_;
};

// The factor changes linearly from start_factor (in (0, 1]) to end_factor (in [0, 1]).
class LinearLR : public LrScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    int64_t total_iters = 5, Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  double start_, end_;
  int64_t total_iters_;
};

// Multiplies lr by gamma at every step.
class ExponentialLR : public LrScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  double gamma_;
};

// base (1 - t / total_iters)^power, and 0 from step total_iters on.
class PolynomialLR : public LrScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1,
                        Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  int64_t total_iters_;
  double power_;
};

// lr / steps, 2 lr / steps ... lr, and unchanged from step `steps` - 1 on. Combine it with any
// other schedule by ChainedScheduler.
class WarmupLR : public LrScheduler {
 public:
  WarmupLR(Optimizer& optimizer, int64_t steps, Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  int64_t steps_;
};

// eta_min + (base - eta_min) (1 + cos(pi t / t_max)) / 2. With warmup, the first `warmup` steps
// rise linearly to base (base / warmup, 2 base / warmup ...) and the cosine runs over the rest of
// t_max. (Loshchilov and Hutter 2016, without restarts.)
class CosineAnnealingLR : public LrScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min = 0, int64_t warmup = 0,
                    Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override { return at(base(group), last_step_); }

 private:
  double at(double base, int64_t step) const;

  int64_t t_max_, warmup_;
  double eta_min_;
};

}  // namespace wick::optim
