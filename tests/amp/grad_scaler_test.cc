// GradScaler: torch.cuda.amp's rules, and what a skipped step leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using optim::Amp;
using optim::GradScaler;
using optim::GradScalerOptions;
using test::error_of;
using testing::HasSubstr;

// One parameter, and the gradient that a loss scaled by `scale` would have.
struct One {
  Tensor p = tensor({1.0f, 2.0f}).requires_grad_();
  optim::SGD sgd{{p}, {.lr = 0.5}};
  void gradient(float g, GradScaler& s) { p.set_grad(tensor({g, 1.0f}) * s.get_scale()); }
};

TEST(GradScaler, FollowsPyTorchsPath) {
  std::ifstream in(source_dir("/tests/amp/goldens/scale.txt"));
  GradScaler scaler;
  One one;
  int64_t compared = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    if (line.rfind("run", 0) == 0) {
      GradScalerOptions o;
      std::string run;
      words >> run >> o.init_scale >> o.growth_factor >> o.backoff_factor >> o.growth_interval;
      scaler = GradScaler(o);
      scaler.scale(zeros({}));
      continue;
    }
    int64_t step = 0;
    int found = 0;
    double scale = 0;
    int64_t tracker = 0;
    words >> step >> found;
    one.p.set_grad(tensor({found != 0 ? INFINITY : 1.0f, 1.0f}));
    EXPECT_EQ(scaler.step(one.sgd), found == 0);
    scaler.update();
    if (!(words >> scale >> tracker)) continue;
    ASSERT_EQ(scaler.get_scale(), scale) << line;
    ASSERT_EQ(scaler.growth_tracker(), tracker) << line;
    ++compared;
  }
  EXPECT_GT(compared, 600);
}

TEST(GradScaler, HalvesOnInfAndDoublesAfterN) {
  GradScaler scaler({.init_scale = 1024, .growth_interval = 3});
  One one;
  scaler.scale(zeros({}));
  for (float g : {HUGE_VALF, NAN, -HUGE_VALF}) {
    const std::vector<float> before = one.p.to_vector<float>();
    const double scale = scaler.get_scale();
    one.p.set_grad(tensor({1.0f, g}));
    EXPECT_FALSE(scaler.step(one.sgd));
    scaler.update();
    EXPECT_EQ(one.p.to_vector<float>(), before) << "a skipped step leaves the weights";
    EXPECT_EQ(scaler.get_scale(), scale / 2);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(scaler.get_scale(), 128);
    one.gradient(1, scaler);
    EXPECT_TRUE(scaler.step(one.sgd));
    scaler.update();
  }
  EXPECT_EQ(scaler.get_scale(), 256);
  // Three steps of 0.5 on a gradient of 1: the scale is gone from it.
  EXPECT_EQ(one.p.to_vector<float>(), (std::vector<float>{-0.5f, 0.5f}));
}

TEST(GradScaler, FindsOneBadElementAnywhere) {
  const int64_t n = 70001;  // several slices
  for (int64_t bad : {int64_t{-1}, int64_t{0}, int64_t{16383}, int64_t{16384}, n - 1}) {
    Tensor small = zeros({3}).requires_grad_(), big = zeros({n}).requires_grad_();
    Tensor turned = zeros({4, 5}).requires_grad_();
    optim::SGD sgd({small, big, turned}, {.lr = 1});
    small.set_grad(ones({3}));
    Tensor g = ones({n});
    if (bad >= 0) g.mutable_data<float>()[bad] = NAN;
    big.set_grad(g);
    turned.set_grad(ones({5, 4}).t());
    GradScaler scaler({.init_scale = 4});
    scaler.scale(zeros({}));
    scaler.unscale_(sgd);
    EXPECT_EQ(small.grad().to_vector<float>()[0], 0.25f);
    EXPECT_EQ(turned.grad().contiguous().to_vector<float>()[7], 0.25f);
    EXPECT_EQ(scaler.step(sgd), bad < 0) << bad;
    EXPECT_EQ(small.to_vector<float>()[0], bad < 0 ? -0.25f : 0.0f);
  }
}

TEST(GradScaler, SkipsForOneOptimizerOnly) {
  One a, b;
  GradScaler scaler({.init_scale = 8});
  scaler.scale(zeros({}));
  a.gradient(1, scaler);
  b.gradient(INFINITY, scaler);
  EXPECT_TRUE(scaler.step(a.sgd));
  EXPECT_FALSE(scaler.step(b.sgd));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 4) << "one of two is enough";
}

TEST(GradScaler, CountsWithAccumulation) {
  One one;
  one.sgd.accumulate(2);
  GradScaler scaler({.init_scale = 8, .growth_interval = 1});
  auto half = [&](float g) {
    scaler.scale(sum(one.p * tensor({g, g}))).backward();
    const bool acted = scaler.step(one.sgd);
    scaler.update();
    return acted;
  };
  EXPECT_FALSE(half(1));
  EXPECT_EQ(scaler.get_scale(), 8) << "the halves of a sum have one scale";
  EXPECT_TRUE(half(3));
  EXPECT_EQ(one.p.to_vector<float>(), (std::vector<float>{-1, 0}));
  EXPECT_EQ(scaler.get_scale(), 16);
  EXPECT_FALSE(half(INFINITY));
  EXPECT_FALSE(half(1));
  EXPECT_FALSE(one.p.grad().defined()) << "a skipped update clears too";
  EXPECT_EQ(one.p.to_vector<float>(), (std::vector<float>{-1, 0}));
  EXPECT_EQ(scaler.get_scale(), 8);
}

TEST(GradScaler, StateComesBack) {
  One one;
  GradScaler a({.init_scale = 12, .growth_factor = 3, .growth_interval = 7}), b;
  a.scale(zeros({}));
  one.gradient(1, a);
  a.step(one.sgd);
  a.update();
  b.load_state_dict(a.state_dict());
  EXPECT_EQ(b.get_scale(), 12);
  EXPECT_EQ(b.growth_tracker(), 1);
  EXPECT_EQ(b.get_growth_factor(), 3);
  EXPECT_EQ(b.get_growth_interval(), 7);
  EXPECT_EQ(b.state_dict(), a.state_dict());
  const std::string before = b.state_dict();
  for (const char* bad :
       {"", "{}", "[]",
        R"({"scale":0,"growth_factor":2,"backoff_factor":0.5,"growth_interval":1,)"
        R"("_growth_tracker":0})"}) {
    EXPECT_THROW(b.load_state_dict(bad), Error) << bad;
    EXPECT_EQ(b.state_dict(), before);
  }
  EXPECT_EQ(GradScaler({.enabled = false}).state_dict(), "{}");
}

TEST(GradScaler, RefusesWhatIsOutOfOrder) {
  One one;
  GradScaler s;
  one.p.set_grad(ones({2}));
  EXPECT_THAT(error_of([&] { s.step(one.sgd); }), HasSubstr("no loss was scaled"));
  s.scale(zeros({}));
  EXPECT_THAT(error_of([&] { s.update(); }), HasSubstr("no gradients were looked at"));
  s.unscale_(one.sgd);
  EXPECT_THAT(error_of([&] { s.unscale_(one.sgd); }), HasSubstr("already called"));
  s.step(one.sgd);
  EXPECT_THAT(error_of([&] { s.step(one.sgd); }), HasSubstr("already called"));
  EXPECT_THAT(error_of([&] { s.unscale_(one.sgd); }), HasSubstr("after step()"));
  s.update(32);
  EXPECT_EQ(s.get_scale(), 32);
  one.p.set_grad(Tensor());
  EXPECT_THAT(error_of([&] { s.step(one.sgd); }), HasSubstr("no parameter"));
  for (double bad : {0.0, -1.0, double{NAN}, HUGE_VAL, 1e39}) {
    EXPECT_THROW(GradScaler({.init_scale = bad}), Error) << bad;
    EXPECT_THROW(s.update(bad), Error) << bad;
  }
  EXPECT_THROW(GradScaler({.growth_factor = 1}), Error);
  EXPECT_THROW(GradScaler({.backoff_factor = 1}), Error);
  EXPECT_THROW(GradScaler({.backoff_factor = NAN}), Error);
  EXPECT_THROW(GradScaler({.growth_interval = 0}), Error);
  EXPECT_THROW(s.scale(zeros({2}, DType::kI64)), Error);
}

TEST(GradScaler, DisabledHandsThrough) {
  One one;
  GradScaler s({.enabled = false});
  Tensor loss = sum(one.p);
  EXPECT_TRUE(s.scale(loss).is_same(loss));
  loss.backward();
  s.unscale_(one.sgd);
  EXPECT_TRUE(s.step(one.sgd));
  s.update();
  EXPECT_EQ(one.p.to_vector<float>(), (std::vector<float>{0.5f, 1.5f}));
  EXPECT_EQ(s.get_scale(), 1);
}

// A small net learns the same in all precisions, by the loop's four lines.
TEST(Amp, TrainsInEveryPrecision) {
  std::vector<double> losses;
  for (DType t : {DType::kNone, DType::kBF16, DType::kF16}) {
    manual_seed(3);
    nn::Linear a(6, 16), b(16, 3);
    std::vector<Tensor> all = a.parameters();
    for (const Tensor& p : b.parameters()) all.push_back(p);
    optim::SGD sgd(all, {.lr = 0.2});
    Tensor x = randn({32, 6}), y = argmax(x.slice(1, 0, 3), 1);
    Amp amp({.autocast = t});
    double last = 0;
    for (int i = 0; i < 60; ++i) {
      Tensor loss;
      {
        auto scope = amp.begin();
        loss = cross_entropy(b(relu(a(x))), y);
      }
      EXPECT_EQ(loss.dtype(), DType::kF32);
      last = loss.item();
      sgd.zero_grad();
      amp.backward(loss);
      amp.step(sgd);
    }
    losses.push_back(last);
    if (t == DType::kF16) {
      Amp other({.autocast = t});
      other.load_state_dict(amp.state_dict());
      EXPECT_EQ(other.state_dict(), amp.state_dict());
    } else {
      EXPECT_EQ(amp.state_dict(), "{}");
    }
  }
  EXPECT_LT(losses[0], 0.5);
  EXPECT_NEAR(losses[1], losses[0], 0.02);
  EXPECT_NEAR(losses[2], losses[0], 0.02);
  EXPECT_THROW(Amp({.autocast = DType::kF64}), Error);
  EXPECT_THROW(Amp({.autocast = DType::kF16, .scaler = {.enabled = false}}), Error);
}

}  // namespace
}  // namespace wick
