#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"
#define VALUE float
#include "lanes.glsl"

layout(constant_id = 0) const uint kFunction = WICK_REDUCE_SUM;
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

float load(uint at) { return COMPUTE(x[at]); }
void store(uint to, float total) { y[to] = STORE(kFunction == WICK_REDUCE_MEAN ? total / float(count) : total); }

float identity(float first) {
  switch (kFunction) {
    case WICK_REDUCE_MAX: return uintBitsToFloat(0xff800000u);
    case WICK_REDUCE_MIN: return uintBitsToFloat(0x7f800000u);
    case WICK_REDUCE_PROD: return 1.0;
    default: return 0.0;
  }
}

// NaN takes precedence; +0 is above -0.
float combine(float a, float b) {
  switch (kFunction) {
    case WICK_REDUCE_MAX:
      if (a == b) return uintBitsToFloat(floatBitsToUint(a) & floatBitsToUint(b));
      return (is_nan(a) || a > b) ? a : b;
    case WICK_REDUCE_MIN:
      if (a == b) return uintBitsToFloat(floatBitsToUint(a) | floatBitsToUint(b));
      return (is_nan(a) || a < b) ? a : b;
    case WICK_REDUCE_PROD: return a * b;
    default: return a + b;
  }
}

void main() { reduce(); }
