// flash_attention() beside the exact function: values and gradients within the stated bounds, every
// tile, and memory that grows with the tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "trainer/capture/capture.h"
#include "trainer/nn/flash_attention.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using nn::flash_attention;
using test::error_of;
using ::testing::HasSubstr;

struct Case {
  Shape leading;
  int64_t rows, columns, e, ev, tile;
  bool causal;
};
const Case kCases[] = {
    {{}, 1, 1, 4, 4, 256, false},         {{2, 3}, 9, 9, 5, 5, 4, false},
    {{2, 3}, 9, 9, 5, 5, 4, true},        {{4}, 33, 70, 8, 3, 16, false},
    {{4}, 70, 33, 8, 3, 16, true},        {{1, 2}, 130, 130, 16, 16, 1000, true},
    {{1, 2}, 130, 130, 16, 16, 64, true}, {{2}, 12, 40, 6, 6, 1, true},
};

Shape with(const Shape& leading, int64_t rows, int64_t size) {
  Shape s = leading;
  s.push_back(rows);
  s.push_back(size);
  return s;
}

struct Inputs {
  Tensor q, k, v, g;
};
Inputs inputs_of(const Case& c, double spread, DType dtype) {
  manual_seed(11);
  return {randn(with(c.leading, c.rows, c.e)).to(dtype) * spread,
          randn(with(c.leading, c.columns, c.e)).to(dtype) * spread,
          randn(with(c.leading, c.columns, c.ev)).to(dtype),
          randn(with(c.leading, c.rows, c.ev)).to(dtype)};
}

// The result and the three gradients, of f(q, k, v).
template <class F>
std::vector<Tensor> answers(const Inputs& in, const F& f) {
  const Tensor q = in.q.clone().requires_grad_(), k = in.k.clone().requires_grad_(),
               v = in.v.clone().requires_grad_();
  const Tensor y = f(q, k, v);
  y.backward(in.g);
  return {y.detach(), q.grad(), k.grad(), v.grad()};
}

// docs/numerics.md, "Attention in tiles": n roundings, and the magnitudes that they are shares of.
struct Bounds {
  std::vector<Tensor> of;  // of the result and the three gradients, in float64
};
Bounds bounds_of(const Case& c, const Inputs& in) {
  const Tensor q = in.q.to(DType::kF64), k = in.k.to(DType::kF64), v = in.v.to(DType::kF64),
               g = in.g.to(DType::kF64);
  const double scale = 1 / std::sqrt(static_cast<double>(c.e));
  Tensor s = matmul(q, k.transpose(-2, -1)) * scale;
  Tensor seen = ones(s.raw_shape(), DType::kBool);
  if (c.causal)
    seen = le(arange(c.columns).unsqueeze(0), arange(c.rows).unsqueeze(1)).expand(s.raw_shape());
  const Tensor masked = where(seen, s, full({}, -INFINITY, DType::kF64));
  const Tensor w = softmax(masked, -1);
  const double range =
      max(where(seen, amax(masked, {-1}, true) - s, zeros({}, DType::kF64))).item();
  const double score = max(matmul(abs(q), abs(k).transpose(-2, -1)) * scale).item();
  const double tiles = static_cast<double>((c.columns + c.tile - 1) / c.tile);
  const double sums = static_cast<double>(c.columns + c.e + c.ev + c.rows);
  const double n =
      (sums + 6 * tiles + range + 10 + (static_cast<double>(c.e) + 2) * score) * 0x1p-24;
  const Tensor own = sum(abs(g) * matmul(w, abs(v)), {-1}, true);
  const Tensor ds = w * (matmul(abs(g), abs(v).transpose(-2, -1)) + own);
  return {{matmul(w, abs(v)) * (4 * n), matmul(ds, abs(k)) * (scale * 8 * n),
           matmul(ds.transpose(-2, -1), abs(q)) * (scale * 8 * n),
           matmul(w.transpose(-2, -1), abs(g)) * (4 * n)}};
}

TEST(FlashAttention, StaysWithinItsBoundOfExactAttention) {
  double worst = 0;
  for (const Case& c : kCases) {
    for (double spread : {0.3, 1.0, 3.0}) {
      const Inputs in = inputs_of(c, spread, DType::kF32);
      const auto ours = answers(in, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return flash_attention(q, k, v, {.is_causal = c.causal, .tile = c.tile});
      });
      const auto exact = answers(in, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return scaled_dot_product_attention(q, k, v, Tensor(), 0, c.causal);
      });
      const Bounds bounds = bounds_of(c, in);
      for (size_t i = 0; i < ours.size(); ++i) {
        const Tensor apart = abs(ours[i].to(DType::kF64) - exact[i].to(DType::kF64));
        const Tensor share = apart / (bounds.of[i] + 1e-300);
        EXPECT_LE(max(share).item(), 1) << "case " << &c - kCases << ", answer " << i;
        worst = std::max(worst, max(share).item());
      }
    }
  }
  EXPECT_GT(worst, 1e-3) << "the bound says nothing";
  RecordProperty("worst_share", std::to_string(worst));
}

// In float64 both are right to some 1e-13: another formula would not be.
TEST(FlashAttention, IsAttention) {
  for (const Case& c : kCases) {
    const Inputs in = inputs_of(c, 1, DType::kF64);
    const auto ours = answers(in, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return flash_attention(q, k, v, {.is_causal = c.causal, .scale = 0.3, .tile = c.tile});
    });
    const auto exact = answers(in, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return scaled_dot_product_attention(q, k, v, Tensor(), 0, c.causal, 0.3);
    });
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_LE(max(abs(ours[i] - exact[i])).item(), 1e-12) << "case " << &c - kCases;
  }
}

TEST(FlashAttention, GradientsOfBothOrders) {
  const Case c = {{2}, 5, 6, 3, 2, 2, true};
  const Inputs in = inputs_of(c, 1, DType::kF64);
  const auto f = [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{flash_attention(x[0], x[1], x[2], {.is_causal = true, .tile = 2})};
  };
  const std::vector<Tensor> leaves = {in.q.requires_grad_(), in.k.requires_grad_(),
                                      in.v.requires_grad_()};
  const GradcheckResult first = gradcheck(f, leaves), second = gradgradcheck(f, leaves);
  EXPECT_TRUE(first.ok) << first.message;
  EXPECT_TRUE(second.ok) << second.message;
}

// The second gradient of one tensor as all three, and of inputs that are made of each other.
TEST(FlashAttention, SecondGradientsOfInputsThatBelongTogether) {
  manual_seed(5);
  const Tensor leaf = randn({2, 5, 4}).to(DType::kF64).requires_grad_(),
               g = randn({2, 5, 4}).to(DType::kF64);
  const auto second = [&](const auto& attention, bool same) {
    const Tensor k = same ? leaf : sin(leaf), v = same ? leaf : exp(k);
    const Tensor first = grad({attention(leaf, k, v)}, {leaf}, {g}, true, true)[0];
    return grad({sum(first * first)}, {leaf})[0];
  };
  for (bool same : {true, false}) {
    const Tensor ours =
        second([](const Tensor& q, const Tensor& k,
                  const Tensor& v) { return flash_attention(q, k, v, {.tile = 2}); },
               same);
    const Tensor exact =
        second([](const Tensor& q, const Tensor& k,
                  const Tensor& v) { return scaled_dot_product_attention(q, k, v); },
               same);
    EXPECT_LE(max(abs(ours - exact)).item(), 1e-10) << same;
  }
}

// J v beside the exact function's: forward mode has inputs without a history.
TEST(FlashAttention, ForwardMode) {
  const Inputs in = inputs_of({{2}, 5, 6, 3, 4, 2, true}, 1, DType::kF64);
  const std::vector<Tensor> x = {in.q, in.k, in.v};
  const std::vector<Tensor> along = {sin(in.q * 3.0), sin(in.k * 5.0), sin(in.v * 7.0)};
  const auto ours = jvp(
      [](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{
            flash_attention(t[0], t[1], t[2], {.is_causal = true, .tile = 2})};
      },
      x, along);
  const auto exact = jvp(
      [](const std::vector<Tensor>& t) {
        return std::vector<Tensor>{
            scaled_dot_product_attention(t[0], t[1], t[2], Tensor(), 0, true)};
      },
      x, along);
  EXPECT_LE(max(abs(ours.first[0] - exact.first[0])).item(), 1e-12);
  EXPECT_GT(max(abs(ours.second[0])).item(), 0.1);
  EXPECT_LE(max(abs(ours.second[0] - exact.second[0])).item(), 1e-12);
}

// Autocast joins the dtypes of q, k and v as those of scaled_dot_product_attention(); gradients
// arrive in the dtypes of the leaves, and the next function takes the result.
TEST(FlashAttention, AutocastJoinsDtypes) {
  manual_seed(9);
  const std::vector<Tensor> values = {randn({2, 40, 16}), randn({2, 40, 16}), randn({2, 40, 8})};
  for (DType low : {DType::kBF16, DType::kF16}) {
    const DType other = low == DType::kBF16 ? DType::kF16 : DType::kBF16;
    const DType kinds[][3] = {{DType::kF32, DType::kF32, DType::kF32},
                              {low, DType::kF32, low},
                              {DType::kF32, low, other},
                              {low, low, low}};
    for (const auto& kind : kinds) {
      const auto run = [&](const auto& attention) {
        std::vector<Tensor> leaves, out;
        for (size_t i = 0; i < 3; ++i)
          leaves.push_back(values[i].to(kind[i]).clone().requires_grad_());
        Tensor y;
        {
          AutocastScope scope(low);
          y = attention(leaves[0], leaves[1], leaves[2]);
          EXPECT_EQ(y.dtype(), low);
          sum(matmul(y, transpose(y, -2, -1))).backward();  // within the scope
        }
        out.push_back(y.detach());
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(leaves[i].grad().dtype(), kind[i]);
          out.push_back(leaves[i].grad());
        }
        return out;
      };
      const auto ours = run([](const Tensor& q, const Tensor& k, const Tensor& v) {
        return flash_attention(q, k, v, {.is_causal = true, .tile = 7});
      });
      const auto exact = run([](const Tensor& q, const Tensor& k, const Tensor& v) {
        return scaled_dot_product_attention(q, k, v, Tensor(), 0, true);
      });
      for (size_t i = 0; i < ours.size(); ++i) {
        const Tensor a = ours[i].to(DType::kF64), b = exact[i].to(DType::kF64);
        EXPECT_LE(norm(a - b).item(), 0.05 * norm(b).item()) << dtype_name(low) << " " << i;
      }
    }
  }
  // float64 is not cast, and so not joined.
  AutocastScope scope(DType::kBF16);
  const Tensor wide = values[0].to(DType::kF64);
  EXPECT_EQ(flash_attention(wide, wide, wide).dtype(), DType::kF64);
  EXPECT_THAT(error_of([&] { flash_attention(wide, values[0], values[0]); }),
              HasSubstr("one floating-point dtype, got float64, float32, float32"));
}

// A sum of 16 bits would stop at 256: 2,000 equal weights in tiles of 16.
TEST(FlashAttention, SumsOfSixteenBitsAreWide) {
  const int64_t n = 2000;
  for (DType t : {DType::kBF16, DType::kF16}) {
    const Tensor zero = zeros({n, 4}, t);
    const Tensor q = zero.clone().requires_grad_(), v = ones({n, 4}, t).requires_grad_();
    const Tensor y = flash_attention(q, zero, v, {.tile = 16});
    EXPECT_EQ(y.dtype(), t);
    EXPECT_EQ(max(abs(y.detach().to(DType::kF32) - 1.0)).item(), 0);
    y.backward(ones({n, 4}, t));
    EXPECT_LE(max(abs(v.grad().to(DType::kF32) - 1.0)).item(), 0.01);
  }
}

// Scores of -inf in all of a row's first tiles, as of values that a key of -inf hides.
TEST(FlashAttention, TilesOfMinusInfinityCountNothing) {
  Tensor k = ones({6, 1});
  k.slice(0, 0, 4).fill_(-INFINITY);
  const Tensor q = ones({3, 1}), v = arange(6).to(DType::kF32).unsqueeze(1);
  const Tensor y = flash_attention(q, k, v, {.tile = 2});
  EXPECT_EQ(max(abs(y - 4.5)).item(), 0);
  EXPECT_EQ(max(abs(y - scaled_dot_product_attention(q, k, v))).item(), 0);
}

struct Attends : nn::Module {
  Tensor forward(const Arg& x) override {
    return flash_attention(x, x.tensor, x.tensor, {.is_causal = true, .tile = 4});
  }
};

// A capture compares its graph with the module by bits, at batches of several sizes. A time that is
// free would need another number of tiles at each size, which no graph has.
TEST(FlashAttention, IsCapturedWhereTheTokensAreFixed) {
  manual_seed(3);
  Attends module;
  module.eval();
  const Tensor x = randn({2, 10, 4});
  EXPECT_EQ(error_of([&] { capture(module, {{"x", x, {{0, "batch", 1, 8}}}}); }), "no error");
  EXPECT_NE(error_of([&] { capture(module, {{"x", x, {{1, "time", 1, 64}}}}); }), "no error");
}

TEST(FlashAttention, BitsDoNotDependOnThreads) {
  const Case c = {{3}, 200, 200, 16, 16, 64, true};
  const Inputs in = inputs_of(c, 1, DType::kF32);
  const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return flash_attention(q, k, v, {.is_causal = true, .tile = c.tile});
  };
  const int threads = num_threads();
  const auto alone = answers(in, f);
  set_num_threads(3);
  const auto three = answers(in, f);
  set_num_threads(threads);
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_EQ(memcmp(alone[i].raw().data, three[i].raw().data, alone[i].raw().nbytes()), 0) << i;
}

TEST(FlashAttention, LargeScoresDoNotOverflow) {
  const Tensor q = full({4, 8}, 100), k = full({4, 8}, 100), v = randn({4, 8});
  const Tensor y = flash_attention(q, k, v, {.tile = 2});
  EXPECT_TRUE(all(isfinite(y)).item() != 0);
  EXPECT_LE(max(abs(y - mean(v, {0}, true))).item(), 1e-6);
}

// Bytes beyond the inputs at the peak of a forward and a backward.
template <class F>
int64_t peak_of(int64_t tokens, const F& f) {
  const int64_t e = 16;
  manual_seed(1);
  Tensor q = randn({tokens, e}).requires_grad_(), k = randn({tokens, e}).requires_grad_(),
         v = randn({tokens, e}).requires_grad_();
  const Tensor g = randn({tokens, e});
  const auto before = static_cast<int64_t>(live_bytes());
  reset_peak_bytes();
  f(q, k, v).backward(g);
  return static_cast<int64_t>(peak_bytes()) - before;
}

// P6-p5: 4,096, 8,192 and 16,384 tokens take as much memory a token; the exact function's weights
// alone take 4 n^2 bytes.
TEST(FlashAttention, PeakBytesGrowWithTheTokens) {
  const auto flash = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return flash_attention(q, k, v, {.is_causal = true});
  };
  const int64_t tile = 256 * 256 * 4;
  int64_t before = 0;
  for (int64_t tokens : {4096, 8192, 16384}) {
    const int64_t peak = peak_of(tokens, flash);
    // ten arrays of the size of q, the two numbers a row, and some tiles
    EXPECT_LT(peak, tokens * (10 * 16 + 4) * 4 + 6 * tile) << tokens;
    if (before > 0) {
      EXPECT_LT(peak, 2 * before) << tokens;
    }
    before = peak;
    RecordProperty("peak_" + std::to_string(tokens), std::to_string(peak));
  }
  const int64_t exact = peak_of(2048, [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, Tensor(), 0, true);
  });
  EXPECT_GT(exact, int64_t{2048} * 2048 * 4);
}

TEST(FlashAttention, RefusesWhatDoesNotFit) {
  const Tensor x = ones({2, 4, 8});
  EXPECT_THAT(error_of([&] {
                flash_attention(x, ones({2, 4, 7}), x);
              }),
              HasSubstr("[flash_attention] needs q[..., L, E]"));
  EXPECT_THAT(error_of([&] {
                flash_attention(x, ones({3, 4, 8}), x);
              }),
              HasSubstr("equal leading sizes"));
  EXPECT_THAT(error_of([&] { flash_attention(x, x.to(DType::kF64), x); }),
              HasSubstr("one floating-point dtype"));
  EXPECT_THAT(error_of([&] { flash_attention(x, x, x, {.tile = 0}); }),
              HasSubstr("tile must be at least 1, got 0"));
}

}  // namespace
}  // namespace wick
