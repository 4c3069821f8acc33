// Bindings 3..6 and what ends a matmul or a convolution: bias, scale and shift, residual, activation, in this
// order. Parts that are absent are bound to some buffer and not read.
layout(constant_id = 0) const uint kActivation = WICK_FN_NONE;
layout(constant_id = 1) const uint kParts = 0;

layout(binding = 3) readonly buffer Bias { STORE bias[]; };
layout(binding = 4) readonly buffer Scale { STORE scale[]; };
layout(binding = 5) readonly buffer Shift { STORE shift[]; };
layout(binding = 6) readonly buffer Residual { STORE residual[]; };

float finish(float acc, uint channel, uint index, float alpha, float beta) {
  if ((kParts & WICK_HAS_BIAS) != 0) acc += COMPUTE(bias[channel]);
  if ((kParts & WICK_HAS_SCALE) != 0) {
    float s = COMPUTE(scale[channel]);
    acc = (kParts & WICK_HAS_SHIFT) != 0 ? fma(acc, s, COMPUTE(shift[channel])) : acc * s;
  } else if ((kParts & WICK_HAS_SHIFT) != 0) {
    acc += COMPUTE(shift[channel]);
  }
  if ((kParts & WICK_HAS_RESIDUAL) != 0) acc += COMPUTE(residual[index]);
  return apply(kActivation, acc, alpha, beta);
}
