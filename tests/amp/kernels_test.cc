// 16-bit products: the bounds that the rows promise for their sums (docs/numerics.md).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/kernels/gemm/bf16_gemm.h"
#include "tests/amp/targets.h"

namespace wick {
namespace {

using test::bits;
using test::each_target;
using test::Restore;

std::vector<double> numbers(const Tensor& t) {
  return t.detach().contiguous().to(DType::kF64).to_vector<double>();
}

// The order of bf16_gemm.h as a loop.
float in_tile_order(const std::vector<double>& a, const std::vector<double>& b, int64_t i,
                    int64_t j, int64_t n, int64_t k) {
  float sum = 0;
  for (int64_t k0 = 0; k0 < k; k0 += 32) {
    float even = 0, odd = 0;
    for (int64_t kk = k0; kk < std::min(k, k0 + 32); ++kk) {
      float& chain = kk % 2 == 0 ? even : odd;
      chain = std::fma(static_cast<float>(a[static_cast<size_t>(i * k + kk)]),
                       static_cast<float>(b[static_cast<size_t>(kk * n + j)]), chain);
    }
    sum += even + odd;
  }
  return sum;
}

TEST(Bf16Products, TilesKeepTheirOrderAndTheirBound) {
  if (!bf16_tiles()) GTEST_SKIP() << "not supported by this CPU: tiles of bf16";
  manual_seed(11);
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                {3, 5, 7},
                                {16, 16, 32},
                                {33, 31, 65},
                                {70, 40, 300},
                                {1, 96, 1000},
                                {130, 1, 64}}) {
    Tensor a = randn({m, k}).to(DType::kBF16), b = randn({k, n}).to(DType::kBF16);
    Tensor bias = randn({n}).to(DType::kBF16);
    const auto x = numbers(a), y = numbers(b), plus = numbers(bias);
    const auto got = bits(matmul(a, b)), with = bits(linear(a, b.t().contiguous(), bias));
    const auto turned = bits(matmul(a.t().contiguous().t(), b.t().contiguous().t()));
    ASSERT_EQ(got, turned) << "strides do not change bits";
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const size_t at = static_cast<size_t>(i * n + j);
        const float want = in_tile_order(x, y, i, j, n, k);
        ASSERT_EQ(got[at], BFloat16(want).bits) << m << " " << n << " " << k;
        ASSERT_EQ(with[at], BFloat16(want + static_cast<float>(plus[static_cast<size_t>(j)])).bits);
        // Against double: a step is 16 roundings a chain, one sum and one addition.
        double exact = 0, size = 0;
        for (int64_t kk = 0; kk < k; ++kk) {
          const double p = x[static_cast<size_t>(i * k + kk)] * y[static_cast<size_t>(kk * n + j)];
          exact += p, size += std::fabs(p);
        }
        const double steps = static_cast<double>((k + 31) / 32);
        const double of_sum = (17 + steps) * 0x1p-24 * size * 1.001;
        ASSERT_LE(std::fabs(static_cast<double>(want) - exact), of_sum);
        BFloat16 stored;
        stored.bits = got[at];
        const double v = static_cast<double>(static_cast<float>(stored));
        ASSERT_LE(std::fabs(v - exact), of_sum + 0x1p-8 * std::fabs(exact) + 0x1p-8 * of_sum);
      }
    }
  }
}

TEST(Bf16Products, RowsAndThreadsDoNotChangeBits) {
  Restore restore;
  manual_seed(12);
  for (DType t : {DType::kBF16, DType::kF16}) {
    Tensor a = randn({67, 130}).to(t), w = randn({75, 130}).to(t);
    Tensor q = randn({5, 9, 20}).to(t), v = randn({5, 20, 11}).to(t);
    const auto whole = bits(linear(a, w)), batch = bits(matmul(q, v));
    EXPECT_EQ(bits(linear(a.slice(0, 40, 41), w)),
              std::vector<uint16_t>(whole.begin() + 40 * 75, whole.begin() + 41 * 75));
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(bits(linear(a, w)), whole);
      EXPECT_EQ(bits(matmul(q, v)), batch);
    }
    set_num_threads(1);
  }
}

// Without tiles, and wherever there are none: widened, the f32 row, rounded once.
TEST(SixteenBitRows, HaveTheReferencesBits) {
  for (DType t : {DType::kBF16, DType::kF16}) {
    each_target([&](const char* target) {
      const bool tiles = t == DType::kBF16 && bf16_tiles();
      manual_seed(13);
      auto leaf = [&](const Shape& s) { return randn(s).to(t).requires_grad_(); };
      Tensor a = leaf({9, 33}), b = leaf({33, 12}), x = leaf({2, 4, 9, 9}), w = leaf({6, 4, 3, 3});
      Tensor row = leaf({1, 33}), bias = leaf({6});
      auto run = [&] {
        std::vector<std::vector<uint16_t>> got;
        Tensor y = conv2d(x, w, bias, 2, 1);
        got.push_back(bits(y));
        for (const Tensor& p : {x, w, bias}) p.set_grad(Tensor());
        y.backward(ones(y.shape()).to(t));
        for (const Tensor& p : {x, w}) got.push_back(bits(p.grad()));
        if (tiles) return got;
        got.push_back(bits(matmul(a, b)));
        got.push_back(bits(matmul(b.t(), a.t())));
        got.push_back(bits(matmul(row.expand({5, 33}), b)));
        got.push_back(bits(linear(a, b.t().contiguous())));
        return got;
      };
      const auto simd = run();
      ReferenceKernelsScope reference;
      EXPECT_EQ(simd, run()) << dtype_name(t) << " " << target;
    });
  }
}

// All 2^16 patterns up, and floats of every exponent and rounding case down.
TEST(SixteenBitRows, CastsAreTheTypesOwn) {
  std::vector<uint16_t> patterns(1 << 16);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  std::vector<float> floats;
  for (uint32_t u = 0; u < 0xFFFFF000u; u += 0x6F1) {
    floats.push_back(std::bit_cast<float>(u));
    floats.push_back(std::bit_cast<float>((u & 0xFFFF0000u) | 0x8000));  // ties
    floats.push_back(std::bit_cast<float>((u & 0xFFFFE000u) | 0x1000));
  }
  const Tensor f = from_blob(floats.data(), {static_cast<int64_t>(floats.size())}, DType::kF32);
  auto check = [&](auto kind, DType t) {
    using T = decltype(kind);
    const Tensor h = from_blob(patterns.data(), {1 << 16}, t);
    const std::vector<float> up = h.to(DType::kF32).to_vector<float>();
    for (size_t i = 0; i < up.size(); ++i) {
      T v;
      v.bits = patterns[i];
      const auto want = static_cast<float>(v);
      ASSERT_TRUE(std::bit_cast<uint32_t>(up[i]) == std::bit_cast<uint32_t>(want) ||
                  (std::isnan(up[i]) && std::isnan(want)))
          << i;
    }
    const std::vector<uint16_t> down = bits(f.to(t));
    for (size_t i = 0; i < down.size(); ++i) {
      T got;
      got.bits = down[i];
      const T want(floats[i]);
      ASSERT_TRUE(got.bits == want.bits ||
                  (std::isnan(static_cast<float>(got)) && std::isnan(static_cast<float>(want))))
          << floats[i];
    }
  };
  for_each_simd_target([&](int64_t) {
    check(BFloat16(), DType::kBF16);
    check(Half(), DType::kF16);
  });
}

}  // namespace
}  // namespace wick
