// Optimizers that are not of the tree, through what wick/trainer.h shows alone.
#include "tests/optim/goldens.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

struct SignOptions {
  double lr = 0.25;
  bool twice = false;
  int64_t every = 1;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("twice", twice), f("every", every);
  }
  void check(const char* op, const Where& where) const {
    if (every < 1) throw_error(op, "every must be at least 1", where);
  }
};

// Elementwise, with numbers of its own: p -= lr * f * sum of the gradients, f halved by each step.
struct LoopRule {
  struct Coefficients {
    double rate;
  };
  static constexpr const char* kName = "own_loop";
  static constexpr const char* kBuffers[] = {"sum"};
  static constexpr const char* kNumbers[] = {"factors"};
  static double initial(const SignOptions&, size_t) { return 1; }
  static Coefficients prepare(const SignOptions& o, optim::ParamState& state, bool) {
    return {o.lr * std::exchange(state.numbers[0], state.numbers[0] / 2)};
  }
  static void kLoop(const Coefficients& c, const optim::LoopArrays& a, int64_t begin, int64_t end) {
    auto *p = static_cast<float*>(a.p), *s = static_cast<float*>(a.state[0]);
    const auto* g = static_cast<const float*>(a.g);
    for (int64_t i = begin; i < end; ++i) {
      s[i] += g[i];
      p[i] -= static_cast<float>(c.rate) * s[i];
    }
  }
};
class OwnLoop : public optim::GroupOptimizer<SignOptions, LoopRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

// It is made of ops, with a buffer that only some options need.
struct SignRule {
  static constexpr const char* kName = "own_sign";
  static constexpr const char* kBuffers[] = {"before"};
  static bool uses(const SignOptions& o, size_t) { return o.twice; }
  static void check_param(const Tensor& p, const Where& where) {
    if (p.rank() > 1) throw_error(kName, "it takes vectors", where);
  }
  static void apply(const SignOptions& o, const Tensor& p, const Tensor& g,
                    optim::ParamState& state) {
    if (state.step % o.every != 0) return;
    p.sub_(sign(g) * o.lr);
    if (!o.twice) return;
    p.sub_(state.buffers[0] * o.lr);
    state.buffers[0].copy_(sign(g));
  }
};
class OwnSign : public optim::GroupOptimizer<SignOptions, SignRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

std::vector<Tensor> two() {
  std::vector<Tensor> params = {full({2}, 1), full({3}, 1)};
  for (const Tensor& p : params) p.requires_grad_();
  return params;
}

TEST(OwnOptimizer, LoopsAndNumbers) {
  auto train = [](bool restart) {
    const std::vector<Tensor> p = two();
    auto made = std::make_unique<OwnLoop>(p);
    for (int step = 0; step < 3; ++step) {
      if (restart && step == 1) {
        const optim::OptimizerState state = made->state_dict();
        EXPECT_THAT(state.settings, HasSubstr("\"factors\":[0.5,0.5]"));
        made = std::make_unique<OwnLoop>(p);
        made->load_state_dict(state);
      }
      for (const Tensor& t : p) t.set_grad(ones_like(t));
      made->step();
    }
    return test::values_of(p);
  };
  // The sums are 2, 3, 4, the rates 1/4, 1/8, 1/16.
  EXPECT_EQ(train(false), std::vector<double>(5, 1 - 2.0 / 4 - 3.0 / 8 - 4.0 / 16));
  EXPECT_EQ(train(true), train(false));
}

TEST(OwnOptimizer, OpsGroupsAndSchedules) {
  const std::vector<Tensor> p = two();
  OwnSign own({{{p[0]}, {.twice = true}}, {{p[1]}, {.lr = 0.5, .every = 2}}});
  optim::StepLR schedule(own, 1, 0.5);
  for (int step = 0; step < 2; ++step) {
    for (const Tensor& t : p) t.set_grad(ones_like(t) * -7);
    own.step();
    schedule.step();
  }
  // Rates 1/4 and 1/8 of the first, 1/4 in the second step of the other.
  EXPECT_EQ(test::values_of(p), (std::vector<double>{1.5, 1.5, 1.25, 1.25, 1.25}));
  EXPECT_EQ(own.state_dict().tensors.size(), 1u);
  EXPECT_EQ(own.memory_footprint().state, 8);
  EXPECT_EQ(own.lr(1), 0.125);
  EXPECT_THAT(error_of([&] { OwnSign({p[0]}, {.every = 0}); }),
              HasSubstr("[own_sign] every must be at least 1"));
  EXPECT_THAT(error_of([&] { OwnSign({zeros({2, 2})}); }), HasSubstr("it takes vectors"));
  EXPECT_THAT(error_of([&] { OwnLoop({p[0]}).load_state_dict(own.state_dict()); }),
              HasSubstr("[own_loop] the state is of own_sign"));
}

// Clipping, accumulation, the scaler and the loop see an Optimizer.
TEST(OwnOptimizer, InTheLoop) {
  const std::vector<Tensor> p = two();
  OwnSign own({p[0], p[1]});
  own.accumulate(2);
  for (int step = 0; step < 2; ++step) {
    sum(p[0] * 3).backward();
    own.step();
  }
  EXPECT_EQ(test::values_of(p), (std::vector<double>{0.75, 0.75, 1, 1, 1}));
  own.accumulate(1);
  optim::GradScaler scaler;
  scaler.scale(sum(p[1] * 2)).backward();
  EXPECT_TRUE(scaler.step(own));
  EXPECT_EQ(test::values_of({p[1]}), std::vector<double>(3, 0.75));
}

}  // namespace
}  // namespace wick
