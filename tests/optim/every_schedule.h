// The schedules of make_optim.py, by its names.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "tests/optim/goldens.h"

namespace wick::test {

// The last one is stepped; the others are its parts.
struct Schedules {
  std::vector<std::unique_ptr<optim::LrScheduler>> owned;

  template <class S, class... Args>
  optim::LrScheduler* add(Args&&... args) {
    owned.push_back(std::make_unique<S>(std::forward<Args>(args)...));
    return owned.back().get();
  }
  optim::LrScheduler& top() { return *owned.back(); }
};

using MakeSchedule = std::function<void(Schedules&, optim::Optimizer&)>;

inline const std::map<std::string, MakeSchedule>& every_schedule() {
  using namespace optim;  // NOLINT: a table
  using Lambdas = std::vector<LambdaLR::Lambda>;
  static const LambdaLR::Lambda kShrink = [](int64_t t) { return 1 / (1 + double(t)); };
  static const LambdaLR::Lambda kWave = [](int64_t t) { return 0.75 + 0.25 * double(t % 2); };
  static const std::map<std::string, MakeSchedule> all = {
      {"lambda", [](auto& s, auto& o) { s.template add<LambdaLR>(o, kShrink); }},
      {"lambda_each",
       [](auto& s, auto& o) {
         s.template add<LambdaLR>(o, Lambdas{kShrink, [](int64_t t) { return double(t) * 0.25; }});
       }},
      {"multiplicative", [](auto& s, auto& o) { s.template add<MultiplicativeLR>(o, kWave); }},
      {"step", [](auto& s, auto& o) { s.template add<StepLR>(o, 7); }},
      {"step_gamma", [](auto& s, auto& o) { s.template add<StepLR>(o, 10, 0.5); }},
      {"multi_step",
       [](auto& s, auto& o) {
         s.template add<MultiStepLR>(o, std::vector<int64_t>{30, 5, 12, 12});
       }},
      {"exponential", [](auto& s, auto& o) { s.template add<ExponentialLR>(o, 0.9); }},
      {"linear", [](auto& s, auto& o) { s.template add<LinearLR>(o); }},
      {"linear_down", [](auto& s, auto& o) { s.template add<LinearLR>(o, 1.0, 0.25, 40); }},
      {"linear_to_zero", [](auto& s, auto& o) { s.template add<LinearLR>(o, 0.5, 0.0, 20); }},
      {"constant", [](auto& s, auto& o) { s.template add<ConstantLR>(o); }},
      {"constant_half", [](auto& s, auto& o) { s.template add<ConstantLR>(o, 0.5, 20); }},
      {"polynomial", [](auto& s, auto& o) { s.template add<PolynomialLR>(o); }},
      {"polynomial_two", [](auto& s, auto& o) { s.template add<PolynomialLR>(o, 40, 2.0); }},
      {"cosine", [](auto& s, auto& o) { s.template add<CosineAnnealingLR>(o, 60); }},
      {"cosine_waves", [](auto& s, auto& o) { s.template add<CosineAnnealingLR>(o, 13, 0.01); }},
      {"restarts", [](auto& s, auto& o) { s.template add<CosineAnnealingWarmRestarts>(o, 9); }},
      {"restarts_longer",
       [](auto& s, auto& o) { s.template add<CosineAnnealingWarmRestarts>(o, 5, 2, 0.01); }},
      {"one_cycle",
       [](auto& s, auto& o) {
         OneCycleOptions c;
         c.total_steps = 61;
         s.template add<OneCycleLR>(o, 0.8, c);
       }},
      {"one_cycle_adam",
       [](auto& s, auto& o) {
         OneCycleOptions c;
         c.total_steps = 61;
         s.template add<OneCycleLR>(o, 0.8, c);
       }},
      {"one_cycle_linear",
       [](auto& s, auto& o) {
         OneCycleOptions c;
         c.epochs = 7;
         c.steps_per_epoch = 9;
         c.anneal_strategy = Anneal::kLinear;
         c.pct_start = 0.25;
         c.div_factor = 10;
         c.final_div_factor = 100;
         c.base_momentum = 0.7;
         c.max_momentum = 0.9;
         s.template add<OneCycleLR>(o, PerGroup{0.8, 0.1}, c);
       }},
      {"one_cycle_three",
       [](auto& s, auto& o) {
         OneCycleOptions c;
         c.total_steps = 61;
         c.three_phase = true;
         s.template add<OneCycleLR>(o, 0.8, c);
       }},
      {"cyclic",
       [](auto& s, auto& o) {
         CyclicOptions c;
         c.step_size_up = 8;
         s.template add<CyclicLR>(o, 0.01, 0.5, c);
       }},
      {"cyclic_2",
       [](auto& s, auto& o) {
         CyclicOptions c;
         c.step_size_up = 5;
         c.step_size_down = 9;
         c.mode = CyclicMode::kTriangular2;
         c.base_momentum = 0.6;
         c.max_momentum = 0.95;
         s.template add<CyclicLR>(o, PerGroup{0.01, 0.001}, PerGroup{0.5, 0.1}, c);
       }},
      {"cyclic_exp",
       [](auto& s, auto& o) {
         CyclicOptions c;
         c.step_size_up = 8;
         c.mode = CyclicMode::kExpRange;
         c.gamma = 0.97;
         s.template add<CyclicLR>(o, 0.01, 0.5, c);
       }},
      {"cyclic_own",
       [](auto& s, auto& o) {
         CyclicOptions c;
         c.step_size_up = 8;
         c.scale_fn = [](double x) { return 1 / x; };
         s.template add<CyclicLR>(o, 0.01, 0.5, c);
       }},
      {"plateau",
       [](auto& s, auto& o) {
         PlateauOptions c;
         c.patience = 3;
         s.template add<ReduceLROnPlateau>(o, c);
       }},
      {"plateau_abs",
       [](auto& s, auto& o) {
         PlateauOptions c;
         c.factor = 0.5;
         c.patience = 2;
         c.threshold = 0.5;
         c.threshold_mode = PlateauOptions::Threshold::kAbs;
         c.cooldown = 4;
         c.min_lr = {0.001, 0.01};
         s.template add<ReduceLROnPlateau>(o, c);
       }},
      {"plateau_max",
       [](auto& s, auto& o) {
         PlateauOptions c;
         c.mode = PlateauOptions::Mode::kMax;
         c.factor = 0.5;
         c.patience = 5;
         c.eps = 0.004;
         s.template add<ReduceLROnPlateau>(o, c);
       }},
      {"swa", [](auto& s, auto& o) { s.template add<SWALR>(o, 0.05); }},
      {"swa_linear",
       [](auto& s, auto& o) {
         s.template add<SWALR>(o, PerGroup{0.05, 0.1}, 20, Anneal::kLinear);
       }},
      {"swa_at_once", [](auto& s, auto& o) { s.template add<SWALR>(o, 0.05, 0); }},
      {"chained",
       [](auto& s, auto& o) {
         auto* a = s.template add<ConstantLR>(o, 0.1, 2);
         auto* b = s.template add<ExponentialLR>(o, 0.9);
         s.template add<ChainedScheduler>(std::vector<LrScheduler*>{a, b});
       }},
      {"chained_warm_cosine",
       [](auto& s, auto& o) {
         auto* a = s.template add<LinearLR>(o, 0.1, 1.0, 10);
         auto* b = s.template add<CosineAnnealingLR>(o, 25, 0.001);
         s.template add<ChainedScheduler>(std::vector<LrScheduler*>{a, b});
       }},
      {"chained_steps",
       [](auto& s, auto& o) {
         auto* a = s.template add<StepLR>(o, 9, 0.5);
         auto* b = s.template add<MultiStepLR>(o, std::vector<int64_t>{20, 40}, 0.1);
         auto* c = s.template add<PolynomialLR>(o, 70);
         s.template add<ChainedScheduler>(std::vector<LrScheduler*>{a, b, c});
       }},
      {"sequential",
       [](auto& s, auto& o) {
         auto* a = s.template add<ConstantLR>(o, 0.1, 2);
         auto* b = s.template add<ExponentialLR>(o, 0.9);
         s.template add<SequentialLR>(o, std::vector<LrScheduler*>{a, b}, std::vector<int64_t>{2});
       }},
      {"sequential_warm_cosine",
       [](auto& s, auto& o) {
         auto* a = s.template add<LinearLR>(o, 0.1, 1.0, 10);
         auto* b = s.template add<CosineAnnealingLR>(o, 50);
         s.template add<SequentialLR>(o, std::vector<LrScheduler*>{a, b}, std::vector<int64_t>{10});
       }},
      {"sequential_three",
       [](auto& s, auto& o) {
         auto* a = s.template add<LinearLR>(o, 0.25, 1.0, 5);
         auto* b = s.template add<CosineAnnealingWarmRestarts>(o, 7, 2);
         auto* c = s.template add<PolynomialLR>(o, 20);
         s.template add<SequentialLR>(o, std::vector<LrScheduler*>{a, b, c},
                                      std::vector<int64_t>{5, 40});
       }},
      {"sequential_chained",
       [](auto& s, auto& o) {
         auto* a = s.template add<LinearLR>(o, 0.25, 1.0, 5);
         auto* b = s.template add<StepLR>(o, 10, 0.5);
         auto* c = s.template add<SequentialLR>(o, std::vector<LrScheduler*>{a, b},
                                                std::vector<int64_t>{5});
         auto* d = s.template add<ExponentialLR>(o, 0.95);
         s.template add<ChainedScheduler>(std::vector<LrScheduler*>{c, d});
       }},
  };
  return all;
}

// The metric that ReduceLROnPlateau schedules are given at step t.
inline double metric(int t) { return std::max(20 - t, 5) + (t * 7 % 3) / 8.0 - (t > 45 ? 4 : 0); }

// Two groups, as the goldens' optimizers have.
struct TwoGroups {
  Tensor a = zeros({1}), b = zeros({1});
  std::unique_ptr<optim::Optimizer> optimizer;
  explicit TwoGroups(bool adam = false) {
    a.requires_grad_(), b.requires_grad_();
    if (adam) {
      optimizer = std::make_unique<optim::Adam>(
          std::vector<optim::Group<optim::AdamOptions>>{{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.03}}});
    } else {
      optimizer = std::make_unique<optim::SGD>(std::vector<optim::Group<optim::SgdOptions>>{
          {{a}, {.lr = 0.5, .momentum = 0.5}}, {{b}, {.lr = 0.03, .momentum = 0.5}}});
    }
  }
};

}  // namespace wick::test
