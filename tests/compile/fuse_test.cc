// Random chains of elementwise ops with row reductions, forward and backward: fused steps have the
// bits of the ops one after the other.
#include <cmath>
#include <random>

#include "tests/compile/training.h"

namespace wick {
namespace {

using test::unaudited;

// A random formula of x [rows, columns], a row vector b and a column c.
Tensor formula(uint64_t seed, const Tensor& x, const Tensor& b, const Tensor& c) {
  std::mt19937_64 r(seed);
  std::vector<Tensor> values = {x};
  const auto any = [&] { return values[r() % values.size()]; };
  for (int i = 0; i < 12; ++i) {
    const Tensor v = any();
    switch (r() % 14) {
      case 0: values.push_back(v + any()); break;
      case 1: values.push_back(v * any()); break;
      case 2: values.push_back(v - b); break;
      case 3: values.push_back(v * c); break;
      case 4: values.push_back(tanh(v)); break;
      case 5: values.push_back(sigmoid(v) * 0.5); break;
      case 6: values.push_back(v - mean(v, {1}, true)); break;
      case 7: values.push_back(v / sqrt(mean(v * v, {1}, true) + 1e-3)); break;
      case 8: values.push_back(where(gt(v, 0.1), v, any() * 0.25)); break;
      case 9: values.push_back(softmax(v, 1)); break;
      case 10: values.push_back(relu(v) - sum(any(), {1}, true) * 0.125); break;
      case 11: values.push_back(gelu(v)); break;
      case 12: values.push_back(exp(-abs(v))); break;
      default: values.push_back(layer_norm(v, {v.raw_shape()[1]}));
    }
  }
  Tensor out = values.back();
  for (size_t i = 1; i < values.size(); i += 3) out = out + values[i];
  return out;
}

TEST(CompileFuse, RandomFormulasKeepTheirBits) {
  int fused = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t columns = seed % 4 == 0 ? 7 : seed % 4 == 1 ? 33 : 64;
    const auto make = [&](bool compiled) {
      manual_seed(seed);
      const Tensor w = randn({5, columns}).requires_grad_(), b = randn({columns}).requires_grad_();
      const Tensor c = randn({5, 1});
      const auto f = [&](const Tensor& x) {
        w.set_grad({});
        b.set_grad({});
        Tensor loss = mean(formula(seed, x + w, b, c));
        loss.backward();
        return loss;
      };
      auto step = compile_step(f, unaudited());
      std::vector<Tensor> seen;
      for (int i = 0; i < 5; ++i) {
        const Tensor x = randn({5, columns});
        seen.push_back((compiled ? step(x) : f(x)).clone());
        seen.push_back(w.grad().clone());
        seen.push_back(b.grad().defined() ? b.grad().clone() : zeros({1}));
      }
      if (compiled) {
        EXPECT_EQ(step.report().repeated, 2) << seed << "\n" << step.report().text();
        fused += step.report().fused;
      }
      return test::digest(seen);
    };
    EXPECT_EQ(make(true), make(false)) << seed;
  }
  EXPECT_GT(fused, 200);
}

TEST(CompileFuse, AttentionsBackwardIsOneRowPass) {
  manual_seed(1);
  const Tensor q = randn({2, 2, 16, 8}).requires_grad_();
  const Tensor mask = tril(ones({16, 16})).to(DType::kBool);
  auto step = compile_step(
      [&](const Tensor& v) {
        q.set_grad({});
        Tensor y = sum(scaled_dot_product_attention(q, q, v, mask) * v);
        y.backward();
        return y;
      },
      unaudited());
  const Tensor v = randn({2, 2, 16, 8});
  for (int i = 0; i < 4; ++i) step(v);
  // gy = (g v^T) w; gs = gy - w sum(gy); where(mask, gs, 0): five kernels as one.
  EXPECT_GE(step.report().fused, 4) << step.report().text();
}

TEST(CompileFuse, TheGradientOfASplitIsWrittenPartByPart) {
  const auto run = [](bool compiled) {
    manual_seed(6);
    const Tensor w = randn({4, 24}).requires_grad_();
    const auto f = [&](const Tensor& x) {
      w.set_grad({});
      std::vector<Tensor> parts = split(w * 2, 8, 1), other = split(x, 8, 1);
      Tensor y = sum(parts[0] * other[0]);
      for (size_t i = 1; i < parts.size(); ++i) y = y + sum(parts[i] * other[i]);
      y.backward();
      return y;
    };
    auto step = compile_step(f, unaudited());
    std::vector<Tensor> seen;
    for (int i = 0; i < 5; ++i) {
      Tensor x = randn({4, 24});
      x.mutable_data<float>()[1] = -0.0f;  // a gradient of -0: the sum with the pads' zeros is 0
      seen.push_back((compiled ? step(x) : f(x)).clone());
      seen.push_back(w.grad().clone());
    }
    EXPECT_FALSE(std::signbit(w.grad().data<float>()[1]));
    if (compiled) {
      EXPECT_EQ(step.report().repeated, 2) << step.report().text();
      EXPECT_GE(step.report().fused, 4) << step.report().text();  // three pads and an addition
    }
    return test::digest(seen);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(CompileFuse, ProductsTakeWhatFollowsThem) {
  // FusedLinear for linear + x, then relu; its gradient; nothing in between is left.
  const auto run = [](bool fuse) {
    manual_seed(2);
    const Tensor w = randn({8, 8}).requires_grad_(), b = randn({8}).requires_grad_();
    CompileStepOptions o = unaudited();
    o.fuse = fuse;
    auto step = compile_step(
        [&](const Tensor& x) {
          w.set_grad({});
          b.set_grad({});
          Tensor y = sum(relu(linear(x, w, b) + x));
          y.backward();
          return y;
        },
        o);
    std::vector<Tensor> seen;
    for (int i = 0; i < 5; ++i) {
      seen.push_back(step(randn({4, 8})).clone());
      seen.push_back(w.grad().clone());
      seen.push_back(b.grad().clone());
    }
    EXPECT_EQ(step.report().repeated, 2) << step.report().text();
    return std::pair(test::digest(seen), step.report());
  };
  const auto [bits, fused] = run(true);
  const auto [plain_bits, plain] = run(false);
  EXPECT_EQ(bits, plain_bits);
  EXPECT_LE(fused.launches, plain.launches - 2) << fused.text() << plain.text();
}

TEST(CompileFuse, WritesBetweenKeepTheirPlace) {
  const auto run = [](bool compiled) {
    manual_seed(4);
    const Tensor state = randn({32});
    const auto f = [&](const Tensor& x) {
      NoGrad guard;
      const Tensor before = state * 2;  // reads the state before the write, is used behind it
      state.add_(x);
      return tanh(before + state) * x;
    };
    auto step = compile_step(f, unaudited());
    std::vector<Tensor> seen;
    for (int i = 0; i < 6; ++i) {
      const Tensor x = randn({32});
      seen.push_back((compiled ? step(x) : f(x)).clone());
    }
    if (compiled) {
      EXPECT_EQ(step.report().repeated, 3) << step.report().text();
    }
    seen.push_back(state);
    return test::digest(seen);
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace wick
