#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/kernels/simd.h"
#include "tests/kernels/math_table.h"

namespace wick::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

uint32_t canonical_bits(float f) {
  return std::isnan(f) ? 0x7FC00000u : std::bit_cast<uint32_t>(f);
}

// Every stride-th bit pattern, in whole multiples of 64, plus the values where functions change
// branch.
std::vector<float> sample(uint64_t stride) {
  std::vector<float> x;
  for (float v : {0.0f,
                  0.25f,
                  0.5f,
                  0.625f,
                  0.9f,
                  1.0f,
                  2.0f,
                  0.785398f,
                  88.72284f,
                  87.33655f,
                  103.97208f,
                  126.0f,
                  128.0f,
                  149.5f,
                  4.0f,
                  14.2f,
                  65536.0f,
                  16384.0f,
                  0x1p24f,
                  0x1p-126f,
                  0x1p-149f,
                  0x1p-20f,
                  kInf,
                  std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::quiet_NaN()}) {
    for (float s : {v, -v}) {
      x.push_back(s);
      x.push_back(std::nextafter(s, kInf));
      x.push_back(std::nextafter(s, -kInf));
    }
  }
  for (uint64_t u = 0; u < (uint64_t{1} << 32); u += stride) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  }
  while (x.size() % 64 != 0) x.push_back(1.0f);
  return x;
}

class Math : public testing::TestWithParam<int> {
 protected:
  MathId id() const { return static_cast<MathId>(GetParam()); }
};

TEST_P(Math, EveryFusedTargetGivesTheReferencesBits) {
  const std::vector<float> x = sample(131071);
  std::vector<float> want(x.size()), got(x.size());
  math_row(id()).scalar(x.data(), want.data(), x.size());
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    simd_math(id())(x.data(), got.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(canonical_bits(got[i]), canonical_bits(want[i]))
          << math_row(id()).name << "(" << x[i] << ") on " << simd_target_name(target) << ": "
          << got[i] << ", reference " << want[i];
    }
  });
}

TEST_P(Math, IsWithinItsBound) {
  const MathRow& row = math_row(id());
  const std::vector<float> x = sample(9973);
  std::vector<float> y(x.size());
  // On a machine whose vectors have no fused step these bounds hold for the reference alone.
  if (const int64_t all = simd_targets(); simd_target_has_fma(all & -all)) {
    simd_math(id())(x.data(), y.data(), x.size());
  } else {
    row.scalar(x.data(), y.data(), x.size());
  }
  for (size_t i = 0; i < x.size(); ++i) {
    double e = ulp_error(y[i], row.oracle(x[i]));
    ASSERT_LE(e, row.bound) << row.name << "(" << x[i] << ") = " << y[i] << ", exactly "
                            << row.oracle(x[i]);
  }
}

// Without fused steps an error-free product is only a rounded one. That costs an ulp or two, except
// in gelu's tail: there the exponent, up to 150 in base 2, is rounded to f32, half an ulp of which
// is 2^-17, or 2^-17 ln2 2^24 = 89 ulp of the result; fewer than three such roundings meet.
TEST_P(Math, UnfusedTargetsStayClose) {
  const MathRow& row = math_row(id());
  const std::vector<float> x = sample(131071);
  std::vector<float> y(x.size());
  for_each_simd_target([&](int64_t target) {
    if (simd_target_has_fma(target)) return;
    simd_math(id())(x.data(), y.data(), x.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double e = ulp_error(y[i], row.oracle(x[i]));
      worst = std::fmax(worst, e);
      ASSERT_LE(e, row.unfused_bound)
          << row.name << "(" << x[i] << ") = " << y[i] << " on " << simd_target_name(target);
    }
    RecordProperty(simd_target_name(target), std::to_string(worst));
  });
}

// A vector's answer must not depend on the lane or on its neighbours: tails through padded copies.
TEST_P(Math, TailsAndOffsetsChangeNothing) {
  const std::vector<float> x = sample(40000003);
  std::vector<float> whole(x.size()), part(x.size());
  for_each_simd_target([&](int64_t) {
    simd_math(id())(x.data(), whole.data(), x.size());
    for (size_t n = 0; n <= 37; ++n) {
      for (size_t offset = 0; offset < 3; ++offset) {
        part.assign(x.size(), -77.0f);
        simd_math(id())(x.data() + offset, part.data() + offset, n);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(canonical_bits(part[offset + i]), canonical_bits(whole[offset + i]));
        }
        ASSERT_EQ(part[offset + n], -77.0f);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Math, testing::Range(0, static_cast<int>(MathId::kCount)),
                         [](const auto& info) {
                           return math_row(static_cast<MathId>(info.param)).name;
                         });

TEST(MathPow, BoundAndBits) {
  std::vector<float> x, y;
  uint32_t seed = 1;
  auto random_bits = [&] { return seed = seed * 1664525u + 1013904223u; };
  for (int i = 0; i < 400000; ++i) {
    float base, power;
    if (i % 4 == 0) {  // any patterns
      base = std::bit_cast<float>(random_bits());
      power = std::bit_cast<float>(random_bits());
    } else {  // finite results: |y log2 x| < 150
      base = std::bit_cast<float>(random_bits() & 0x7FFFFFFF);
      if (i % 4 == 2)
        base = 1.0f + static_cast<float>(static_cast<int32_t>(random_bits())) * 0x1p-34f;
      float limit = static_cast<float>(150 / std::log2(static_cast<double>(base)));
      power = limit * (static_cast<float>(random_bits() >> 8) * 0x1p-23f - 1.0f);
      if (i % 4 == 3) power = std::rint(power);
      if (i % 8 == 3) base = -base;
    }
    x.push_back(base);
    y.push_back(power);
  }
  const float edges[] = {0.0f,
                         1.0f,
                         0.5f,
                         2.0f,
                         3.0f,
                         1e-45f,
                         1e38f,
                         0x1p24f,
                         0x1.000002p24f,
                         16777215.0f,
                         2.5f,
                         kInf,
                         std::numeric_limits<float>::quiet_NaN(),
                         0.99999994f,
                         1.0000001f};
  for (float a : edges) {
    for (float b : edges) {
      for (float sa : {a, -a}) {
        for (float sb : {b, -b}) {
          x.push_back(sa);
          y.push_back(sb);
        }
      }
    }
  }
  while (x.size() % 64 != 0) x.push_back(2.0f), y.push_back(0.5f);
  std::vector<float> want(x.size()), got(x.size());
  scalar_pow(x.data(), y.data(), want.data(), x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double e = ulp_error(want[i], pow_oracle(x[i], y[i]));
    worst = std::fmax(worst, e);
    ASSERT_LE(e, 1.0) << "pow(" << x[i] << ", " << y[i] << ") = " << want[i];
  }
  EXPECT_GT(worst, 0.5);  // the comparison saw rounding at all
  RecordProperty("worst_ulp", std::to_string(worst));
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    simd_pow()(x.data(), y.data(), got.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(canonical_bits(got[i]), canonical_bits(want[i]))
          << "pow(" << x[i] << ", " << y[i] << ") on " << simd_target_name(target);
    }
  });
}

// x*x, x*x*x, a root, 1/x, x: rounded once, and the same among other exponents as alone.
TEST(MathPow, ExponentsThatModelsWriteAreArithmetic) {
  constexpr float kExponents[] = {2, 3, 0.5f, -1, 1, 2.5f, 7};
  constexpr size_t kPlain = 5, kCount = 1 << 14;
  std::vector<float> x, mixed;
  uint32_t seed = 7;
  auto random_bits = [&] { return seed = seed * 1664525u + 1013904223u; };
  for (size_t i = 0; i < kCount; ++i) {
    const float any = std::bit_cast<float>(random_bits());
    const float near = static_cast<float>(static_cast<int32_t>(random_bits())) * 0x1p-28f;
    x.push_back(i % 2 == 0 ? any : near);
    mixed.push_back(kExponents[(random_bits() >> 16) % std::size(kExponents)]);
  }
  const float edges[] = {0.0f,   -0.0f,   kInf,   -kInf,   std::numeric_limits<float>::quiet_NaN(),
                         1e-45f, -1e-45f, 1e-23f, -1e-14f, 1e19f,
                         -7e12f, 1.0f,    -1.0f};
  std::copy(std::begin(edges), std::end(edges), x.begin());
  std::vector<float> want(kCount), got(kCount), of_mixed(kCount);
  scalar_pow(x.data(), mixed.data(), of_mixed.data(), kCount);
  for (size_t k = 0; k < std::size(kExponents); ++k) {
    const std::vector<float> y(kCount, kExponents[k]);
    scalar_pow(x.data(), y.data(), want.data(), kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const double e = ulp_error(want[i], pow_oracle(x[i], y[i]));
      // Below 2e-12 the rounding error of x^2, times x, is below the smallest number there is: the
      // cube is then the rounded x^2 times x.
      const double cube = std::abs(x[i]) < 2e-12f ? 1.0 : 0.51;
      ASSERT_LE(e, k >= kPlain ? 1.0
                   : y[i] == 3 ? cube
                               : 0.5)
          << "pow(" << x[i] << ", " << y[i] << ") = " << want[i];
      if (mixed[i] == y[i]) {
        ASSERT_EQ(canonical_bits(of_mixed[i]), canonical_bits(want[i])) << x[i] << ", " << y[i];
      }
    }
    for_each_simd_target([&](int64_t target) {
      if (!simd_target_has_fma(target)) return;
      simd_pow()(x.data(), y.data(), got.data(), kCount);
      for (size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(canonical_bits(got[i]), canonical_bits(want[i]))
            << "pow(" << x[i] << ", " << y[i] << ") on " << simd_target_name(target);
      }
    });
  }
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    simd_pow()(x.data(), mixed.data(), got.data(), kCount);
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(canonical_bits(got[i]), canonical_bits(of_mixed[i])) << x[i] << ", " << mixed[i];
  });
}

}  // namespace
}  // namespace wick::test
