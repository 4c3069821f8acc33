// The small types: every value, every pair of types, and a sample of the 2^32 floats (all of them:
// narrow_exhaustive).
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "runtime/core/half.h"
#include "tests/kernels/narrow_cast.h"

namespace wick::test {
namespace {

constexpr DType kSmall[] = {
    DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0,
    DType::kF4E2M1,   DType::kU4,         DType::kI4,     DType::kU2,         DType::kI2};

// Every 4099th float, and around each value and each middle between two: the three floats on either
// side.
std::vector<float> sample_floats(DType to) {
  std::vector<float> x;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 4099)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  const int codes = 1 << dtype_bits(to);
  for (int code = 0; code < codes; ++code) {
    for (double share : {0.0, 0.5}) {
      const double a = narrow_value(to, code), b = narrow_value(to, (code + 1) % codes);
      const double v = a + share * (b - a);
      if (!std::isfinite(v)) continue;
      for (float sign : {1.0f, -1.0f}) {
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(v) * sign);
        for (uint32_t d = 0; d < 7; ++d) x.push_back(std::bit_cast<float>(bits + d - 3));
      }
    }
  }
  for (uint32_t u : {0x7F7FFFFFu, 0x7F800000u, 0x7F800001u, 0x7FC00000u, 0x00000001u, 0x00400000u,
                     0x00400001u, 0x007FFFFFu}) {
    x.push_back(std::bit_cast<float>(u));
    x.push_back(std::bit_cast<float>(u | 0x80000000u));
  }
  return x;
}

TEST(Narrow, FromFloat32) {
  for (const NarrowCase& c : kNarrowCases) {
    SCOPED_TRACE(c.name);
    const NarrowOracle oracle(c);
    std::vector<float> x = sample_floats(c.to);
    std::vector<uint8_t> room(x.size());
    int got = 0;
    const int64_t at =
        first_wrong(c, oracle, x.data(), static_cast<int64_t>(x.size()), room.data(), &got);
    EXPECT_EQ(at, -1) << "float " << x[static_cast<size_t>(at < 0 ? 0 : at)] << " became code "
                      << got << ", not " << oracle(x[static_cast<size_t>(at < 0 ? 0 : at)]);
  }
}

// All codes of a small type, packed, as float32: exact.
TEST(Narrow, ToFloat32) {
  for (DType t : kSmall) {
    SCOPED_TRACE(dtype_name(t));
    const int bits = dtype_bits(t), codes = 1 << bits;
    std::vector<uint8_t> packed(static_cast<size_t>(codes));
    for (int i = 0; i < codes; ++i) {
      if (bits == 8)
        packed[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
      else
        packed[static_cast<size_t>(i * bits / 8)] |= static_cast<uint8_t>(i << i * bits % 8);
    }
    std::vector<float> y(static_cast<size_t>(codes));
    ASSERT_TRUE(run_cast({packed.data(), t, Shape{codes}}, {y.data(), DType::kF32, Shape{codes}},
                         CastAttrs{})
                    .ok());
    for (int i = 0; i < codes; ++i) {
      const double want = narrow_value(t, i);
      const float got = y[static_cast<size_t>(i)];
      EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << i << ": " << got;
      EXPECT_TRUE(want != 0 || std::signbit(got) == std::signbit(want)) << i;
    }
  }
}

// Small types among themselves go by value: the cast of the float that the code stands for.
TEST(Narrow, BetweenSmallTypes) {
  for (DType from : kSmall) {
    const int bits = dtype_bits(from), codes = 1 << bits;
    std::vector<uint8_t> packed(static_cast<size_t>(codes));
    for (int i = 0; i < codes; ++i) {
      if (bits == 8)
        packed[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
      else
        set_packed(packed.data(), bits, i, static_cast<uint8_t>(i));
    }
    for (const NarrowCase& c : kNarrowCases) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + c.name);
      const NarrowOracle oracle(c);
      std::vector<uint8_t> y(static_cast<size_t>(codes), 0xA5);
      const CastAttrs attrs{static_cast<int64_t>(c.to), c.saturate ? 1 : 0, c.round_mode};
      ASSERT_TRUE(
          run_cast({packed.data(), from, Shape{codes}}, {y.data(), c.to, Shape{codes}}, attrs)
              .ok());
      const int to_bits = dtype_bits(c.to);
      for (int i = 0; i < codes; ++i) {
        const int got = to_bits == 8 ? y[static_cast<size_t>(i)] : get_packed(y.data(), to_bits, i);
        const int want = oracle(static_cast<float>(narrow_value(from, i)));
        ASSERT_TRUE(oracle.equal(got, want)) << "code " << i << ": " << got << ", not " << want;
      }
    }
  }
}

// float64 rounds once: a number that is just above a middle in float64 and on it in float32.
TEST(Narrow, Float64RoundsOnce) {
  const double x[] = {17.0 + 0x1p-40, 17.0 - 0x1p-40, 17.0, 1e300, -1e300, 0x1p-1000};
  uint8_t y[6];
  const CastAttrs attrs{static_cast<int64_t>(DType::kF8E4M3FN)};
  ASSERT_TRUE(run_cast({const_cast<double*>(x), DType::kF64, Shape{6}},
                       {y, DType::kF8E4M3FN, Shape{6}}, attrs)
                  .ok());
  EXPECT_EQ(narrow_value(DType::kF8E4M3FN, y[0]), 18);
  EXPECT_EQ(narrow_value(DType::kF8E4M3FN, y[1]), 16);
  EXPECT_EQ(narrow_value(DType::kF8E4M3FN, y[2]), 16);
  EXPECT_EQ(narrow_value(DType::kF8E4M3FN, y[3]), 448);
  EXPECT_EQ(narrow_value(DType::kF8E4M3FN, y[4]), -448);
  EXPECT_EQ(y[5], 0);
}

// Integers keep their low bits; packed results fill whole bytes and pad the last with zeros, also
// where rows of a broadcast or strided input end within a byte.
TEST(Narrow, PackingAndStrides) {
  const int64_t wide[] = {0, 1, 7, 8, 15, 16, -1, -8, -9, 1000003, INT64_MAX};
  uint8_t packed[6];
  std::memset(packed, 0xA5, sizeof packed);
  ASSERT_TRUE(run_cast({const_cast<int64_t*>(wide), DType::kI64, Shape{11}},
                       {packed, DType::kI4, Shape{11}}, {static_cast<int64_t>(DType::kI4)})
                  .ok());
  for (int i = 0; i < 11; ++i) EXPECT_EQ(get_packed(packed, 4, i), wide[i] & 15) << i;
  EXPECT_EQ(packed[5] >> 4, 0);

  // A transposed 3x5 matrix of 2-bit numbers.
  uint8_t bits[4] = {};
  for (int i = 0; i < 15; ++i) set_packed(bits, 2, i, static_cast<uint8_t>(i * 7 % 4));
  TensorView x(bits, DType::kU2, Shape{5, 3});
  x.strides[0] = 1, x.strides[1] = 5;
  uint8_t back[4] = {0xA5, 0xA5, 0xA5, 0xA5};
  float real[15];
  ASSERT_TRUE(run_cast(x, {real, DType::kF32, Shape{5, 3}}, CastAttrs{}).ok());
  TensorView strided(real, DType::kF32, Shape{3, 5});
  strided.strides[0] = 1, strided.strides[1] = 3;
  ASSERT_TRUE(
      run_cast(strided, {back, DType::kU2, Shape{3, 5}}, {static_cast<int64_t>(DType::kU2)}).ok());
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(real[i % 5 * 3 + i / 5], i * 7 % 4) << i;
    EXPECT_EQ(get_packed(back, 2, i), i * 7 % 4) << i;
  }
  EXPECT_EQ(back[3] >> 6, 0);
}

}  // namespace
}  // namespace wick::test
