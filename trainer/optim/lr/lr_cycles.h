// Schedules that rise again (warm restarts, one-cycle, cyclic), and the transition to SWA's rate.
#pragma once

#include "trainer/optim/lr/lr_scheduler.h"

namespace wick::optim {

// The curve between two rates: a half cosine or a line.
enum class Anneal { kCos, kLinear };

// Cosines from the base rate to eta_min, over t_0, t_0 t_mult, t_0 t_mult^2 ... steps (SGDR,
// Loshchilov and Hutter 2016).
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
  int64_t t_i_, t_cur_ = -1;  // length of the current cosine, and the step in it
};

// Options of OneCycleLR, with the defaults of torch.optim.lr_scheduler.OneCycleLR.
struct OneCycleOptions {
  int64_t total_steps = 0;                  // or set both epochs and steps_per_epoch
  int64_t epochs = 0, steps_per_epoch = 0;  // total_steps = epochs * steps_per_epoch
  double pct_start = 0.3;                   // share of the steps that rise
  Anneal anneal_strategy = Anneal::kCos;    // the curve of both parts
  bool cycle_momentum = true;               // moves momentum, or Adam's beta1, against the rate
  // The momentum at the largest rate, and at the smallest.
  PerGroup base_momentum = 0.85, max_momentum = 0.95;
  // The first rate is max_lr / div_factor, the last one is the first / final_div_factor.
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;  // falls as long as it rose, then to the end
};

// Rises from max_lr / div_factor to max_lr over pct_start of the steps, then falls to the initial
// rate / final_div_factor; with three_phase it first falls the way it rose, then to the end (Smith
// and Topin 2017). A step beyond total_steps throws Error.
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

// How the amplitude of CyclicLR changes: not at all, halved with each cycle, or by gamma^step.
enum class CyclicMode { kTriangular, kTriangular2, kExpRange };

// Options of CyclicLR, with the defaults of torch.optim.lr_scheduler.CyclicLR.
struct CyclicOptions {
  int64_t step_size_up = 2000;                       // steps from base_lr to max_lr
  int64_t step_size_down = 0;                        // 0: the same as up
  CyclicMode mode = CyclicMode::kTriangular;         // how the amplitude changes
  double gamma = 1;                                  // for kExpRange: gamma^step
  std::function<double(double)> scale_fn = nullptr;  // replaces that of the mode
  bool scale_by_cycle = true;  // scale_fn gets the cycle (from 1); false: the step
  bool cycle_momentum = true;  // needs an optimizer with `momentum`, not beta1
  // The momentum at max_lr, and at base_lr.
  PerGroup base_momentum = 0.8, max_momentum = 0.9;
};

// Moves between base_lr and max_lr and back; the amplitude is constant, halved with each cycle, or
// multiplied by gamma with each step (Smith 2015).
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

// Moves from the present rate to swa_lr in anneal_epochs steps, and stays there (Izmailov et al.
// 2018).
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
