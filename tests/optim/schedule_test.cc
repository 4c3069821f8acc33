// Sixty steps of every schedule on two groups: PyTorch's rates and momenta; and arguments that are
// refused.
#include "tests/optim/every_schedule.h"

namespace wick {
namespace {

using test::error_of;
using test::Schedules;
using test::TwoGroups;
using testing::HasSubstr;

TEST(Schedule, FollowPyTorchForSixtySteps) {
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("schedule")) {
    ++cases;
    const std::string& name = golden.title;
    TwoGroups groups(name == "one_cycle_adam");
    optim::Optimizer& optimizer = *groups.optimizer;
    Schedules s;
    test::every_schedule().at(name)(s, optimizer);
    std::vector<double> rates[2], momenta[2];
    for (int t = 0; t <= 60; ++t) {
      for (int k = 0; k < 2; ++k) {
        rates[k].push_back(optimizer.lr(k));
        momenta[k].push_back(optimizer.momentum(k));
        if (t > 0) {
          EXPECT_EQ(s.top().get_last_lr()[static_cast<size_t>(k)], optimizer.lr(k));
        }
      }
      if (t < 60) s.top().wants_metric() ? s.top().step(test::metric(t)) : s.top().step();
    }
    for (int k = 0; k < 2; ++k) {
      const std::string group = std::to_string(k);
      test::expect_close(rates[k], golden.at("rates " + group), 1e-13, name + " rates " + group);
      if (name.find("cycl") == std::string::npos) continue;
      test::expect_close(momenta[k], golden.at("momenta " + group), 1e-13,
                         name + " momenta " + group);
    }
  }
  EXPECT_EQ(cases, test::every_schedule().size());
}

// The linear warm-up of CosineAnnealingLR, and WarmupLR in front of a plain cosine.
TEST(Schedule, Warmups) {
  TwoGroups groups;
  optim::CosineAnnealingLR schedule(*groups.optimizer, 14, 0.01, 4);
  for (int t = 0; t <= 14; ++t, schedule.step()) {
    for (int k = 0; k < 2; ++k) {
      const double base = k == 0 ? 0.5 : 0.03;
      const double want =
          t < 4 ? base * (t + 1) / 4
                : 0.01 + (base - 0.01) * (1 + std::cos(3.141592653589793 * (t - 4) / 10)) / 2;
      EXPECT_NEAR(groups.optimizer->lr(k), want, 1e-16) << t;
    }
  }
  TwoGroups others;
  optim::WarmupLR warmup(*others.optimizer, 5);
  optim::ExponentialLR down(*others.optimizer, 0.9);
  optim::ChainedScheduler both({&warmup, &down});
  for (int t = 0; t <= 20; ++t, both.step()) {
    const double want = 0.5 * std::min(1.0, (t + 1) / 5.0) * std::pow(0.9, t);
    EXPECT_NEAR(others.optimizer->lr(), want, 1e-15) << t;
  }
}

// A jump sets what steps would have led to.
TEST(Schedule, JumpsFollowTheClosedForm) {
  for (const auto& [name, make] : test::every_schedule()) {
    if (name.starts_with("chained") || name.starts_with("sequential") ||
        name.starts_with("plateau") || name.starts_with("swa") || name == "multiplicative") {
      continue;
    }
    TwoGroups stepped, jumped;
    Schedules a, b;
    make(a, *stepped.optimizer);
    make(b, *jumped.optimizer);
    for (int t = 0; t < 37; ++t) a.top().step();
    b.top().set_last_step(37);
    EXPECT_EQ(b.top().last_step(), 37);
    for (int more = 0; more < 3; ++more, a.top().step(), b.top().step()) {
      for (int k = 0; k < 2; ++k) {
        EXPECT_NEAR(stepped.optimizer->lr(k), jumped.optimizer->lr(k), 1e-15) << name;
      }
    }
  }
}

// A second schedule on an optimizer starts from the rates of before the first.
TEST(Schedule, InitialRateIsTheFirstSchedules) {
  TwoGroups groups;
  optim::Optimizer& optimizer = *groups.optimizer;
  optim::ExponentialLR first(optimizer, 0.5);
  first.step();
  EXPECT_EQ(optimizer.initial_lr(0), 0.5);
  optim::LambdaLR second(optimizer, [](int64_t) { return 1.0; });
  EXPECT_EQ(optimizer.lr(0), 0.5);
  EXPECT_EQ(optimizer.lr(1), 0.03);
}

TEST(Schedule, RefuseBadArguments) {
  TwoGroups groups, others;
  optim::Optimizer& o = *groups.optimizer;
  const double nan = std::nan("");
  auto says = [&](auto f, const char* text) { EXPECT_THAT(error_of(f), HasSubstr(text)); };
  using namespace optim;  // NOLINT: a list
  says([&] { LambdaLR(o, LambdaLR::Lambda()); }, "[lambda_lr] an empty function");
  says([&] { LambdaLR(o, std::vector<LambdaLR::Lambda>(3)); }, "expected 2 lambdas, got 3");
  says([&] { StepLR(o, 0); }, "[step_lr] step_size must be at least 1, got 0");
  says([&] { StepLR(o, 3, nan); }, "gamma must be finite and >= 0, got nan");
  says([&] { MultiStepLR(o, {3, -1}); }, "[multi_step_lr] milestone -1 is negative");
  says([&] { ConstantLR(o, 0); }, "factor must be in (0, 1], got 0");
  says([&] { ConstantLR(o, 1.5); }, "factor must be in (0, 1]");
  says([&] { ConstantLR(o, 0.5, 0); }, "total_iters must be at least 1");
  says([&] { LinearLR(o, 0); }, "start_factor must be in (0, 1]");
  says([&] { LinearLR(o, 0.5, nan); }, "end_factor must be in [0, 1], got nan");
  says([&] { ExponentialLR(o, -1); }, "gamma must be finite and >= 0, got -1");
  says([&] { PolynomialLR(o, 5, -1); }, "power must be");
  says([&] { WarmupLR(o, 0); }, "[warmup_lr] steps must be at least 1");
  says([&] { CosineAnnealingLR(o, 5, 0, 5); }, "needs 0 <= warmup < t_max");
  says([&] { CosineAnnealingWarmRestarts(o, 0); }, "t_0 0 and t_mult 1 must be at least 1");
  says([&] { OneCycleLR(o, 0.1, {}); }, "give total_steps, or epochs and steps_per_epoch");
  says(
      [&] {
        OneCycleLR(o, {0.1, 0.2, 0.3}, {.total_steps = 5});
      },
      "expected 2 values for max_lr, got 3");
  says([&] { OneCycleLR(o, nan, {.total_steps = 5}); }, "max_lr is nan");
  says([&] { OneCycleLR(o, 0.1, {.total_steps = 5, .pct_start = 1.5}); }, "pct_start must be");
  says([&] { OneCycleLR(o, 0.1, {.total_steps = 5, .div_factor = 0}); }, "must be positive");
  says(
      [&] {
        OneCycleLR one(o, 0.1, {.total_steps = 3});
        for (int i = 0; i < 4; ++i) one.step();
      },
      "step 4 of a schedule of 3 steps");
  says([&] { CyclicLR(o, 0.1, 0.2, {.step_size_up = 0}); }, "step_size_up 0");
  Tensor w = zeros({1});
  Adagrad adagrad({w});
  Adam adam(std::vector<Tensor>{w});
  says([&] { CyclicLR(adagrad, 0.1, 0.2); }, "adagrad has no momentum: cycle_momentum = false");
  says([&] { CyclicLR(adam, 0.1, 0.2); }, "adam has no momentum");
  says([&] { OneCycleLR(adagrad, 0.1, {.total_steps = 5}); }, "adagrad has no momentum");
  says([&] { SWALR(o, 0.1, -1); }, "anneal_epochs must be >= 0");
  says([&] { ReduceLROnPlateau(o, {.factor = 1}); }, "factor must be in [0, 1), got 1");
  says([&] { ReduceLROnPlateau(o, {.patience = -1}); }, "patience -1");
  ReduceLROnPlateau plateau(o);
  says([&] { plateau.step(); }, "step() without a metric");
  says([&] { plateau.set_last_step(4); }, "cannot jump");
  ExponentialLR mine(o, 0.9), theirs(*others.optimizer, 0.9);
  says([&] { ChainedScheduler({}); }, "no schedules");
  says([&] { ChainedScheduler({&mine, nullptr}); }, "schedule 1 is null");
  says([&] { ChainedScheduler({&mine, &theirs}); }, "schedule 1 is of another optimizer");
  says([&] { ChainedScheduler({&mine, &plateau}); }, "reduce_lr_on_plateau, steps by a metric");
  says([&] { SequentialLR(o, {&mine, &mine}, {}); }, "2 schedules need 1 milestones, got 0");
  says([&] { SequentialLR(o, {&mine, &mine, &mine}, {5, 5}); }, "milestones must be positive");
  says([&] { SequentialLR(o, {&theirs}, {}); }, "another optimizer");
  ChainedScheduler chained({&mine});
  says([&] { SequentialLR(o, {&chained}, {}); }, "chained_scheduler cannot be a part");
}

}  // namespace
}  // namespace wick
