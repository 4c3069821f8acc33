#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#define VALUE uvec2
#include "lanes.glsl"

// Sums, products, extremes of integers, bools and float64, and means of float64.
layout(constant_id = 0) const uint kFunction = WICK_REDUCE_SUM;
layout(constant_id = 3) const uint kType = WICK_TYPE_I32;
layout(constant_id = 4) const uint kWide = 0;

layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Out { uint y[]; };

#include "element.glsl"

uvec2 load(uint at) { return LOAD(x, at); }
void store(uint to, uvec2 total) {
  if (kFunction == WICK_REDUCE_MEAN)
    total = double_of(divide(number_of_double(total), finite(false, uvec2(count, 0u), 0)));
  STORE_ELEMENT(y, to, total)
}

// The neutral element; for extremes any element.
uvec2 identity(uvec2 first) {
  switch (kFunction) {
    case WICK_REDUCE_SUM:
    case WICK_REDUCE_MEAN: return uvec2(0u);
    case WICK_REDUCE_PROD: return kWide == WICK_WIDE_F64 ? uvec2(0u, 0x3ff00000u) : uvec2(1u, 0u);
    default: return first;
  }
}
uvec2 combine(uvec2 a, uvec2 b) {
  if (kFunction <= WICK_REDUCE_MEAN || kFunction == WICK_REDUCE_PROD)
    return sum_or_product(a, b, kFunction == WICK_REDUCE_PROD);
  switch (kFunction) {
    case WICK_REDUCE_MAX: return above(key_of(b, true), key_of(a, true)) ? b : a;
    default: return above(key_of(a, false), key_of(b, false)) ? b : a;
  }
}

void main() { reduce(); }
