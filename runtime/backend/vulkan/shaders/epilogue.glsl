// Bindings 3..6 and the epilogue of a matmul or a convolution: bias, scale and shift, residual, activation, in this
// order. Parts that are absent bind some other buffer, which is not read.
layout(constant_id = 0) const uint kActivation = WICK_FN_RELU;
layout(constant_id = 1) const uint kParts = 0;

layout(binding = 3) readonly buffer Bias { STORE bias[]; };
layout(binding = 4) readonly buffer Scale { STORE scale[]; };
layout(binding = 5) readonly buffer Shift { STORE shift[]; };
layout(binding = 6) readonly buffer Residual { STORE residual[]; };

// apply() of math.glsl for the functions of Activation. Drivers parse the whole module for each pipeline, whatever its
// constants select, so the exponential appears only once.
float activate(float x, float alpha, float beta) {
  float inner = kActivation == WICK_FN_GELU_TANH ? gelu_tanh_inner(x) : x, a = abs(inner);
  vec2 tail = vec2(0.0);
  float at = -x;
  if (kActivation == WICK_FN_TANH || kActivation == WICK_FN_GELU_TANH) at = a + a;
  if (kActivation == WICK_FN_GELU_ERF) {
    tail = erfc_parts(a * kSqrtHalf);
    at = tail.y;
  }
  float e = exp_f32(at), t = tanh_with(inner, e);
  switch (kActivation) {
    // Without an activation alpha is 1, so that a network's last layer needs no pipeline of its own.
    case WICK_FN_RELU: return (alpha != 0.0 || x > 0.0 || is_nan(x)) ? x : 0.0;
    case WICK_FN_CLIP: return is_nan(x) ? x : clip_f32(x, alpha, beta);
    case WICK_FN_LEAKY_RELU: return x < 0.0 ? x * alpha : x;
    case WICK_FN_SIGMOID: return 1.0 / (1.0 + e);
    case WICK_FN_TANH: return t;
    case WICK_FN_SILU: return x < -1e4 ? 0.0 : x / (1.0 + e);
    case WICK_FN_HARD_SWISH: return x * clip_f32(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);
    case WICK_FN_GELU_TANH: return 0.5 * x * (1.0 + t);
    case WICK_FN_GELU_ERF: return gelu_with(x, tail.x * e);
    case WICK_FN_HARD_SIGMOID: return clip_f32(alpha * x + beta, 0.0, 1.0);
    case WICK_FN_TIMES_SIGMOID: return x * (1.0 / (1.0 + e));
    case WICK_FN_TIMES_HARD_SIGMOID: return x * clip_f32(alpha * x + beta, 0.0, 1.0);
    default: return x;
  }
}

float finish(float acc, uint channel, uint index, float alpha, float beta) {
  if ((kParts & WICK_HAS_BIAS) != 0) acc += COMPUTE(bias[channel]);
  if ((kParts & WICK_HAS_SCALE) != 0) {
    float s = COMPUTE(scale[channel]);
    acc = (kParts & WICK_HAS_SHIFT) != 0 ? fma(acc, s, COMPUTE(shift[channel])) : acc * s;
  } else if ((kParts & WICK_HAS_SHIFT) != 0) {
    acc += COMPUTE(shift[channel]);
  }
  if ((kParts & WICK_HAS_RESIDUAL) != 0) acc += COMPUTE(residual[index]);
  return activate(acc, alpha, beta);
}
