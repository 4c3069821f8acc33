// The state of LBFGS: to the bit through a file, and what it refuses.
#include "tests/optim/descent.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using optim::LBFGS;
using optim::LbfgsOptions;
using test::Descent;
using test::error_of;
using test::rosenbrock;
using testing::HasSubstr;

// Through a file, between steps whose history is short and full; float32 and float64.
TEST(Lbfgs, StateGoesOnToTheBit) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (const char* search : {"", "strong_wolfe"}) {
      const LbfgsOptions options = {
          .lr = 0.125, .max_iter = 3, .max_eval = 20, .history_size = 5, .line_search_fn = search};
      auto train = [&](int64_t restart) {
        Descent run(rosenbrock, options, dtype);
        std::vector<double> losses;
        for (int64_t step = 1; step <= 6; ++step) {
          if (step == restart) {
            optim::OptimizerState state = run.lbfgs->state_dict();
            const std::string path = test::temp_folder() + "lbfgs.safetensors";
            save_safetensors(path, state.tensors);
            state.tensors.clear();
            for (const auto& [name, t] : load_safetensors(path).tensors) {
              state.tensors.emplace_back(name, t);
            }
            run.lbfgs = std::make_unique<LBFGS>(run.params);
            run.lbfgs->load_state_dict(state);
            EXPECT_EQ(run.lbfgs->options().line_search_fn, search);
          }
          losses.push_back(run.step());
        }
        EXPECT_EQ(run.lbfgs->n_iter(), 18);
        for (double v : test::values_of(run.params)) losses.push_back(v);
        return losses;
      };
      const std::vector<double> unbroken = train(0);
      for (int64_t at : {1, 2, 5}) EXPECT_EQ(train(at), unbroken) << search << at;
    }
  }
}

TEST(Lbfgs, StateThatDoesNotFitIsRefused) {
  Descent run(rosenbrock, {.lr = 0.125});
  run.step();
  const optim::OptimizerState state = run.lbfgs->state_dict();
  auto says = [&](const optim::OptimizerState& s, const char* what) {
    const std::vector<double> before = test::values_of(run.params);
    EXPECT_THAT(error_of([&] { run.lbfgs->load_state_dict(s); }), HasSubstr(what));
    EXPECT_EQ(run.lbfgs->state_dict().settings, state.settings);
  };
  optim::SGD sgd(run.params);
  says(sgd.state_dict(), "[lbfgs] the state is of sgd");
  LBFGS fewer(std::vector<Tensor>{run.params[0]});
  says(fewer.state_dict(), "the state has 1 parameters, the optimizer 2");
  optim::OptimizerState broken = state;
  broken.tensors.pop_back();
  says(broken, "the state lacks state.0.old_stps.");
  broken = state;
  broken.tensors[0].second = zeros({2});
  says(broken, "state.0.d is float32[2], the optimizer's float64[7]");
  broken = state;
  broken.tensors.emplace_back("state.0.old_dirs.99", zeros({2}));
  says(broken, "tensors no parameter owns");
  broken = state;
  broken.settings = "{";
  says(broken, "damaged optimizer state");
  broken = state;
  broken.settings.replace(broken.settings.find("\"n_iter\":") + 9, 0, "-");
  says(broken, "n_iter is -");
}

}  // namespace
}  // namespace wick
