// In-place writes: which are recorded, which are refused, versions, and histories through views.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/support/error_of.h"
#include "trainer/tensor/inplace.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using Doubles = std::vector<double>;

Tensor doubles(const Shape& shape, uint64_t seed = 1) {
  manual_seed(seed);
  return rand(shape, DType::kF64) + 0.5;
}

void expect_gradcheck(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                      const Shape& x = {3, 4}, const Shape& w = {3, 4}) {
  GradcheckOptions options;
  options.second_order = true;
  auto r = gradcheck(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0] * 1.0, in[1])}; },
      {doubles(x, 3).requires_grad_(), doubles(w, 4).requires_grad_()}, options);
  EXPECT_TRUE(r.ok) << r.message;
}

TEST(InPlace, EveryBasicWriteIsRecorded) {
  expect_gradcheck([](const Tensor& x, const Tensor& w) { return exp(x.add_(w, 2)); });
  expect_gradcheck([](const Tensor& x, const Tensor& w) { return x.mul_(w).mul_(w); });
  expect_gradcheck([](const Tensor& x, const Tensor& w) { return x.sub_(w).mul_(3) * x; });
  expect_gradcheck([](const Tensor& x, const Tensor& w) { return x.div_(w).add_(1.5); });
  expect_gradcheck([](const Tensor& x, const Tensor& w) { return x.copy_(w * w); });
  expect_gradcheck([](const Tensor& x, const Tensor& w) {
    return in_place("exp_", x, [](const Arg& a) { return exp(a); }) * w;
  });
  // the operand is needed in its own gradient: the bytes before the write are what counts
  expect_gradcheck([](const Tensor& x, const Tensor& w) {
    in_place("square_", x, [](const Arg& a) { return mul(a, a); });
    return x * w;
  });
}

TEST(InPlace, AnOverwrittenTensorStillRequiresGradAndPassesNone) {
  Tensor x = doubles({3}).requires_grad_();
  Tensor y = x * 2;
  y.fill_(4);
  EXPECT_TRUE(y.requires_grad());
  (y * y).sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Doubles{0, 0, 0}));
  Tensor z = x * 2;
  z.zero_();
  EXPECT_TRUE(z.requires_grad());
}

TEST(InPlace, ATensorStartsToRequireGradWhenOneIsWrittenIn) {
  Tensor x = doubles({4}).requires_grad_(), base = zeros({3, 4}, DType::kF64);
  Tensor before = base.select(0, 1), other = base.select(0, 0);
  EXPECT_FALSE(before.requires_grad());
  base.select(0, 1).copy_(x * 3);
  EXPECT_TRUE(base.requires_grad());
  EXPECT_TRUE(before.requires_grad());
  (before * before).sum().backward(Tensor(), true);
  for (int i = 0; i < 4; ++i)
    EXPECT_DOUBLE_EQ(x.grad().to_vector<double>()[i], 18 * x.detach().to_vector<double>()[i]);
  x.set_grad(Tensor());
  other.sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Doubles{0, 0, 0, 0}));
}

TEST(InPlace, ThroughViews) {
  expect_gradcheck([](const Tensor& x, const Tensor& w) {  // the sentence of the design
    x.select(1, 0).add_(1);
    Tensor t = x.t();
    in_place("relu_", t, [](const Arg& a) { return relu(a); });
    return x * w;
  });
  expect_gradcheck([](const Tensor& x, const Tensor& w) {  // siblings that overlap
    Tensor a = x.narrow(1, 0, 3), b = x.narrow(1, 1, 3);
    a.mul_(w.narrow(1, 1, 3));
    b.mul_(a.clone());  // a itself changes with b
    return a * 2 + b * w.narrow(1, 0, 3) + x.narrow(1, 1, 3);
  });
  expect_gradcheck([](const Tensor& x, const Tensor& w) {  // the base, then a view taken before
    Tensor v = x.t().slice(0, 3, -5, -2).reshape({2, 3});
    x.mul_(w);
    v.add_(w.narrow(0, 0, 2).narrow(1, 0, 3));
    return v * v + x.sum();
  });
  expect_gradcheck([](const Tensor& x, const Tensor& w) {  // views of views of views
    Tensor a = x.unsqueeze(0), b = a.transpose(1, 2), c = b.select(0, 0), d = c.select(0, 2);
    d.mul_(w.select(1, 0));
    c.narrow(0, 1, 2).mul_(2);
    return a.mul_(w.unsqueeze(0)) + b.sum() + d.sum();
  });
  expect_gradcheck([](const Tensor& x, const Tensor& w) {  // strides, and an expanded dimension
    diagonal(x).mul_(w.select(0, 0).narrow(0, 0, 3));
    x.unsqueeze(0).expand({5, 3, 4}).select(0, 2).mul_(w);
    return x * x;
  });
}

TEST(InPlace, Refusals) {
  Tensor w = doubles({2, 3}).requires_grad_();
  auto add_one = [](const Tensor& t) { return [t] { t.add_(1); }; };
  EXPECT_NE(error_of(add_one(w)).find("a leaf that requires grad cannot be modified"),
            std::string::npos);
  EXPECT_NE(error_of(add_one(w.t())).find("a view of a leaf that requires grad cannot be modified"),
            std::string::npos);
  Tensor h = w * 2, quiet;
  {
    NoGrad guard;
    quiet = h.select(0, 0);
  }
  EXPECT_NE(error_of(add_one(quiet)).find("the view was taken under NoGrad"), std::string::npos);
  EXPECT_NE(error_of(add_one(ones({1, 3}).expand({2, 3}))).find("a single memory location"),
            std::string::npos);
  EXPECT_NE(error_of(add_one(ones({5}).unfold(0, 3, 1))).find("a single memory location"),
            std::string::npos);
  ones({6}).unfold(0, 3, 3).add_(1);
  EXPECT_NE(error_of([] {
              ones({2}, DType::kI64).add_(1.5);
            }).find("result type float32 can't be cast to the desired output type int64"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              ones({3}).add_(ones({2, 3}));
            }).find("a target of shape [3] cannot hold the result's shape [2,3]"),
            std::string::npos);
  EXPECT_EQ(ones({2}, DType::kI64).add_(2).to_vector<int64_t>(), (std::vector<int64_t>{3, 3}));
}

TEST(InPlace, VersionsAreSharedByViewsAndDetach) {
  Tensor x = zeros({2, 3});
  Tensor v = x.select(0, 0), d = x.detach();
  x.add_(1);
  EXPECT_EQ(v.version(), 1u);
  v.mul_(2);
  d.zero_();
  EXPECT_EQ(x.version(), 3u);
  x.unsafe_data();
  EXPECT_EQ(x.version(), 4u);
  EXPECT_STREQ(x.storage().last_write(), "unsafe_data");
}

TEST(InPlace, AWriteAfterSaveNamesBothLinesAndLeavesGradientsAlone) {
  Tensor x = ones({2, 3}).requires_grad_(), w = ones({2, 3}).requires_grad_();
  Tensor h = (x * 2).named("h");
  const int mul_line = __LINE__ + 1;
  Tensor y = h * w;
  const int add_line = __LINE__ + 1;
  h.add_(1);
  std::string line = ", or clone() before line " + std::to_string(add_line) + ".";
  EXPECT_EQ(error_of([&] { (y.sum() + (x * 5).sum()).backward(); }),
            "mul (inplace_test.cc:" + std::to_string(mul_line) +
                ") saved value 'h' [2,3] f32 at version 0; add_ at inplace_test.cc:" +
                std::to_string(add_line) + " made it version 1. Use add()" + line);
  EXPECT_FALSE(w.grad().defined());
  EXPECT_FALSE(x.grad().defined());
}

// Random programs of views and writes, beside the same program in a functional form: every write
// makes a new base by index arithmetic on plain vectors of tensors.
TEST(InPlace, RandomProgramsOfViewsAndWrites) {
  constexpr int kRows = 3, kColumns = 4;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    auto program = [seed](const Tensor& leaf, bool functional) {
      std::mt19937 random(seed);
      Tensor base = leaf * 1.0;
      // elements[k]: a 0-dim tensor, the functional form of base
      std::vector<Tensor> elements;
      for (int k = 0; k < kRows * kColumns; ++k)
        elements.push_back(base.reshape({-1}).select(0, k).clone());
      std::vector<std::pair<Tensor, Tensor>> views;  // the view; the numbers of its elements
      Tensor numbers = arange(kRows * kColumns).reshape({kRows, kColumns});
      views.emplace_back(base, numbers);
      for (int step = 0; step < 10; ++step) {
        auto [v, n] = views[random() % views.size()];
        int how = static_cast<int>(random() % 6);
        uint32_t pick = random();
        auto look = [&](const Tensor& t) -> Tensor {
          int d = t.rank() == 0 ? 0 : static_cast<int>(pick % static_cast<uint32_t>(t.rank()));
          if (how == 0) return t.T();
          if (how == 1 && t.rank() > 0)
            return t.select(d, static_cast<int>(pick / 7) % t.raw_shape()[d]);
          if (how == 2 && t.rank() > 0) return t.slice(d, t.raw_shape()[d] - 1, -100, -2);
          if (how == 3 && t.rank() > 0 && t.is_contiguous()) return t.view({-1});
          return t.unsqueeze(0);
        };
        if (how < 4 && v.rank() < 5) {
          views.emplace_back(look(v), look(n));
          continue;
        }
        double c = 0.5 + static_cast<double>(pick % 8) / 8;
        std::vector<int64_t> at = n.contiguous().to_vector<int64_t>();
        if (how == 4) {
          if (functional) {
            for (int64_t k : at) elements[k] = elements[k] * elements[k] * c;
          } else {
            in_place("square_", v, [&](const Arg& a) { return mul(a, a) * c; });
          }
        } else if (functional) {
          Tensor total = elements[0];
          for (size_t k = 1; k < elements.size(); ++k) total = total + elements[k];
          for (int64_t k : at) elements[k] = elements[k] * c + total;
        } else {
          Tensor total = base.sum();
          v.mul_(c).add_(total);
        }
      }
      auto bounded = [](const Tensor& t) { return t / (t * t + 1); };  // products grow quickly
      Tensor out = zeros({}, DType::kF64);
      for (size_t i = 0; i < views.size(); ++i) {  // views are read after all writes
        double scale = 1 + static_cast<double>(i) / 4;
        if (functional) {
          for (int64_t k : views[i].second.contiguous().to_vector<int64_t>())
            out = out + bounded(elements[k]) * scale;
        } else {
          out = out + sum(bounded(views[i].first)) * scale;
        }
      }
      return out;
    };
    Tensor a = (doubles({kRows, kColumns}, seed + 1) * 0.1).detach().requires_grad_();
    Tensor b = a.detach().clone().requires_grad_();
    Tensor x = program(a, false), y = program(b, true);
    ASSERT_NEAR(x.item(), y.item(), 1e-9 * (1 + std::abs(y.item()))) << seed;
    x.backward();
    y.backward();
    Doubles got = a.grad().to_vector<double>(), want = b.grad().to_vector<double>();
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], want[k], 1e-8 * (1 + std::abs(want[k]))) << "seed " << seed;
  }
}

TEST(InPlace, ReshapedInPlaceKeepsOtherViewsRight) {
  expect_gradcheck([](const Tensor& x, const Tensor& w) {
    Tensor v = x.select(0, 1);
    x.t_();
    EXPECT_EQ(x.raw_shape(), (Shape{4, 3}));
    x.mul_(w.t());
    x.select(0, 2).mul_(3);
    return v * v;
  });
  Tensor y = arange(6).set_shape({2, 3});
  EXPECT_EQ(y.raw_shape(), (Shape{2, 3}));
  EXPECT_FALSE(y.is_view());
}

// 100,000 views of views: neither reading the history nor freeing them may recurse.
TEST(InPlace, ALongChainOfViews) {
  Tensor base = doubles({2, 3}).requires_grad_() * 2, v = base;
  for (int i = 0; i < 100000; ++i) v = v.t();
  base.mul_(3);
  EXPECT_TRUE(v.requires_grad());
}

}  // namespace
}  // namespace wick
