// Half (IEEE binary16) and BFloat16: storage types with round-to-nearest-even conversion. They are
// our own because g++ has no portable _Float16 in C++ and Highway 1.0.3 truncates to bf16.
#pragma once

#include <bit>
#include <cstdint>

namespace wick {

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) : bits(from_float(f)) {}
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  static uint16_t from_float(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7FFFFFFF) > 0x7F800000)
      return static_cast<uint16_t>((u >> 16) | 0x40);  // quiet the NaN
    return static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
  }
};

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float f) : bits(from_float(f)) {}
  explicit operator float() const { return to_float(bits); }

 private:
  static float to_float(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 0x1F;
    uint32_t mantissa = h & 0x3FF;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
    if (exponent != 0)
      return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    // subnormal: mantissa * 2^-24 is exact in f32
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  static uint16_t from_float(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
    u &= 0x7FFFFFFF;
    if (u > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((u >> 13) & 0x3FF));
    if (u >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // >= 65520 rounds to inf
    if (u < 0x38800000) {
      // below 2^-14: adding 0.5 makes the FPU round to a multiple of 2^-24, half to even
      float magic = std::bit_cast<float>(u) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magic) - 0x3F000000));
    }
    uint32_t rounded = u + 0xFFF + ((u >> 13) & 1);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
};

}  // namespace wick
