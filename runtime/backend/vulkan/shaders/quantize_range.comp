#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"
#include "divide.glsl"

// Converts the range of x, extended to 0, to a scale of 255 steps and a zero point; NaN does not count.
layout(local_size_x = WICK_FLAT_SIZE) in;

layout(push_constant) uniform Push { uint n; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) writeonly buffer Scale { float scale_out[]; };
layout(binding = 2) writeonly buffer Zero { uint zero_out[]; };

shared float lows[WICK_FLAT_SIZE], highs[WICK_FLAT_SIZE];

void main() {
  uint lane = gl_LocalInvocationID.x;
  float low = 0.0, high = 0.0;
  for (uint i = lane; i < n; i += WICK_FLAT_SIZE) {
    float v = x[i];
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  lows[lane] = low;
  highs[lane] = high;
  barrier();
  for (uint step = WICK_FLAT_SIZE / 2; step > 0; step /= 2) {
    if (lane < step) {
      lows[lane] = min(lows[lane], lows[lane + step]);
      highs[lane] = max(highs[lane], highs[lane + step]);
    }
    barrier();
  }
  if (lane != 0) return;
  low = lows[0];
  float scale = quotient_f32(highs[0] - low, 255.0), zero = 0.0;
  if (floatBitsToUint(scale) == 0 || (floatBitsToUint(scale) & 0x7fffffffu) > 0x7f800000u) {
    scale = 1.0;
  } else {
    zero = quotient_f32(-low, scale);
    zero = zero > 255.0 ? 255.0 : zero > 0.0 ? zero : 0.0;
  }
  scale_out[0] = scale;
  zero_out[0] = uint(roundEven(zero));
}
