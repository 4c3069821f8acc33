// Gradient clipping, averaged models and update_bn: PyTorch's numbers, and arguments that are
// refused.
#include "tests/optim/goldens.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

std::vector<Tensor> clipped(DType dtype) {
  std::vector<Tensor> params;
  int64_t k = 0;
  for (const Shape& shape : {Shape{4, 5}, Shape{7}, Shape{2, 3, 2}}) {
    params.push_back(zeros(shape, dtype));
    params.back().requires_grad_();
    params.back().set_grad(test::numbers(shape, k++, dtype));
  }
  params.insert(params.begin() + 1, zeros({3}, dtype));  // without a gradient
  return params;
}
std::vector<double> gradients(const std::vector<Tensor>& params) {
  std::vector<Tensor> all;
  for (const Tensor& p : params) {
    if (p.grad().defined()) all.push_back(p.grad());
  }
  return test::values_of(all);
}

TEST(ClipGrad, FollowsPyTorch) {
  const double inf = HUGE_VAL;
  const std::map<std::string, std::pair<double, double>> norms = {{"norm_2", {1, 2}},
                                                                  {"norm_1", {2.5, 1}},
                                                                  {"norm_3", {0.75, 3}},
                                                                  {"norm_inf", {0.25, inf}},
                                                                  {"norm_below", {1000, 2}}};
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("clip")) {
    ++cases;
    for (DType dtype : {DType::kF64, DType::kF32}) {
      const double tolerance = dtype == DType::kF64 ? 1e-13 : 1e-6;
      std::vector<Tensor> params = clipped(dtype);
      if (golden.title == "value") {
        nn::clip_grad_value_(params, 0.375);
      } else {
        const auto [max_norm, type] = norms.at(golden.title);
        const double total = nn::clip_grad_norm_(params, max_norm, type);
        EXPECT_NEAR(total, golden.at("norm")[0], 1e-13 * total) << golden.title;
      }
      test::expect_close(gradients(params), golden.at("grads"), tolerance, golden.title);
      EXPECT_FALSE(params[1].grad().defined());
    }
  }
  EXPECT_EQ(cases, 6u);
}

TEST(ClipGrad, ThreadsChangeNoBit) {
  for (double type : {1.0, 2.0, 2.5, HUGE_VAL}) {
    std::vector<double> want;
    for (int threads : {1, 2, 4}) {
      set_num_threads(threads);
      manual_seed(6);
      std::vector<Tensor> params;
      for (int64_t n : {1, 100003, 17, 16384, 5}) {
        params.push_back(zeros({n}));
        params.back().set_grad(randn({n}));
      }
      std::vector<double> got = {nn::clip_grad_norm_(params, 0.5, type)};
      for (double g : gradients(params)) got.push_back(g);
      if (threads == 1) want = got;
      EXPECT_EQ(got, want) << type << " " << threads;
    }
  }
  set_num_threads(1);
}

TEST(ClipGrad, WhatIsNotFinite) {
  for (double bad : {std::nan(""), HUGE_VAL}) {
    for (double type : {1.0, 2.0, HUGE_VAL}) {
      Tensor w = zeros({40});
      Tensor g = ones({40});
      g.mutable_data<float>()[21] = static_cast<float>(bad);
      w.set_grad(g);
      EXPECT_THAT(error_of([&] { nn::clip_grad_norm_({w}, 1, type, true); }),
                  HasSubstr("[clip_grad_norm_] the gradients' norm of order"));
      EXPECT_EQ(w.grad().to_vector<float>()[0], 1.0f);
      const double total = nn::clip_grad_norm_({w}, 1, type);
      EXPECT_EQ(std::isnan(total), std::isnan(bad));
      EXPECT_EQ(std::isnan(w.grad().to_vector<float>()[0]), std::isnan(bad));  // else 0
      EXPECT_TRUE(std::isnan(w.grad().to_vector<float>()[21]));
    }
  }
  Tensor w = zeros({2});
  w.set_grad(tensor({3.0f, std::nanf("")}));
  nn::clip_grad_value_({w}, 1);
  EXPECT_EQ(w.grad().to_vector<float>()[0], 1.0f);
  EXPECT_TRUE(std::isnan(w.grad().to_vector<float>()[1]));
}

TEST(ClipGrad, RefusesBadArguments) {
  Tensor w = zeros({2});
  const double nan = std::nan("");
  auto says = [&](auto f, const char* text) { EXPECT_THAT(error_of(f), HasSubstr(text)); };
  says([&] { nn::clip_grad_norm_({w}, -1); }, "max_norm must be >= 0, got -1");
  says([&] { nn::clip_grad_norm_({w}, nan); }, "max_norm must be >= 0, got nan");
  says([&] { nn::clip_grad_norm_({w}, 1, 0); }, "norm_type must be positive or infinity, got 0");
  says([&] { nn::clip_grad_norm_({w}, 1, nan); }, "norm_type must be positive");
  says([&] { nn::clip_grad_norm_({Tensor()}, 1); }, "parameter 0 is undefined");
  says([&] { nn::clip_grad_value_({w}, -1); }, "clip_value must be >= 0, got -1");
  says([&] { nn::clip_grad_value_({w}, nan); }, "clip_value must be >= 0, got nan");
  EXPECT_EQ(nn::clip_grad_norm_({w}, 1), 0);
  EXPECT_EQ(nn::clip_grad_norm_({}, 1), 0);
}

struct Net : nn::Sequential {
  Net() : nn::Sequential(nn::Conv2d(2, 3, 1), nn::BatchNorm2d(3)) { to(DType::kF64); }
};

// make_optim.py's: every entry of the state dict, as a training that went on would.
void set_state(nn::Module& net, int64_t seed) {
  NoGrad guard;
  int64_t k = 0;
  for (const auto& [name, t] : net.state_dict()) {
    Tensor value = test::numbers(t.raw_shape(), seed + k++);
    if (name.ends_with("var")) value = abs(value) + 0.5;
    if (!is_float(t.dtype())) value = full(t.raw_shape(), 3 * seed, DType::kI64);
    t.copy_(value);
  }
}

void expect_state(const nn::Module& net, const test::GoldenCase& golden) {
  const nn::NamedTensors state = net.state_dict();
  ASSERT_EQ(state.size(), golden.lines.size());
  for (const auto& [name, t] : state) {
    test::expect_close(test::values_of({t}), golden.at(name), 1e-14, golden.title + " " + name);
  }
}

TEST(AveragedModel, FollowsPyTorch) {
  size_t cases = 0;
  for (const test::GoldenCase& golden : test::goldens("average")) {
    ++cases;
    Net net;
    set_state(net, 1);
    if (golden.title == "update_bn") {
      net.eval();
      std::vector<int64_t> sizes = {4, 2, 5};
      size_t at = 0;
      optim::update_bn(
          [&](Tensor& x) {
            if (at == sizes.size()) return false;
            const int64_t n = sizes[at++];
            x = test::numbers({n, 2, 2, 3}, n);
            return true;
          },
          net);
      EXPECT_FALSE(net.training());
      expect_state(net, golden);
      continue;
    }
    optim::AveragedModel average(
        net, std::make_shared<Net>(),
        golden.title == "ema" ? optim::ema_avg_fn(0.75) : optim::swa_avg_fn(),
        golden.title == "swa_buffers");
    for (int64_t seed : {2, 3, 4, 5}) {
      set_state(net, seed);
      average.update_parameters(net);
    }
    EXPECT_EQ(average.n_averaged(), 4);
    expect_state(average, golden);
  }
  EXPECT_EQ(cases, 4u);
}

// The averages go through a state dict and on; forward is the averaged weights'.
TEST(AveragedModel, GoesOnFromItsStateDict) {
  Net net;
  set_state(net, 1);
  optim::AveragedModel a(net, std::make_shared<Net>()), b(net, std::make_shared<Net>());
  a.update_parameters(net);
  set_state(net, 2);
  a.update_parameters(net);
  b.load_state_dict(a.state_dict());
  set_state(net, 3);
  a.update_parameters(net);
  b.update_parameters(net);
  EXPECT_EQ(state_sha256(a.state_dict()), state_sha256(b.state_dict()));
  a.eval();
  Tensor x = test::numbers({1, 2, 2, 2}, 4);
  EXPECT_EQ(a(x).detach().to_vector<double>(), a.module()(x).detach().to_vector<double>());
}

TEST(AveragedModel, RefusesWhatDoesNotFit) {
  Net net;
  auto other = std::make_shared<nn::Sequential>(nn::Conv2d(2, 4, 1), nn::BatchNorm2d(4));
  EXPECT_THAT(error_of([&] { optim::AveragedModel(net, other); }),
              HasSubstr("shape: 0.weight is [3,2,1,1], the model has [4,2,1,1]"));
  EXPECT_THAT(error_of([&] { optim::AveragedModel(net, nullptr); }),
              HasSubstr("[averaged_model] copy must be a second module"));
  EXPECT_THAT(error_of([&] { optim::AveragedModel(net, std::make_shared<Net>(), nullptr); }),
              HasSubstr("an empty avg_fn"));
  EXPECT_THAT(error_of([] { optim::ema_avg_fn(1.5); }), HasSubstr("decay must be in [0, 1]"));
  optim::AveragedModel average(net, std::make_shared<Net>());
  nn::Sequential less(nn::Conv2d(2, 3, 1));
  EXPECT_THAT(error_of([&] { average.update_parameters(less); }),
              HasSubstr("[averaged_model] the model differs at '1.weight'"));
}

}  // namespace
}  // namespace wick
