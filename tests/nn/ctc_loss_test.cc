// CTC: against PyTorch, against the sum over all paths, and its gradient by differences.
#include <functional>

#include "tests/nn/goldens.h"

namespace wick {
namespace {

Tensor padded() { return tensor<int64_t>({{1, 2, 2, 3}, {3, 1, 0, 0}, {2, 0, 0, 0}}); }
Tensor flat() { return tensor<int64_t>({1, 2, 2, 3, 3, 1, 2}); }
const std::vector<int64_t> kLengths{7, 4, 5}, kTargetLengths{4, 2, 1};

void check(const std::string& name, const Shape& shape,
           const std::function<Tensor(const Tensor&)>& loss) {
  static const Goldens all = read_goldens("losses.txt");
  const auto& want = all.at(name);
  Tensor x = (number(shape, 0) * 4).requires_grad_();
  Tensor y = loss(log_softmax(x, -1));
  EXPECT_LE(difference(want.at("out"), y), 1e-12) << name << y.to_string();
  sum(y * number(y.raw_shape(), 7)).backward();
  EXPECT_LE(difference(want.at("x0"), x.grad()), 1e-12) << name << x.grad().to_string();
}

TEST(CtcLoss, MatchesPyTorch) {
  using R = Reduction;
  auto with = [](const Tensor& targets, R r, int64_t blank = 0) {
    return [=](const Tensor& p) {
      return nn::CTCLoss(blank, r)(p, targets, kLengths, kTargetLengths);
    };
  };
  check("CTC_none", {7, 3, 4}, with(padded(), R::kNone));
  check("CTC_mean", {7, 3, 4}, with(padded(), R::kMean));
  check("CTC_sum", {7, 3, 4}, with(padded(), R::kSum));
  check("CTC_flat", {7, 3, 4}, with(flat(), R::kMean));
  check("CTC_blank_last", {7, 3, 4}, with(flat() - 1, R::kMean, 3));
  check("CTC_empty", {7, 3, 4}, [](const Tensor& p) {
    return ctc_loss(p, padded(), tensor(kLengths), tensor<int64_t>({4, 0, 1}));
  });
  check("CTC_infinite", {7, 3, 4}, [](const Tensor& p) {
    return ctc_loss(p, padded(), {4, 4, 5}, kTargetLengths, 0, R::kNone, true);
  });
  check("CTC_alone", {5, 4}, [](const Tensor& p) {
    return ctc_loss(p, tensor<int64_t>({1, 3}), tensor<int64_t>(5), tensor<int64_t>(2));
  });
}

// The definition: all paths, merged and without blanks.
TEST(CtcLoss, IsTheSumOverAllPaths) {
  constexpr int64_t kSteps = 5, kClasses = 3;
  Tensor p = log_softmax(number({kSteps, kClasses}, 3), -1);
  const std::vector<double> v = p.to_vector<double>();
  for (const std::vector<int64_t>& target :
       {std::vector<int64_t>{1, 2}, {1, 1}, {2}, {2, 1, 2}, {1, 1, 1}}) {
    double total = 0;
    for (int64_t path = 0; path < 243; ++path) {
      std::vector<int64_t> said;
      double score = 0;
      int64_t before = 0, rest = path;
      for (int64_t t = 0; t < kSteps; ++t, rest /= kClasses) {
        const int64_t c = rest % kClasses;
        score += v[static_cast<size_t>(t * kClasses + c)];
        if (c != 0 && c != before) said.push_back(c);
        before = c;
      }
      if (said == target) total += std::exp(score);
    }
    const auto n = static_cast<int64_t>(target.size());
    Tensor loss = ctc_loss(p, tensor(target), {kSteps}, {n}, 0, Reduction::kSum);
    EXPECT_NEAR(loss.item(), -std::log(total), 1e-13) << n;
  }
}

TEST(CtcLoss, GradientIsExact) {
  Tensor p = log_softmax(number({7, 3, 4}, 2), -1).detach().requires_grad_();
  for (Reduction r : {Reduction::kNone, Reduction::kMean, Reduction::kSum}) {
    auto f = [&](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{ctc_loss(in[0], flat(), kLengths, kTargetLengths, 0, r)};
    };
    EXPECT_TRUE(gradcheck(f, {p}).ok);
  }
}

TEST(CtcLoss, WhatCannotBeSpelledIsInfinite) {
  // "22" needs three steps: the blank between.
  Tensor p = log_softmax(number({2, 1, 4}, 0), -1).detach().requires_grad_();
  Tensor two = tensor<int64_t>({2, 2});
  Tensor loss = ctc_loss(p, two, {2}, {2});
  EXPECT_EQ(loss.item(), HUGE_VAL);
  loss.backward();
  EXPECT_TRUE(std::isnan(p.grad().to_vector<double>()[0]));
  p.set_grad(Tensor());
  loss = ctc_loss(p, two, {2}, {2}, 0, Reduction::kMean, true);
  EXPECT_EQ(loss.item(), 0);
  loss.backward();
  for (double g : p.grad().to_vector<double>()) EXPECT_EQ(g, 0);
}

TEST(CtcLoss, WidthsAgree) {
  Tensor p = log_softmax(number({7, 3, 4}, 2), -1);
  const double want = ctc_loss(p, flat(), kLengths, kTargetLengths).item();
  Tensor narrow = p.to(DType::kF32);
  Tensor loss = ctc_loss(narrow, flat().to(DType::kI32), kLengths, kTargetLengths);
  EXPECT_EQ(loss.dtype(), DType::kF32);
  EXPECT_NEAR(loss.item(), want, 1e-5);
}

template <class F>
void refused(const F& f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "no error: " << part;
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("[ctc_loss] "), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find("ctc_loss_test.cc:"), std::string::npos) << text;
  }
}

TEST(CtcLoss, ErrorsNameTheBatchEntry) {
  Tensor p = number({7, 3, 4}, 0);
  refused(
      [&] {
        ctc_loss(p, padded(), {7, 8, 5}, kTargetLengths);
      },
      "input_lengths[1] is 8, log_probs has 7 steps");
  refused([&] { ctc_loss(p, padded(), {7, 4, -1}, kTargetLengths); }, "input_lengths[2] is -1");
  refused(
      [&] {
        ctc_loss(p, padded(), kLengths, {4, 5, 1});
      },
      "target_lengths[1] is 5, targets [3,4] have 4 left for it");
  refused(
      [&] {
        ctc_loss(p, flat(), kLengths, {4, 2, 2});
      },
      "target_lengths[2] is 2, targets [7] have 1 left");
  refused(
      [&] {
        ctc_loss(p, flat(), kLengths, {4, 1, 1});
      },
      "target_lengths add up to 6, targets have 7");
  refused(
      [&] {
        ctc_loss(p, padded(), kLengths, {4, 3, 1});
      },
      "target 0 at place 2 of batch entry 1 is the blank");
  refused([&] { ctc_loss(p, padded() + 1, kLengths, kTargetLengths); },
          "target 4 at place 3 of batch entry 0 is no class: there are 4");
  refused(
      [&] {
        ctc_loss(p, padded(), {7, 4}, kTargetLengths);
      },
      "needs 3 input_lengths and target_lengths, got 2 and 3");
  refused([&] { ctc_loss(p, padded(), kLengths, kTargetLengths, 4); }, "blank must be in [0, 4)");
  refused([&] { ctc_loss(p, padded().to(kD), kLengths, kTargetLengths); }, "int64 or int32");
  refused([&] { ctc_loss(p[0][0], padded(), kLengths, kTargetLengths); }, "[T, N, C] or [T, C]");
}

}  // namespace
}  // namespace wick
