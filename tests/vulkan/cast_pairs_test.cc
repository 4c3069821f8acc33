// Cast between every two dtypes: the CPU's bits, for every value of the types of up to 16 bits and
// for values at the edges of the wider ones. Compiling a shader for each pair takes the driver
// long: all pairs run in `make test-full`.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include "runtime/core/narrow.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

constexpr DType kTypes[] = {
    DType::kF32,    DType::kU8,         DType::kI8,     DType::kU16,      DType::kI16,
    DType::kI32,    DType::kI64,        DType::kBool,   DType::kF16,      DType::kF64,
    DType::kU32,    DType::kU64,        DType::kBF16,   DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
    DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kF4E2M1,   DType::kU4,
    DType::kI4,     DType::kU2,         DType::kI2};

// Floats of `digits` bits behind the point: what is a tie between two of a shorter type, and what
// is just beside it; every exponent.
std::vector<uint64_t> float_bits(int digits, int exponents) {
  std::vector<uint64_t> all;
  const uint64_t one = uint64_t{1} << digits;
  for (int e = 0;
       e<exponents; e += exponents> 256 && e > 8 && e < exponents - 8 && std::abs(e - 1023) > 160
           ? 31
           : 1) {
    for (int kept : {0, 1, 2, 3, 7, 8, 10, 23, 52}) {
      if (kept > digits) continue;
      // The last kept bit odd and even, half of it behind, a little more, a little less.
      const uint64_t unit = uint64_t{1} << (digits - kept), half = unit >> 1;
      for (uint64_t base : {uint64_t{0}, unit & (one - 1), (one - 1) & ~(unit - 1)}) {
        for (uint64_t m : {base, base + half, base + half + 1, base + half - 1})
          all.push_back((static_cast<uint64_t>(e) << digits | (m & (one - 1))));
      }
    }
  }
  const size_t n = all.size();
  const uint64_t sign = static_cast<uint64_t>(exponents) << digits;
  for (size_t i = 0; i < n; ++i) all.push_back(all[i] | sign);
  return all;
}

std::vector<uint64_t> integer_bits(int width) {
  std::vector<uint64_t> all;
  for (int shift = 0; shift < width; ++shift) {
    const uint64_t one = uint64_t{1} << shift;
    for (int kept : {0, 2, 3, 7, 8, 10, 11, 23, 24, 52, 53}) {
      const uint64_t half = shift > kept ? one >> (kept + 1) : 0;
      for (uint64_t v : {one + half, one + half + 1, one + half - 1, one + 3 * half,
                         one + 3 * half + 1, one - 1}) {
        all.push_back(v);
        all.push_back(~v + 1);
      }
    }
  }
  return all;
}

Value values_of(DType t) {
  std::vector<uint64_t> bits;
  const int width = dtype_bits(t);
  if (t == DType::kBool) {
    bits = {0, 1, 1, 0, 1};
  } else if (t == DType::kF32) {
    bits = float_bits(23, 256);
  } else if (t == DType::kF64) {
    bits = float_bits(52, 2048);
  } else if (width >= 32) {
    bits = integer_bits(width);
  } else {
    for (uint64_t b = 0; b < uint64_t{1} << width; ++b) bits.push_back(b);
    bits.push_back(1);  // an end within a word
  }
  Value v(t, {static_cast<int64_t>(bits.size())});
  for (size_t i = 0; i < bits.size(); ++i) {
    char* data = static_cast<char*>(v.view().data);
    if (width < 8)
      set_packed(data, width, static_cast<int64_t>(i), static_cast<uint8_t>(bits[i]));
    else
      memcpy(data + i * static_cast<size_t>(width / 8), &bits[i], static_cast<size_t>(width / 8));
  }
  return v;
}

TEST(VulkanCastPairs, EveryPairGivesTheCpusBits) {
  WICK_NEED_DEVICE();
  for (DType from : kTypes) {
    const Value x = values_of(from);
    for (DType to : kTypes) {
      const bool wide_from = from == DType::kF32 || from == DType::kF64 || from == DType::kI64;
      const bool often = wide_from || to == DType::kF64 || to == DType::kI64;
      if (!often && std::getenv("WICK_TEST_FULL") == nullptr) continue;
      CastAttrs a;
      a.to = static_cast<int64_t>(to);
      for (a.saturate = is_small_float(to) ? 0 : 1; a.saturate < 2; ++a.saturate) {
        for (a.round_mode = 0; a.round_mode < (to == DType::kF8E8M0 ? 3 : 1); ++a.round_mode) {
          EXPECT_EQ(differs_from_cpu(OpId::kCast, &a, {x}), "")
              << dtype_name(from) << " to " << dtype_name(to) << " saturate " << a.saturate
              << " rounding " << a.round_mode;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick::test
