// LBFGS beside PyTorch's: iterates, and how often it evaluates; what it refuses.
#include "tests/optim/descent.h"

namespace wick {
namespace {

using optim::LBFGS;
using optim::LbfgsOptions;
using test::Descent;
using test::error_of;
using test::rosenbrock;
using testing::HasSubstr;

LbfgsOptions options_of(std::istringstream& words) {
  LbfgsOptions options;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    bool found = false;
    options.fields([&](const char* name, auto& value) {
      if (word.substr(0, equals) != name) return;
      std::istringstream(word.substr(equals + 1)) >> value;
      found = true;
    });
    EXPECT_TRUE(found) << word;
  }
  return options;
}

// The bound is what PyTorch's own iterates move by when the start and every gradient move by eight
// roundings ("within"), and two roundings of the numbers.
TEST(Lbfgs, FollowsPyTorch) {
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("lbfgs")) {
    ++cases;
    std::istringstream words(golden.title);
    std::string problem;
    words >> problem;
    Descent run(problem == "quadratic" ? test::quadratic : rosenbrock, options_of(words));
    for (const auto& [key, want] : golden.lines) {
      const double loss = run.step();
      const std::string what = golden.title + ", step " + key;
      EXPECT_EQ(static_cast<double>(run.lbfgs->n_iter()), want[0]) << what;
      EXPECT_EQ(static_cast<double>(run.lbfgs->func_evals()), want[1]) << what;
      EXPECT_EQ(run.calls, run.lbfgs->func_evals()) << what;
      const double within = want[3] + 0x1p-51;
      EXPECT_NEAR(loss, want[2], within * std::max(1.0, std::abs(want[2]))) << what;
      const std::vector<double> x = test::values_of(run.params);
      ASSERT_EQ(x.size() + 4, want.size());
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], want[i + 4], within) << what;
    }
  }
  EXPECT_GE(cases, 16u);
}

TEST(Lbfgs, ThreadsChangeNoBit) {
  auto train = [](int threads) {
    set_num_threads(threads);
    Tensor w = test::numbers({300, 200}, 3, DType::kF32).clone();
    w.requires_grad_();
    LBFGS lbfgs({w}, {.max_iter = 6, .line_search_fn = "strong_wolfe"});
    lbfgs.step([&] {
      lbfgs.zero_grad();
      Tensor loss = sum(w * w * w * w);
      loss.backward();
      return loss;
    });
    return test::values_of({w});
  };
  const std::vector<double> one = train(1);
  EXPECT_EQ(train(3), one);
  set_num_threads(1);
}

// A regression by a module, as users write it: the loss falls to where no gradient is left.
TEST(Lbfgs, TrainsAModule) {
  manual_seed(4);
  nn::Sequential net(nn::Linear(3, 8), nn::Tanh(), nn::Linear(8, 1));
  const Tensor x = randn({16, 3}), y = sum(x * x, {1}, true);
  LBFGS lbfgs(net.parameters(), {.line_search_fn = "strong_wolfe"});
  optim::StepLR schedule(lbfgs, 5, 0.5);  // its rate is the first that the search tries
  Tensor first, loss;
  for (int step = 0; step < 10; ++step) {
    NoGrad guard;  // the closure records all the same
    optim::Optimizer& any = lbfgs;
    loss = any.step([&] {
      lbfgs.zero_grad();
      Tensor l = mse_loss(net(x), y);
      l.backward();
      return l;
    });
    if (!first.defined()) first = loss;
    schedule.step();
  }
  EXPECT_LT(loss.item(), first.item() / 1000);
  EXPECT_EQ(lbfgs.lr(), 0.25);
  const optim::OptimizerFootprint bytes = lbfgs.memory_footprint();
  EXPECT_EQ(bytes.parameters, 41 * 4);
  EXPECT_GT(bytes.state, 41 * 4);
}

TEST(Lbfgs, AnErrorOfTheClosureChangesNothing) {
  for (const char* search : {"", "strong_wolfe"}) {
    Descent run(rosenbrock, {.lr = 0.125, .line_search_fn = search});
    run.step();
    const std::vector<double> before = test::values_of(run.params);
    const int64_t iterations = run.lbfgs->n_iter(), evals = run.lbfgs->func_evals();
    int64_t calls = 0;
    EXPECT_THAT(error_of([&] {
                  run.lbfgs->step([&]() -> double {
                    if (++calls == 3) throw Error("out of data");
                    return 1.0 / static_cast<double>(calls);  // the gradients stay
                  });
                }),
                HasSubstr("out of data"));
    EXPECT_EQ(test::values_of(run.params), before) << search;
    EXPECT_EQ(run.lbfgs->n_iter(), iterations);
    EXPECT_EQ(run.lbfgs->func_evals(), evals);
  }
}

TEST(Lbfgs, RefusesWhatItCannotDo) {
  Tensor w = zeros({2}).named("w"), v = zeros({2}).named("v");
  Tensor wide = zeros({2}, DType::kF64).named("wide");
  for (const Tensor& t : {w, v, wide}) t.requires_grad_();
  auto says = [&](auto f, const char* text) { EXPECT_THAT(error_of(f), HasSubstr(text)); };
  says(
      [&] {
        LBFGS({{{w}, {}}, {{v}, {}}});
      },
      "[lbfgs] 2 groups of parameters; it takes one, with one set of options");
  says(
      [&] {
        LBFGS({w, wide});
      },
      "[lbfgs] parameter 'w' is float32, parameter 'wide' float64: all must be of one type");
  says([&] { LBFGS({w, w}); }, "parameter 'w': a parameter appears twice");
  says([&] { LBFGS(std::vector<Tensor>{}); }, "[lbfgs] no parameters");
  says([&] { LBFGS({w}, {.lr = -1}); }, "[lbfgs] lr must be finite and >= 0, got -1");
  says([&] { LBFGS({w}, {.max_iter = 0}); }, "[lbfgs] max_iter must be at least 1, got 0");
  says([&] { LBFGS({w}, {.max_eval = -1}); }, "[lbfgs] max_eval must be at least 0, got -1");
  says([&] { LBFGS({w}, {.tolerance_grad = -1}); }, "[lbfgs] tolerance_grad must be finite");
  says([&] { LBFGS({w}, {.tolerance_change = std::nan("")}); }, "tolerance_change must be finite");
  says([&] { LBFGS({w}, {.history_size = 0}); }, "[lbfgs] history_size must be at least 1, got 0");
  says([&] { LBFGS({w}, {.line_search_fn = "armijo"}); },
       "[lbfgs] line_search_fn must be \"strong_wolfe\" or empty, got \"armijo\"");
  LBFGS lbfgs({w});
  says([&] { lbfgs.step(); }, "[lbfgs] step() needs a closure, which it calls several times");
  says([&] { lbfgs.step([] { return std::string("3"); }); },
       "closure() must return a Tensor or a number");
  says([&] { lbfgs.set_lr(1, 0.5); }, "[lbfgs] group 1 of 1");
  lbfgs.accumulate(2);
  says([&] { lbfgs.step([] { return 1.0; }); }, "[lbfgs] accumulate() is not for LBFGS");
}

}  // namespace
}  // namespace wick
