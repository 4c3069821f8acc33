#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"
#include "per_element.glsl"

// clamp(round(x / scale) + zero), with the CPU's integers. A device's quotient may be a few units off, which matters
// only near a tie: there, and for other types than float32, it divides digit by digit.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 8) const uint kPrecision = WICK_TYPE_F32;  // of the division; F64: as the CPU's double
layout(constant_id = 9) const uint kSaturate = 1;

const float kFar = 1048576.0;  // beyond every range, including zero points

int nearest(Number q) {
  if (q.kind == kNaN || q.kind == kZero) return 0;
  int whole = q.kind == kInfinite || q.e >= 20 ? 1 << 20 : q.e < -1 ? 0 : int(without(q.m, 63 - q.e).x);
  return q.negative ? -whole : whole;
}

Number quotient(uint i) {
  Number s = number_of(scale_bits(i), kScaleType);
  Number v = number_of(READ_ANY(x, i, log_bits(kX)), kX);
  if (kPrecision == WICK_TYPE_F64) return to_53_digits(divide(v, s));
  return rounded_to(divide(rounded_to(v, kPrecision), rounded_to(s, kPrecision)), kPrecision);
}

int steps(uint i) {
  if (kX == WICK_TYPE_F32 && kScaleType == WICK_TYPE_F32 && kPrecision == WICK_TYPE_F32) {
    float v = uintBitsToFloat(x[i]), s = uintBitsToFloat(scale_bits(i).x), q = v / s;
    if (abs(s) > 1e-30 && abs(s) < 1e30 && abs(v) < 1e30) {
      if (abs(q) > kFar) return q > 0.0 ? 1 << 20 : -(1 << 20);
      float whole = roundEven(q);
      if (abs(abs(q - whole) - 0.5) > 1e-6 * abs(q)) return int(whole);
    }
  }
  return nearest(quotient(i));
}

uvec2 element(uint i) {
  if (is_real_type(kY)) {
    Number q = quotient(i);
    if (kHasZero != 0) {
      Number z = number_of(zero_bits(i), kZeroType);
      // An 8-bit zero point of 0 is not added, which keeps -0.
      if (z.kind != kZero || kY == WICK_TYPE_F4E2M1) {
        float sum = uintBitsToFloat(f32_bits(q).x) + uintBitsToFloat(f32_bits(z).x);
        q = rounded_to(f32_number(sum), kPrecision);
      }
    }
    return bits_of_number(q, kY, kSaturate != 0, 0);
  }
  const uint width = 1u << log_bits(kY);
  const int low = is_signed_type(kY) ? -(1 << (width - 1)) : 0, high = low + (1 << width) - 1;
  int zero = kHasZero != 0 ? int(widened(zero_bits(i), kZeroType).x) : 0;
  return uvec2(clamp(steps(i) + zero, low, high), 0);
}

#include "each_word.glsl"

void main() { each_word(log_bits(kY)); }
