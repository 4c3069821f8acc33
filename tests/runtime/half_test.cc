#include "runtime/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace wick {
namespace {

template <class T>
T of_bits(uint32_t bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

// Every stored value survives the way to float and back (a NaN stays one).
template <class T>
void expect_round_trip() {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = static_cast<float>(of_bits<T>(bits));
    const T back(wide);
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

// Between two neighbours: below the middle rounds down, above it up, the middle to the even one.
template <class T>
void expect_half_to_even(uint32_t largest_finite) {
  for (uint32_t bits = 0; bits < largest_finite; ++bits) {
    const double low = static_cast<float>(of_bits<T>(bits));
    const double high = static_cast<float>(of_bits<T>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);  // exact: one bit more than T has
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(T(middle).bits, even) << bits;
    ASSERT_EQ(T(-middle).bits, even | 0x8000) << bits;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(T(std::nextafter(middle, INFINITY)).bits, bits + 1);
  }
}

TEST(Half, RoundTrips) { expect_round_trip<Half>(); }
TEST(BFloat16, RoundTrips) { expect_round_trip<BFloat16>(); }

TEST(Half, RoundsHalfToEven) { expect_half_to_even<Half>(0x7BFF); }

TEST(BFloat16, RoundsHalfToEven) {
  // The middle of two bf16 subnormals is below f32's smallest step: start at the first normal.
  for (uint32_t bits = 0x80; bits < 0x7F7F; ++bits) {
    const uint32_t middle = bits << 16 | 0x8000;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle)).bits, even);
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle - 1)).bits, bits);
    ASSERT_EQ(BFloat16(std::bit_cast<float>(middle + 1)).bits, bits + 1);
  }
}

TEST(Half, EdgesOfItsRange) {
  EXPECT_EQ(Half(65504.0f).bits, 0x7BFF);
  EXPECT_EQ(Half(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(Half(65520.0f).bits, 0x7C00);
  EXPECT_EQ(Half(-INFINITY).bits, 0xFC00);
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
}

TEST(BFloat16, EdgesOfItsRange) {
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7F7FFFFFu)).bits,
            0x7F80);  // past the largest: infinity
  EXPECT_EQ(BFloat16(-INFINITY).bits, 0xFF80);
  EXPECT_EQ(BFloat16(-0.0f).bits, 0x8000);
}

#if defined(__FLT16_MANT_DIG__) && defined(__x86_64__)
TEST(Half, AgreesWithTheCompilersOwn) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(x)) continue;
    const _Float16 y = static_cast<_Float16>(x);
    ASSERT_EQ(Half(x).bits, std::bit_cast<uint16_t>(y)) << x;
  }
}
#endif

}  // namespace
}  // namespace wick
