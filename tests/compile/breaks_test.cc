// What cannot be repeated is named with its line and what to write instead, and the step runs as
// always. run_eagerly() splits a step.
#include "runtime/ops/attrs/layout.h"
#include "tests/compile/training.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

using test::expect_same;
using test::Training;
using test::unaudited;
using testing::HasSubstr;

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 6, 8};
  nn::Child<nn::Linear> fc2{this, "fc2", 8, 4};
  Tensor forward(const Arg& x) override { return (*fc2)(gelu((*fc1)(x))); }
};

// `body` is what the step does between backward and the update.
Training training(const std::function<void(const Tensor& loss, nn::Module& net)>& body) {
  Training t;
  t.net = std::make_shared<Net>();
  t.optimizer = std::make_shared<optim::Adam>(t.net->parameters());
  const auto net = t.net;
  const auto optimizer = t.optimizer;
  t.step = [=](const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    Tensor loss = test::classes((*net)(x), y);
    loss.backward();
    body(loss, *net);
    optimizer->step();
    return loss;
  };
  t.batch = [](int) { return std::pair(randn({5, 6}), randint(0, 4, {5})); };
  return t;
}

// Expects eager's bits, no repetition, and a break of `op` at this file whose reason is `why`.
void expect_break(const std::function<Training()>& make, const std::string& op,
                  const std::string& why, bool has_line = true) {
  const CompileReport r = expect_same(make, 6, 0, unaudited());
  EXPECT_EQ(r.repeated, 0) << r.text();
  ASSERT_FALSE(r.breaks.empty()) << op;
  EXPECT_EQ(r.breaks[0].op, op);
  EXPECT_THAT(r.breaks[0].why, HasSubstr(why));
  EXPECT_FALSE(r.breaks[0].rewrite.empty());
  if (has_line) {
    EXPECT_THAT(r.breaks[0].where, HasSubstr("breaks_test.cc:"));
  }
  EXPECT_THAT(r.text(), HasSubstr("break: [" + op + "]"));
}

TEST(CompileBreaks, ValuesThatTheProgramReads) {
  expect_break(
      [] {
        return training([](const Tensor& loss, nn::Module&) {
          if (loss.item() > 1e9) throw Error("diverged");
        });
      },
      "item", "reads a value on the host");
  expect_break(
      [] {
        return training([](const Tensor&, nn::Module& net) {
          const auto& w = static_cast<Net&>(net).fc1->weight;
          EXPECT_EQ(w.grad().data<float>()[0], w.grad().data<float>()[0]);
        });
      },
      "data", "reads a value on the host");
}

TEST(CompileBreaks, SizesOfValues) {
  const auto make = [] {
    Training t = training([](const Tensor&, nn::Module&) {});
    const auto inner = t.step;
    t.step = [inner](const Tensor& x, const Tensor& y) {
      const Tensor picked = nonzero(gt(x, 0));
      return inner(x, y) + sum(picked.to(DType::kF32)).detach() * 0;
    };
    return t;
  };
  const CompileReport r = expect_same(make, 6, 0, unaudited());
  EXPECT_EQ(r.repeated, 0);
  ASSERT_FALSE(r.breaks.empty());
  EXPECT_EQ(r.breaks[0].op, "NonZero");
  EXPECT_THAT(r.breaks[0].why, HasSubstr("whose size depends on values"));
}

// A list that ops have made, or written into, may be another one in the next step.
TEST(CompileBreaks, SizesInATensor) {
  for (const bool whole : {false, true}) {
    expect_break(
        [whole] {
          Training t = training([](const Tensor&, nn::Module&) {});
          const auto inner = t.step;
          t.step = [inner, whole](const Tensor& x, const Tensor& y) {
            Tensor to = tensor<int64_t>({2, 15});
            if (whole) to = to + 0;
            if (!whole) to.slice(0, 0, 1).fill_(2);
            Tensor shaped;
            const Tensor* in[] = {&x, &to};
            const ReshapeAttrs a;
            call(OpId::kReshape, &a, in, {&shaped, 1}, Where::current());
            return inner(x, y) + sum(shaped).detach() * 0;
          };
          return t;
        },
        "reshape", "takes sizes from a tensor");
  }
}

TEST(CompileBreaks, Hooks) {
  expect_break(
      [] {
        Training t = training([](const Tensor&, nn::Module&) {});
        static_cast<Net&>(*t.net).fc1->weight.register_hook(
            [](const Tensor& g) { return g * 0.5; });
        return t;
      },
      "register_hook", "runs a hook");
  const CompileReport r = expect_same(
      [] {
        Training t = training([](const Tensor&, nn::Module&) {});
        const auto net = t.net;
        t.before = [net](int i) {  // a hook that comes later is seen as well
          if (i == 5)
            static_cast<Net&>(*net).fc2->weight.register_hook(
                [](const Tensor& g) { return g * 0.5; });
        };
        return t;
      },
      10, 2, unaudited());
  EXPECT_EQ(r.repeated, 2);
}

TEST(CompileBreaks, TensorsThatTheProgramKeeps) {
  const auto kept = std::make_shared<Tensor>();
  expect_break(
      [kept] { return training([kept](const Tensor& loss, nn::Module&) { *kept = loss * 2; }); },
      "a tensor", "is kept by the program");
}

TEST(CompileBreaks, StateThatIsReplacedInsteadOfWritten) {
  const auto make = [](bool in_place) {
    return [in_place] {
      const auto mean = std::make_shared<Tensor>(zeros({}));
      return training([=](const Tensor& loss, nn::Module&) {
        NoGrad guard;
        if (in_place) {
          mean->mul_(0.9).add_(loss.detach() * 0.1);
        } else {
          *mean = *mean * 0.9 + loss.detach() * 0.1;
        }
      });
    };
  };
  expect_same(make(true), 8, 5, unaudited());
  expect_break(make(false), "a tensor", "is kept by the program");
}

TEST(CompileBreaks, CodeThatDiffersFromCallToCallIsFound) {
  // Every period up to 12 is found by the second recording or by an audit, and before the audit's
  // turn only a step that was recorded and seen twice is repeated.
  for (int period = 2; period <= 12; ++period) {
    manual_seed(1);
    const auto count = std::make_shared<int>(0);
    Training t = training([=](const Tensor&, nn::Module& net) {
      if (++*count % period == 0) nn::clip_grad_value_(net.parameters(), 0.001);
    });
    auto step = compile_step(t.step);
    const auto [x, y] = t.batch(0);
    bool found = false;
    for (int i = 0; i < 800 && !found; ++i) {
      *count = i;  // the program's own counter goes on, whether the function runs or not
      try {
        step(x, y);
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("does not do what was recorded"));
        found = true;
      }
      for (const StepBreak& b : step.report().breaks)
        found = found || b.why.find("two calls of the function differ") != std::string::npos;
    }
    EXPECT_TRUE(found) << period;
  }
}

// The error names the program's line, also where the number reaches a kernel inside of an op that
// is made of others.
TEST(CompileBreaks, NumbersOfTheProgramAreSeenToChange) {
  using Change = Tensor (*)(const Tensor&, double);
  for (Change change :
       {Change([](const Tensor& x, double by) { return x * (1 + by); }),
        Change([](const Tensor& x, double by) { return lerp(x, zeros_like(x), by / 4); })}) {
    const auto count = std::make_shared<double>(0);
    const auto make = [count, change] {
      *count = 0;
      Training t = training([](const Tensor&, nn::Module&) {});
      const auto inner = t.step;
      t.step = [=](const Tensor& x, const Tensor& y) { return inner(change(x, *count), y); };
      t.before = [=](int i) { *count = i * 0.125; };
      return t;
    };
    const CompileReport r = expect_same(make, 8, 0, unaudited());
    EXPECT_EQ(r.repeated, 0) << r.text();
    ASSERT_FALSE(r.breaks.empty());
    EXPECT_THAT(r.breaks[0].why, HasSubstr("fills with other values (breaks_test.cc:"));
  }
}

TEST(CompileBreaks, WhatIsGuardedMayNotChangeWithinAStep) {
  expect_break(
      [] {
        Training t = training([](const Tensor&, nn::Module&) {});
        const auto net = t.net;
        const auto inner = t.step;
        t.step = [=](const Tensor& x, const Tensor& y) {
          const Tensor& w = static_cast<Net&>(*net).fc1->weight;
          w.requires_grad_(false);
          Tensor loss = inner(x, y);
          w.requires_grad_(true);
          return loss;
        };
        return t;
      },
      "requires_grad_", "freezes or unfreezes", false);
  expect_break(
      [] {
        Training t = training([](const Tensor&, nn::Module&) {});
        const auto inner = t.step;
        const auto drop = std::make_shared<nn::Dropout>(0.5);
        t.step = [=](const Tensor& x, const Tensor& y) {
          drop->eval();
          Tensor loss = inner((*drop)(x), y);
          drop->train();
          return loss;
        };
        return t;
      },
      "train", "switches a module", false);
}

TEST(CompileBreaks, RunEagerlySplitsAStep) {
  const auto log = std::make_shared<std::vector<double>>();
  const auto make = [log] {
    log->clear();
    Training t = training([log](const Tensor& loss, nn::Module&) {
      run_eagerly([log, loss] { log->push_back(loss.item()); });
    });
    return t;
  };
  std::vector<double> first;
  const test::Trajectory eager = test::run(make, 9, false);
  const std::vector<double> eager_log = *log;
  CompileReport r;
  EXPECT_EQ(eager, test::run(make, 9, true, &r, unaudited())) << r.text();
  EXPECT_EQ(r.repeated, 6) << r.text();
  EXPECT_EQ(*log, eager_log);
  EXPECT_EQ(log->size(), 9u);
}

TEST(CompileBreaks, RunEagerlyMayDecideAboutTheUpdate) {
  const auto make = [] {
    Training t = training([](const Tensor&, nn::Module&) {});
    const auto net = t.net;
    const auto optimizer = t.optimizer;
    t.step = [=](const Tensor& x, const Tensor& y) {
      optimizer->zero_grad();
      Tensor loss = test::classes((*net)(x), y);
      loss.backward();
      const Tensor value = loss.detach();
      run_eagerly([=] {
        if (value.item() < 1.5) optimizer->step();
      });
      return loss;
    };
    return t;
  };
  expect_same(make, 12, 9, unaudited());
}

TEST(CompileBreaks, UnusualModesRunAsAlways) {
  manual_seed(1);
  Training t = training([](const Tensor&, nn::Module&) {});
  auto step = compile_step(t.step, unaudited());
  const auto [x, y] = t.batch(0);
  for (int i = 0; i < 5; ++i) step(x, y);
  ASSERT_EQ(step.report().repeated, 2);
  {
    const ReferenceKernelsScope reference;
    step(x, y);
  }
  step(x.detach().requires_grad_(), y);
  EXPECT_EQ(step.report().repeated, 2);
  step(x, y);
  EXPECT_EQ(step.report().repeated, 3);
}

}  // namespace
}  // namespace wick
