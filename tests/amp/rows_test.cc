// 16-bit rows of elementwise ops against the reference loops: every bit pattern, every layout.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/ops/op_info.h"
#include "tests/amp/targets.h"

namespace wick {
namespace {

using test::bits;
using test::each_target;
using test::Restore;

template <class F>
void same_bits(const char* name, F&& f) {
  for (DType t : {DType::kBF16, DType::kF16}) {
    std::vector<uint16_t> want;
    {
      ReferenceKernelsScope reference;
      want = bits(f(t));
    }
    ASSERT_FALSE(want.empty());
    each_target([&](const char* target) {
      for (int threads : {1, 2}) {
        set_num_threads(threads);
        const auto got = bits(f(t));
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i) {
          ASSERT_EQ(got[i], want[i])
              << name << " " << dtype_name(t) << " " << target << " element " << i;
        }
      }
    });
  }
}

Tensor every_pattern(DType t) {
  static const std::vector<uint16_t> patterns = [] {
    std::vector<uint16_t> all(1 << 16);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    return all;
  }();
  return from_blob(const_cast<uint16_t*>(patterns.data()), {1 << 16}, t).clone();
}

struct Unary {
  const char* name;
  Tensor (*f)(const Tensor&);
};
#define WICK_CASE(name)                            \
  Unary {                                          \
    #name, [](const Tensor& x) { return name(x); } \
  }
const Unary kUnary[] = {
    WICK_CASE(relu),
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.3); }},
    {"elu", [](const Tensor& x) { return elu(x, 0.7); }},
    WICK_CASE(sigmoid),
    WICK_CASE(tanh),
    WICK_CASE(gelu),
    {"gelu tanh", [](const Tensor& x) { return gelu(x, true); }},
    WICK_CASE(silu),
    WICK_CASE(hardswish),
    WICK_CASE(hardsigmoid),
    WICK_CASE(softplus),
    WICK_CASE(exp),
    WICK_CASE(log),
    WICK_CASE(sqrt),
    WICK_CASE(reciprocal),
    WICK_CASE(erf),
    WICK_CASE(erfc),
    WICK_CASE(sin),
    WICK_CASE(cos),
    WICK_CASE(tan),
    WICK_CASE(asin),
    WICK_CASE(acos),
    WICK_CASE(atan),
    WICK_CASE(sinh),
    WICK_CASE(cosh),
    WICK_CASE(asinh),
    WICK_CASE(acosh),
    WICK_CASE(atanh),
    WICK_CASE(neg),
    WICK_CASE(abs),
    WICK_CASE(floor),
    WICK_CASE(ceil),
    WICK_CASE(round),
    WICK_CASE(sign),
    WICK_CASE(log1p),
    WICK_CASE(expm1),
    WICK_CASE(log2),
    WICK_CASE(log10),
    {"clamp", [](const Tensor& x) { return clamp(x, -0.75, 2.5); }},
};
#undef WICK_CASE

TEST(HalfRows, UnaryOpsOnEveryPattern) {
  for (const Unary& u : kUnary) {
    same_bits(u.name, [&](DType t) { return u.f(every_pattern(t)); });
  }
}

// Steps of 1, 2 and 0, rows that end within a block, in place.
TEST(HalfRows, UnaryOpsOnEveryLayout) {
  manual_seed(1);
  const Tensor x = randn({37, 1100});
  const auto all = [&](DType t) {
    const Tensor h = x.to(t);
    std::vector<Tensor> made = {exp(h),
                                exp(h.t()),
                                exp(h.slice(1, 3, 1099, 2)),
                                gelu(h.slice(0, 5, 6).expand({9, 1100})),
                                gelu(h.slice(1, 7, 8).expand({37, 50})),
                                h.clone().exp_()};
    for (Tensor& m : made) m = m.reshape({-1});
    return cat(made);
  };
  same_bits("layouts", all);
}

TEST(HalfRows, BinaryOpsOnEveryLayoutAndSpecials) {
  manual_seed(2);
  Tensor a = randn({37, 700}) * 20, b = randn({37, 700}) * 20;
  const float inf = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f, -0.0f, inf,    -inf, std::nanf(""), 1e-7f,
                           6e4f, 3e38f, 1e-39f, 1.0f, -1.0f,         0.5f};
  for (size_t i = 0; i < std::size(special); ++i) {
    for (size_t j = 0; j < std::size(special); ++j) {
      a.mutable_data<float>()[i * std::size(special) + j] = special[i];
      b.mutable_data<float>()[i * std::size(special) + j] = special[j];
    }
  }
  using Two = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<const char*, Two> ops[] = {
      {"add", [](const Tensor& x, const Tensor& y) { return x + y; }},
      {"sub", [](const Tensor& x, const Tensor& y) { return x - y; }},
      {"mul", [](const Tensor& x, const Tensor& y) { return x * y; }},
      {"div", [](const Tensor& x, const Tensor& y) { return x / y; }},
      {"pow", [](const Tensor& x, const Tensor& y) { return pow(x, y); }},
      {"max", [](const Tensor& x, const Tensor& y) { return maximum(x, y); }},
      {"min", [](const Tensor& x, const Tensor& y) { return minimum(x, y); }}};
  for (const auto& [name, f] : ops) {
    same_bits(name, [&, op = f](DType t) {
      const Tensor x = a.to(t), y = b.to(t);
      std::vector<Tensor> made = {
          op(x, y),
          op(x, y.slice(0, 3, 4)),
          op(x.slice(1, 5, 6), y),
          op(x, full({}, 0.37, t)),
          op(x.slice(1, 0, 37).t(), y.slice(1, 1, 75, 2)),
          op(x.slice(0, 0, 1).expand({4, 700}), y.slice(1, 2, 3).slice(0, 0, 4))};
      for (Tensor& m : made) m = m.reshape({-1});
      return cat(made);
    });
  }
  same_bits("in place", [&](DType t) {
    Tensor x = a.to(t).clone(), y = b.to(t);
    x.add_(y);
    x.mul_(y.slice(0, 0, 1));
    return x;
  });
}

TEST(HalfRows, WhereOnEveryLayout) {
  manual_seed(4);
  const Tensor x = randn({19, 300}), y = randn({19, 300});
  const auto all = [&](DType t) {
    const Tensor a = x.to(t), b = y.to(t), c = gt(x, y), zero = full({}, 0, t);
    std::vector<Tensor> made = {where(c, a, b),
                                where(c, a, zero),
                                where(c, zero, b.slice(0, 3, 4)),
                                where(c.slice(0, 2, 3), a, b.slice(1, 5, 6)),
                                where(c.slice(1, 4, 5), a, b),
                                where(c.t(), a.t(), b.t()),
                                where(c.slice(1, 0, 300, 2), a.slice(1, 1, 300, 2), zero)};
    for (Tensor& m : made) m = m.reshape({-1});
    return cat(made);
  };
  same_bits("where", all);
  Tensor want;
  for (DType t : {DType::kF32, DType::kI32}) {
    {
      ReferenceKernelsScope reference;
      want = all(t);
    }
    each_target([&](const char* target) {
      const Tensor got = all(t);
      EXPECT_EQ(memcmp(got.data_ptr(), want.data_ptr(), static_cast<size_t>(want.numel()) * 4), 0)
          << dtype_name(t) << " " << target;
    });
  }
}

// In a chain each step is rounded as the op alone is: in gradient formulas, and for float16, too.
TEST(HalfRows, GradientsInOnePassAreTheirOps) {
  Restore restore;
  for (DType t : {DType::kBF16, DType::kF16}) {
    for (const Unary& u : kUnary) {
      const auto gradient = [&](bool create_graph) {
        Tensor leaf = every_pattern(t).requires_grad_();
        const Tensor g = flip(every_pattern(t), {0});
        return bits(grad({u.f(leaf)}, {leaf}, {g}, create_graph, create_graph)[0]);
      };
      set_num_threads(1);
      const auto want = gradient(true);
      for (int threads : {1, 2}) {
        set_num_threads(threads);
        const auto got = gradient(false);
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i], want[i]) << u.name << " " << dtype_name(t) << " of pattern " << i;
        }
      }
    }
  }
}

// The kernels of calls that read or write 16-bit floats.
struct Kernels : TraceHook {
  std::vector<std::string> seen;
  void on_op(const TraceEvent& e) override {
    bool half = false;
    for (const TensorView& v : e.in) half = half || (is_float(v.dtype) && dtype_size(v.dtype) == 2);
    for (const TensorView& v : e.out)
      half = half || (is_float(v.dtype) && dtype_size(v.dtype) == 2);
    if (half) seen.emplace_back(e.kernel);
  }
};

// A training step of a GPT and a CNN under autocast uses no reference loop over 16-bit numbers.
TEST(HalfRows, ATrainingStepHasNoReferenceLoops) {
  manual_seed(3);
  nn::GPT gpt({.vocab_size = 19,
               .embed_dim = 16,
               .num_layers = 1,
               .num_heads = 2,
               .max_seq_len = 8,
               .dropout = 0.1});
  nn::Sequential cnn(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Flatten(), nn::Dropout(0.1), nn::Linear(36, 3));
  const Tensor tokens = randint(0, 19, {2, 8}), images = randn({2, 1, 8, 8});
  for (DType t : {DType::kBF16, DType::kF16}) {
    Kernels kernels;
    set_trace_hook(&kernels);
    for (bool text : {false, true}) {
      Tensor loss;
      {
        AutocastScope scope(t);
        loss = text ? cross_entropy(gpt(tokens).flatten(0, 1), tokens.flatten())
                    : cross_entropy(cnn(images), randint(0, 3, {2}));
      }
      loss.backward();
    }
    set_trace_hook(nullptr);
    int fast = 0;
    for (const std::string& k : kernels.seen) {
      fast += k.find(".16.") != std::string::npos ? 1 : 0;
      EXPECT_FALSE(k.ends_with(".ref")) << k;
    }
    EXPECT_GT(fast, 20);
  }
}

}  // namespace
}  // namespace wick
