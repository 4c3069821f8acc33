#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "f16.glsl"

// Functions whose float16 results equal those of float32 rounded once, with the CPU's zeros (kUnaryInF16).
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;

layout(push_constant) uniform Push { uint n, alphas, betas; };  // each value twice in its word
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) writeonly buffer Out { uint y[]; };

f16vec2 of(f16vec2 v) {
  const f16vec2 zero = f16vec2(0.0hf), one = f16vec2(1.0hf);
  f16vec2 alpha = unpackFloat2x16(alphas), beta = unpackFloat2x16(betas);
  switch (kFunction) {
    case WICK_FN_RELU: return mix(v, zero, lessThanEqual(v, zero));
    case WICK_FN_LEAKY_RELU: return mix(v, v * alpha, lessThan(v, zero));
    case WICK_FN_CLIP:
      v = mix(v, alpha, lessThanEqual(v, alpha));
      return mix(v, beta, greaterThanEqual(v, beta));
    case WICK_FN_FLOOR: return floor(v);
    case WICK_FN_CEIL: return ceil(v);
    case WICK_FN_ROUND: return roundEven(v);
    case WICK_FN_SIGN: return mix(mix(mix(v, zero, equal(v, zero)), -one, lessThan(v, zero)), one, greaterThan(v, zero));
    default: return v;
  }
}

void main() {
  for (uint w = gl_GlobalInvocationID.x; w < (n + 1) / 2; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint both = x[w], result;
    switch (kFunction) {
      case WICK_FN_NEG: result = both ^ SIGNS_OF_BOTH; break;
      case WICK_FN_ABS: result = both & ~SIGNS_OF_BOTH; break;
      default: result = packFloat2x16(of(unpackFloat2x16(both))); break;
    }
    // A result rounded to zero keeps its sign, which GLSL does not guarantee.
    if (kFunction == WICK_FN_FLOOR || kFunction == WICK_FN_CEIL || kFunction == WICK_FN_ROUND)
      result |= both & SIGNS_OF_BOTH;
    y[w] = word_within(result, w, n);
  }
}
