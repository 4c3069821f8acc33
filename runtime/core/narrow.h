// Types narrower than a byte or a half: the values of the 8- and 4-bit floats, and the packing of
// 4- and 2-bit elements (the first in the lowest bits of a byte). It uses integer arithmetic only,
// so that the rounding mode does not matter.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/core/dtype.h"

namespace wick {

// Describes a float of sign, exponent and `mantissa` bits; exponent 0 is subnormal.
struct NarrowFloat {
  int mantissa, bias;
  uint8_t sign;  // the sign bit
  uint8_t max;   // the largest finite magnitude
  uint8_t inf;   // 0: the type has none
  uint8_t nan;   // where it has the sign bit set, NaN has no sign of its own
};

constexpr NarrowFloat narrow_float(DType t) {
  switch (t) {
    case DType::kF8E4M3FN: return {3, 7, 0x80, 0x7E, 0, 0x7F};
    case DType::kF8E4M3FNUZ: return {3, 8, 0x80, 0x7F, 0, 0x80};
    case DType::kF8E5M2: return {2, 15, 0x80, 0x7B, 0x7C, 0x7E};
    case DType::kF8E5M2FNUZ: return {2, 16, 0x80, 0x7F, 0, 0x80};
    // The type has no NaN: NaN becomes -0, as in ONNX's own test data.
    default: return {1, 1, 0x8, 0x7, 0, 0x8};  // kF4E2M1
  }
}

// Returns 2^n for any n in the range of float, subnormals included.
constexpr float power_of_two(int n) {
  return n >= -126 ? std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23)
                   : std::bit_cast<float>(uint32_t{1} << (n + 149));
}

// Returns the exact value of a small float.
constexpr float narrow_to_float(DType t, uint8_t bits) {
  const float kNan = std::bit_cast<float>(0x7FC00000u);
  if (t == DType::kF8E8M0) return bits == 0xFF ? kNan : power_of_two(bits - 127);
  const NarrowFloat f = narrow_float(t);
  const bool has_zero_of_sign = f.nan != f.sign || t == DType::kF4E2M1;
  const auto magnitude = static_cast<uint8_t>(bits & (f.sign - 1));
  const bool negative = (bits & f.sign) != 0;
  if (magnitude > f.max) {
    const float v = magnitude == f.inf && f.inf != 0 ? std::bit_cast<float>(0x7F800000u) : kNan;
    return negative ? -v : v;
  }
  if (negative && magnitude == 0 && !has_zero_of_sign) return kNan;
  const int exponent = magnitude >> f.mantissa, digits = magnitude & ((1 << f.mantissa) - 1);
  const int whole = exponent == 0 ? digits : digits | 1 << f.mantissa;
  const int scale = (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa;
  const float v = static_cast<float>(whole) * power_of_two(scale);
  return negative ? -v : v;
}

// Rounds half to even. A value beyond the largest finite number becomes that number when `saturate`
// (and always for 4 bits), else infinity where the type has it, else NaN.
constexpr uint8_t float_to_narrow(DType t, float x, bool saturate) {
  const NarrowFloat f = narrow_float(t);
  const uint32_t u = std::bit_cast<uint32_t>(x), magnitude = u & 0x7FFFFFFF;
  const bool no_signed_zero = f.nan == f.sign && t != DType::kF4E2M1;
  const uint8_t sign = (u >> 31) != 0 ? f.sign : uint8_t{0};
  const auto nan = static_cast<uint8_t>(f.nan == f.sign ? f.nan : f.nan | sign);
  if (magnitude > 0x7F800000) return nan;
  uint32_t code = UINT32_MAX;
  if (magnitude < 0x7F800000) {
    const int exponent = static_cast<int>(magnitude >> 23), least = 1 - f.bias;
    const uint32_t whole = exponent == 0 ? magnitude : (magnitude & 0x7FFFFF) | 0x800000;
    const int e = exponent == 0 ? -126 : exponent - 127;  // x = whole 2^(e - 23)
    const int below = e < least ? least - e : 0, drop = 23 - f.mantissa + below;
    if (drop > 25) {
      code = 0;
    } else {
      const uint32_t rest = whole & ((1u << drop) - 1), half = 1u << (drop - 1);
      code = whole >> drop;
      if (rest > half || (rest == half && (code & 1) != 0)) ++code;
      if (below == 0) code += static_cast<uint32_t>(e - least) << f.mantissa;
    }
  }
  if (code > f.max) {
    if (!saturate && t != DType::kF4E2M1)
      return f.inf != 0 ? static_cast<uint8_t>(f.inf | sign) : nan;
    code = f.max;
  }
  if (code == 0 && no_signed_zero) return 0;
  return static_cast<uint8_t>(code | sign);
}

// Rounds to a power of two without a sign: the next above |x| (round_mode 0), the next below (1),
// or the nearest, with halves up (2). A result outside [2^-127, 2^127], also of zero and infinity,
// becomes the end of the range when `saturate`, else NaN.
constexpr uint8_t double_to_e8m0(double x, bool saturate, int64_t round_mode) {
  const uint64_t u = std::bit_cast<uint64_t>(x) & (UINT64_MAX >> 1);
  constexpr uint64_t kInf = uint64_t{0x7FF} << 52, kHalf = uint64_t{1} << 51;
  if (u > kInf) return 0xFF;
  const uint64_t digits = u & ((uint64_t{1} << 52) - 1);
  int code = static_cast<int>(u >> 52) - 1023 + 127;
  const bool up = round_mode == 0 ? digits != 0 : round_mode == 2 && digits >= kHalf;
  if (up) ++code;
  if (code < 0) return saturate ? 0 : 0xFF;
  if (code > 0xFE) return saturate ? 0xFE : 0xFF;
  return static_cast<uint8_t>(code);
}

// Returns element i of packed 4- or 2-bit elements; i may be negative.
inline uint8_t get_packed(const void* data, int bits, int64_t i) {
  const int per = bits == 4 ? 1 : 2;  // log2 of the elements per byte
  const int at = static_cast<int>(i & ((1 << per) - 1)) * bits;
  const int byte = static_cast<const uint8_t*>(data)[i >> per];
  return static_cast<uint8_t>(byte >> at & ((1 << bits) - 1));
}
inline void set_packed(void* data, int bits, int64_t i, uint8_t value) {
  const int per = bits == 4 ? 1 : 2;
  const int at = static_cast<int>(i & ((1 << per) - 1)) * bits, mask = ((1 << bits) - 1) << at;
  uint8_t& byte = static_cast<uint8_t*>(data)[i >> per];
  byte = static_cast<uint8_t>((byte & ~mask) | (value << at & mask));
}

// Returns the value of element i of a tensor of a small type.
inline float narrow_at(DType t, const void* data, int64_t i) {
  const int bits = dtype_bits(t);
  const uint8_t v = bits == 8 ? static_cast<const uint8_t*>(data)[i] : get_packed(data, bits, i);
  switch (t) {
    case DType::kU4:
    case DType::kU2: return v;
    case DType::kI4: return static_cast<float>(v < 8 ? v : v - 16);
    case DType::kI2: return static_cast<float>(v < 2 ? v : v - 4);
    default: return narrow_to_float(t, v);
  }
}

}  // namespace wick
