// Schedules that rise again: warm restarts, one-cycle, cyclic; and the way to the rate of SWA.
#pragma once

#include "trainer/optim/lr_scheduler.h"

namespace wick::optim {

enum class Anneal { kCos, kLinear };

// Cosines from base to eta_min, of t_0, t_0 t_mult, t_0 t_mult^2 ... steps (SGDR, Loshchilov and
// Hutter 2016).
class CosineAnnealingWarmRestarts : public LrScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t t_0, int64_t t_mult = 1,
                              double eta_min = 0, Where where = Where::current());
  void set_last_step(int64_t step) override;

 protected:
  void advance(const double* metric) override;
  void fields(Fields& f) override;
  double rate(int group) override;

 private:
  int64_t t_0_, t_mult_;
  double eta_min_;
  int64_t t_i_, t_cur_ = -1;  // of the cosine that runs: its length, the step in it
};

struct OneCycleOptions {
  int64_t total_steps = 0;                  // or both of the next two
  int64_t epochs = 0, steps_per_epoch = 0;  // total_steps = epochs * steps_per_epoch
  double pct_start = 0.3;
  Anneal anneal_strategy = Anneal::kCos;
  bool cycle_momentum = true;  // or Adam's beta1, against the rate
  PerGroup base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};

// From max_lr / div_factor up to max_lr over pct_start of the steps, then down to the first rate /
// final_div_factor; or with three_phase down as it rose, then to the end (Smith and Topin 2017). A
// step past total_steps is an Error.
class OneCycleLR : public LrScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const PerGroup& max_lr, const OneCycleOptions& options,
             Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  OneCycleOptions options_;
  int64_t total_ = 0;
  std::vector<double> max_lr_, base_momentum_, max_momentum_;
};

enum class CyclicMode { kTriangular, kTriangular2, kExpRange };

struct CyclicOptions {
  int64_t step_size_up = 2000;
  int64_t step_size_down = 0;  // 0: as many as up
  CyclicMode mode = CyclicMode::kTriangular;
  double gamma = 1;                                  // of exp_range: gamma^step
  std::function<double(double)> scale_fn = nullptr;  // in place of mode's
  bool scale_by_cycle = true;  // what scale_fn is given: the cycle from 1, or the step
  bool cycle_momentum = true;  // needs an optimizer with `momentum`
  PerGroup base_momentum = 0.8, max_momentum = 0.9;
};

// Between base_lr and max_lr and back; the height is constant, halved each cycle, or shrinks by
// gamma each step (Smith 2015).
class CyclicLR : public LrScheduler {
 public:
  CyclicLR(Optimizer& optimizer, const PerGroup& base_lr, const PerGroup& max_lr,
           const CyclicOptions& options = CyclicOptions(), Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  double scale(double cycle) const;

  CyclicOptions options_;
  double total_, up_ratio_;
  std::vector<double> base_lr_, max_lr_, base_momentum_, max_momentum_;
};

// From the rate that is there to swa_lr in anneal_epochs steps, and stays (Izmailov et al. 2018).
class SWALR : public LrScheduler {
 public:
  SWALR(Optimizer& optimizer, const PerGroup& swa_lr, int64_t anneal_epochs = 10,
        Anneal anneal_strategy = Anneal::kCos, Where where = Where::current());

 protected:
  double rate(int group) override;

 private:
  double part(double t) const;

  std::vector<double> swa_lr_;
  int64_t epochs_;
  Anneal strategy_;
};

}  // namespace wick::optim
