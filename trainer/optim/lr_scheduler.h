// Learning-rate schedules: PyTorch's names, formulas and defaults. step() is called after each
// optimizer step (or epoch: the unit of the schedule's numbers); step 0 is taken by the
// constructor.
//
// As in PyTorch 1.13, a schedule changes the rate that is there, so that several on one optimizer
// multiply (ChainedScheduler); its base rates are the optimizer's when its first schedule was made.
// lr_cycles.h: restarts, one-cycle, cyclic, SWA. lr_plateau.h: by a metric. lr_compose.h: several.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace wick::optim {

// One value for all groups of an optimizer, or one each.
struct PerGroup {
  PerGroup(double value) : values{value} {}                            // NOLINT: implicit by design
  PerGroup(std::initializer_list<double> values) : values(values) {}   // NOLINT
  PerGroup(std::vector<double> values) : values(std::move(values)) {}  // NOLINT
  // One a group; an Error where the count is another.
  std::vector<double> expand(const char* op, const char* name, int groups,
                             const Where& where) const;
  std::vector<double> values;
};

class LrScheduler {
 public:
  virtual ~LrScheduler() = default;
  LrScheduler(const LrScheduler&) = delete;
  LrScheduler& operator=(const LrScheduler&) = delete;

  void step() { advance(nullptr); }
  // With the epoch's metric, which ReduceLROnPlateau alone looks at (and needs).
  void step(double metric) { advance(&metric); }
  virtual bool wants_metric() const { return false; }

  int64_t last_step() const { return last_step_; }
  // Jumps: sets the rates that belong to `step`, by the closed form where there is one (PyTorch's
  // step(epoch)).
  virtual void set_last_step(int64_t step);
  // The rates that the last step set, one a group.
  const std::vector<double>& get_last_lr() const { return last_lr_; }

  // JSON: the counters and what else step() goes on from. The settings are the constructor's, the
  // rates the optimizer's own state. Loading another schedule's state is an Error.
  std::string state_dict() const;
  virtual void load_state_dict(const std::string& state, Where where = Where::current());
  const char* name() const { return name_; }
  Optimizer& optimizer() const { return optimizer_; }

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;
  // What a schedule keeps beside its counters, by name.
  struct Fields {
    virtual ~Fields() = default;
    virtual void number(const char* name, double& value) = 0;
    virtual void integer(const char* name, int64_t& value) = 0;
    virtual void part(LrScheduler& schedule) = 0;
  };

  // The optimizer must outlive the schedule. `begins`: its rates are initial rates, if no other
  // schedule's are.
  LrScheduler(Optimizer& optimizer, const char* name, bool begins = true);
  // Step 0: the last thing that a constructor does.
  void start();
  virtual void advance(const double* metric);
  virtual void fields(Fields&) {}
  // The rate of step last_step(), from the one that is there, and without it.
  virtual double rate(int group) = 0;
  virtual double closed_rate(int group) { return rate(group); }
  void set_rates(bool closed);

  double lr(int group) const { return optimizer_.lr(group); }
  double base(int group) const { return base_[static_cast<size_t>(group)]; }
  int groups() const { return static_cast<int>(base_.size()); }

  Optimizer& optimizer_;
  const char* name_;
  std::vector<double> base_, last_lr_;
  int64_t last_step_ = -1;
  int64_t step_count_ = 0;  // steps taken, which a jump does not change
};

// base lambda(t), a lambda for all groups or one each.
class LambdaLR : public LrScheduler {
 public:
  using Lambda = std::function<double(int64_t step)>;
  LambdaLR(Optimizer& optimizer, Lambda lr_lambda, Where where = Where::current());
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda, Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  std::vector<Lambda> lambdas_;
};

// lr lambda(t) at every step but the first.
class MultiplicativeLR : public LrScheduler {
 public:
  using Lambda = std::function<double(int64_t step)>;
  MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, Where where = Where::current());
  MultiplicativeLR(Optimizer& optimizer, std::vector<Lambda> lr_lambda,
                   Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  std::vector<Lambda> lambdas_;
};

// lr gamma at every step_size-th step.
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

// lr gamma at each milestone; one that is given twice counts twice.
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

// lr factor, and lr again from step total_iters on. 0 < factor <= 1.
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

// The factor goes linearly from start_factor (in (0, 1]) to end_factor (in [0, 1]).
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

// lr gamma at every step.
class ExponentialLR : public LrScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, Where where = Where::current());

 protected:
  double rate(int group) override;
  double closed_rate(int group) override;

 private:
  double gamma_;
};

// base (1 - t / total_iters)^power, 0 from total_iters on.
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

// lr / steps, 2 lr / steps ... lr, and no change from step `steps` - 1 on: in front of any other,
// by ChainedScheduler.
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
