// cond, while_loop and scan as eager calls: they give what plain C++ loops give, gradients too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

Tensor floats(const Shape& shape, double scale = 1) {
  return (arange(numel(shape)).to(DType::kF32).reshape(shape) % 7 - 3) * scale;
}
Tensor doubles(const Shape& shape) { return (floats(shape) * 0.3 + 0.05).to(DType::kF64); }

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
}

TEST(ControlFlow, OperatorsCompare) {
  const Tensor a = tensor({1.f, 2.f, 3.f}), b = tensor({2.f, 2.f, 2.f});
  using Bools = std::vector<bool>;
  const auto bools = [](const Tensor& t) {
    Bools all;
    for (bool v : t.to_vector<bool>()) all.push_back(v);
    return all;
  };
  EXPECT_EQ(bools(a < b), (Bools{true, false, false}));
  EXPECT_EQ(bools(a <= b), (Bools{true, true, false}));
  EXPECT_EQ(bools(a > b), (Bools{false, false, true}));
  EXPECT_EQ(bools(a >= b), (Bools{false, true, true}));
  EXPECT_EQ(bools(a < 2), (Bools{true, false, false}));
  EXPECT_EQ(bools(2 < a), (Bools{false, false, true}));
  EXPECT_EQ(bools(a >= 2.5), (Bools{false, false, true}));
  EXPECT_EQ(bools(1 <= a), (Bools{true, true, true}));
  EXPECT_TRUE(bool(a.sum() > 5));
  EXPECT_EQ((a < b).dtype(), DType::kBool);
}

TEST(ControlFlow, CondRunsTheBranchTaken) {
  int taken = 0, other = 0;
  for (bool yes : {true, false}) {
    const Tensor x = tensor({1.f, -2.f});
    const Tensor y = cond(
        full({}, yes, DType::kBool), [&](const Tensor& x) { return ++taken, x * 2; },
        [&](const Tensor& x) { return ++other, exp(x); }, {x});
    expect_same(y, yes ? x * 2 : exp(x));
  }
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(other, 1);
}

TEST(ControlFlow, CondTakesAndReturnsWhatOneLikes) {
  const Tensor x = tensor({1.f, 2.f}), y = tensor({3.f}), yes = tensor<bool>({true});
  const auto [a, b] = cond(
      yes, [](const Tensor& x, const Tensor& y) { return std::tuple(x + y, x); },
      [](const Tensor& x, const Tensor& y) { return std::tuple(x * y, y); }, {x, y});
  expect_same(a, x + y);
  expect_same(b, x);
  const std::vector<Tensor> list = cond(
      yes, [](const std::vector<Tensor>& in) { return in; },
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{in[1], in[0]};
      },
      {x, y});
  ASSERT_EQ(list.size(), 2u);
  expect_same(list[0], x);
  expect_same(cond(
                  yes, [&] { return x[0]; }, [&] { return y; }),
              tensor({1.f}).squeeze(0));
  nn::Linear first(2, 3), second(2, 3);
  EXPECT_EQ(cond(yes, first, second, {x}).shape(), (Shape{3}));
}

TEST(ControlFlow, WhatComesBackIsATensorOfItsOwn) {
  const Tensor x = tensor({1.f, 2.f}), yes = full({}, true, DType::kBool);
  const auto same = [](const Tensor& x) { return x; };
  Tensor y = cond(yes, same, same, {x});
  y.add_(1);
  Tensor z = while_loop([](const Tensor& x) { return x.sum() > 100; }, same, x);
  z.add_(1);
  Tensor v = cond(
      yes, [&] { return x.slice(0, 0, 1); }, [&] { return x; });
  v.add_(1);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(ControlFlow, CondGradientsAreOfTheBranchTaken) {
  for (bool yes : {true, false}) {
    Tensor x = tensor({0.5f, -1.f}).requires_grad_(), w = tensor({2.f, 3.f}).requires_grad_();
    Tensor y = cond(
        full({}, yes, DType::kBool), [&](const Tensor& x) { return x * x * w; },
        [&](const Tensor& x) { return x; }, {x});
    y.sum().backward();
    if (yes) {
      EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, -6}));
      EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{0.25, 1}));
    } else {
      EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1}));
      EXPECT_FALSE(w.grad().defined());
    }
  }
}

TEST(ControlFlow, WhileIsAPlainLoop) {
  for (int64_t trips : {0, 1, 5}) {
    Tensor x = floats({2, 3}, 0.25).requires_grad_(), y = floats({2, 3}, 0.25).requires_grad_();
    const Tensor last = full({}, trips, DType::kI64);
    const auto [i, got] = while_loop(
        [&](const Tensor& i, const Tensor&) { return i < last; },
        [&](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, sin(x) + x * x); },
        std::tuple(full({}, 0, DType::kI64), x));
    Tensor want = y;
    for (int64_t k = 0; k < trips; ++k) want = sin(want) + want * want;
    EXPECT_EQ(i.item<int64_t>(), trips);
    expect_same(got, want);
    got.sum().backward();
    want.sum().backward();
    expect_same(x.grad(), y.grad());
  }
}

TEST(ControlFlow, WhileTakesAListAndABound) {
  const std::vector<Tensor> last =
      while_loop([](const Tensor& i, const Tensor&) { return i < 100; },
                 [](const std::vector<Tensor>& s) {
                   return std::vector<Tensor>{s[0] + 1, s[1] * 2};
                 },
                 {full({}, 0, DType::kI64), ones({2})}, 3);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].item<int64_t>(), 3);
  EXPECT_EQ(last[1].to_vector<float>(), (std::vector<float>{8, 8}));
}

// Forwards and backwards, along any dim, by hand.
TEST(ControlFlow, ScanIsAPlainLoop) {
  for (bool reverse : {false, true}) {
    for (int dim : {0, 1, 2, -1}) {
      Tensor x = floats({3, 4, 5}, 0.125).requires_grad_(),
             y = floats({3, 4, 5}, 0.125).requires_grad_();
      Tensor w = floats({1}, 0.5).requires_grad_(), v = floats({1}, 0.5).requires_grad_();
      const Tensor init = zeros_like(x.select(dim, 0));
      const auto [carry, all] = scan(
          [&](const Tensor& s, const Tensor& x_t) {
            const Tensor next = tanh(s * w + x_t);
            return std::pair(next, next + s);
          },
          init, x, dim, reverse);
      Tensor s = zeros_like(y.select(dim, 0));
      const int64_t n = y.size(dim);
      std::vector<Tensor> want(static_cast<size_t>(n));
      for (int64_t k = 0; k < n; ++k) {
        const int64_t t = reverse ? n - 1 - k : k;
        const Tensor next = tanh(s * v + y.select(dim, t));
        want[static_cast<size_t>(t)] = next + s;
        s = next;
      }
      expect_same(carry, s);
      expect_same(all, stack(want, 0));
      (carry.sum() + (all * all).sum()).backward();
      (s.sum() + (stack(want, 0) * stack(want, 0)).sum()).backward();
      expect_same(x.grad(), y.grad());
      expect_same(w.grad(), v.grad());
    }
  }
}

TEST(ControlFlow, ScanOfNoSliceHasTheShapes) {
  const auto [carry, all] = scan(
      [](const Tensor& s, const std::pair<Tensor, Tensor>& at) {
        return std::pair(s + at.first.sum(0), std::tuple(at.second, at.first.sum() > 0));
      },
      ones({4}), std::pair(zeros({2, 0, 4}), zeros({3, 0}, DType::kI64)), 1);
  EXPECT_EQ(carry.to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_EQ(std::get<0>(all).shape(), (Shape{0, 3}));
  EXPECT_EQ(std::get<0>(all).dtype(), DType::kI64);
  EXPECT_EQ(std::get<1>(all).shape(), (Shape{0}));
  EXPECT_EQ(std::get<1>(all).dtype(), DType::kBool);
}

TEST(ControlFlow, ScanOfStatesAndNothingStacked) {
  const auto [carry, none] = scan(
      [](const std::vector<Tensor>& s, const Tensor& x_t) {
        return std::pair(std::vector<Tensor>{s[1], s[0] + x_t}, std::tuple<>());
      },
      std::vector<Tensor>{zeros({}), ones({})}, tensor({1.f, 2.f, 3.f}));
  EXPECT_EQ(carry[0].item(), 3);
  EXPECT_EQ(carry[1].item(), 4);
}

// The cells of nn, by their own state.
TEST(ControlFlow, ScanOfACellIsTheLayer) {
  struct Net : nn::Module {
    nn::Child<nn::LSTMCell> cell{this, "cell", 3, 4};
  } net;
  nn::LSTM layer(3, 4);
  NoGrad guard;
  for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
    layer.get_parameter(std::string(name) + "_l0").copy_(net.cell->get_parameter(name));
  const Tensor x = floats({5, 2, 3}, 0.25), zero = zeros({2, 4});
  const auto [last, all] = scan(
      [&](const nn::LstmState& s, const Tensor& x_t) {
        const nn::LstmState next = net.cell(x_t, s);
        return std::pair(next, next.h);
      },
      nn::LstmState{zero, zero}, x);
  EXPECT_TRUE(allclose(all, layer(x), 1e-6, 1e-6));
  EXPECT_TRUE(equal(all.select(0, 4), last.h));
}

// First and second order gradients against finite differences.
TEST(ControlFlow, GradientsAgreeWithDifferences) {
  const Tensor w = doubles({3});
  const auto halved = [](const std::vector<Tensor>& in) {
    return std::vector{while_loop([](const Tensor& x) { return abs(x).amax() > 0.3; },
                                  [&](const Tensor& x) { return x * sin(in[1]) * 0.7; }, in[0])};
  };
  const auto rnn = [](const std::vector<Tensor>& in) {
    const auto [carry, all] = scan(
        [&](const Tensor& s, const Tensor& x_t) {
          const Tensor next = cond(
              x_t.sum() > 0, [&] { return tanh(s + x_t * in[1]); },
              [&] { return s * 0.5 + x_t * x_t; });
          return std::pair(next, next * s);
        },
        in[2], in[0], 1, true);
    return std::vector{carry.sum() + (all * all).sum()};
  };
  EXPECT_TRUE(gradcheck(halved, {doubles({3}), w}).ok);
  EXPECT_TRUE(gradcheck(rnn, {doubles({2, 4}), doubles({2}), doubles({2}) * 0.5}).ok);
  EXPECT_TRUE(gradgradcheck(rnn, {doubles({2, 4}), doubles({2}), doubles({2}) * 0.5}).ok);
}

// Errors name the function and the user's line.
TEST(ControlFlow, ErrorsSayWhatAndWhere) {
  const Tensor x = ones({2, 3}), yes = full({}, true, DType::kBool);
  const auto same = [](const Tensor& x) { return x; };
#line 10 "net.cc"
  EXPECT_EQ(error_of([&] { cond(x.sum(), same, same, {x}); }),
            "[cond] pred must be one bool, got float32[]: compare it, x > 0 (net.cc:10)");
  EXPECT_EQ(error_of([&] { cond(x > 0, same, same, {x}); }),
            "[cond] pred must be one bool, got bool[2,3]: reduce it to one element, any(x > 0) or "
            "x.sum() > 0 (net.cc:12)");
  EXPECT_EQ(error_of([&] {
              cond(yes, same, same, {x, x});
            }),
            "[cond] then_fn takes 1 tensor, and is given 2 (net.cc:15)");
  EXPECT_EQ(error_of([&] { cond(yes, same, same, {Tensor()}); }),
            "[cond] an operand is an undefined tensor (net.cc:19)");
  EXPECT_EQ(error_of([&] { cond(yes, [](const Tensor& x) { return x.add_(1); }, same, {x}); }),
            "[cond] then_fn writes in place to tensor 0 of those it is given: return the new value "
            "(net.cc:21)");
  const auto going = [](const Tensor& x) { return x.sum() < 100; };
  EXPECT_EQ(
      error_of([&] { while_loop([](const Tensor& x) { return x; }, same, x); }),
      "[while_loop] what cond_fn returns must be one bool, got float32[2,3]: reduce it to one "
      "element, any(x > 0) or x.sum() > 0 (net.cc:25)");
  EXPECT_EQ(error_of([&] {
              while_loop(
                  going,
                  [](const Tensor& x) {
                    return cat({x, x}, 0);
                  },
                  x);
            }),
            "[while_loop] the state is float32[2,3], and the function returns float32[4,3] for it: "
            "dtype and shape stay the same from trip to trip (net.cc:29)");
  EXPECT_EQ(error_of([&] {
              while_loop(
                  going, [](const Tensor& x) { return x.to(DType::kF64); }, x);
            }),
            "[while_loop] the state is float32[2,3], and the function returns float64[2,3] for it: "
            "dtype and shape stay the same from trip to trip, cast with .to() (net.cc:39)");
  EXPECT_EQ(error_of([&] {
              while_loop(
                  going, [](const Tensor& x) { return std::pair(x, x); }, x);
            }),
            "[while_loop] the state is 1 tensor, and the function returns 2 for it (net.cc:45)");
  EXPECT_EQ(error_of([&] {
              while_loop(
                  going, [](const Tensor& x) { return x.mul_(2); }, x);
            }),
            "[while_loop] body_fn writes in place to tensor 0 of those it is given: return the new "
            "value (net.cc:50)");
  const auto step = [](const Tensor& s, const Tensor& x) { return std::pair(s + x, s); };
  EXPECT_EQ(error_of([&] { scan(step, zeros({}), x); }),
            "[scan] the carry is float32[], and the function returns float32[3] for it: dtype and "
            "shape stay the same from trip to trip (net.cc:57)");
  EXPECT_EQ(error_of([&] { scan(step, zeros({3}), x, 2); }),
            "[scan] dim 2 out of range for rank 2 (net.cc:60)");
  EXPECT_EQ(error_of([&] {
              scan(
                  [](const Tensor& s, const std::pair<Tensor, Tensor>&) { return std::pair(s, s); },
                  zeros({3}), std::pair(x, ones({5, 3})));
            }),
            "[scan] xs have 2 and 5 slices along dim 0: float32[2,3] and float32[5,3] (net.cc:62)");
#line 250 "control_flow_test.cc"
}

}  // namespace
}  // namespace wick
