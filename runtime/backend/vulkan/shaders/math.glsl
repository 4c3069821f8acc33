// f32 elementary functions from add, mul and integer operations, which Vulkan rounds correctly: their error is the same
// on every device, unlike that of the built-in ones. `precise` keeps drivers from reassociating: x - n * high - n * low
// would become x - n * (high + low).

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// Compares by bits, because a device may treat a subnormal as 0. Both zeros are 0.
int order_f32(float x) {
  int bits = floatBitsToInt(x);
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}
bool less_f32(float p, float q) { return !is_nan(p) && !is_nan(q) && order_f32(p) < order_f32(q); }
bool equal_f32(float p, float q) { return !is_nan(p) && !is_nan(q) && order_f32(p) == order_f32(q); }

// Returns a * b - p, where p is the rounded product, by Dekker's method: a device's fma() need not be fused.
float product_rest(float a, float b, float p) {
  precise float ca = 4097.0 * a, cb = 4097.0 * b;
  precise float a_high = ca - (ca - a), b_high = cb - (cb - b);
  precise float a_low = a - a_high, b_low = b - b_high;
  precise float rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return rest;
}
// The built-in quotient and root are several units off; a correction with the exact remainder leaves one rounding.
float divide_f32(float n, float d) {
  float q = n / d;
  if (!(abs(q) < 1e30 && abs(q) > 1e-30 && abs(d) < 1e30 && abs(n) > 1e-25)) return q;
  precise float p = q * d;
  precise float rest = (n - p) - product_rest(q, d, p);
  return q + rest / d;
}
float sqrt_f32(float v) {
  float s = sqrt(v);
  if (!(s > 1e-12 && s < 1e18)) return s;
  precise float p = s * s;
  precise float rest = (v - p) - product_rest(s, s, p);
  return s + rest / (s + s);
}

// 2^n for n in [-126, 127].
float pow2i(int n) { return uintBitsToFloat(uint(n + 127) << 23); }

// ln2 in two parts; the first has 9 bits, so n * kLn2High is exact.
const float kLn2High = 0.693359375;
const float kLn2Low = -2.12194440e-4;

// Returns e^x 2^k for |k| < 2, without an intermediate overflow.
float exp_scaled(float x, int k) {
  if (x > 89.5) return uintBitsToFloat(0x7f800000u);
  float n = roundEven(x * 1.44269504);
  precise float r = x - n * kLn2High;
  r = r - n * kLn2Low;
  precise float p = 1.9875691500e-4;
  p = p * r + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  precise float y = (p * (r * r) + r) + 1.0;
  int i = int(n) + k;
  int half_n = i / 2;  // in two steps: 2^n may overflow where the product does not
  return y * pow2i(half_n) * pow2i(i - half_n);
}

float exp_f32(float x) {
  if (is_nan(x)) return x;
  if (x > 88.72284) return uintBitsToFloat(0x7f800000u);
  if (x < -103.98) return 0.0;
  return exp_scaled(x, 0);
}

float log_f32(float x) {
  if (is_nan(x) || x < 0.0) return uintBitsToFloat(0x7fc00000u);
  if (x == 0.0) return uintBitsToFloat(0xff800000u);
  uint bits = floatBitsToUint(x);
  if (bits == 0x7f800000u) return x;
  int e = 0;
  if (bits < 0x00800000u) {
    bits = floatBitsToUint(x * 8388608.0);
    e = -23;
  }
  e += int(bits >> 23) - 126;
  float m = uintBitsToFloat((bits & 0x007fffffu) | 0x3f000000u);  // [0.5, 1)
  if (m < 0.707106781) {
    e -= 1;
    m = m + m;
  }
  m = m - 1.0;
  precise float z = m * m;
  precise float p = 7.0376836292e-2;
  p = p * m - 1.1514610310e-1;
  p = p * m + 1.1676998740e-1;
  p = p * m - 1.2420140846e-1;
  p = p * m + 1.4249322787e-1;
  p = p * m - 1.6668057665e-1;
  p = p * m + 2.0000714765e-1;
  p = p * m - 2.4999993993e-1;
  p = p * m + 3.3333331174e-1;
  precise float y = m * (z * p);
  float fe = float(e);
  y = y + fe * kLn2Low;
  y = y - 0.5 * z;
  precise float result = (m + y) + fe * kLn2High;
  return result;
}

float silu_f32(float x) {
  // x / (1 + exp(-x)) would be inf / inf
  return x < -1e4 ? 0.0 : x / (1.0 + exp_f32(-x));
}

float sigmoid_f32(float x) { return 1.0 / (1.0 + exp_f32(-x)); }

// e: exp(2 |x|).
float tanh_with(float x, float e) {
  if (abs(x) < 0.625) {
    float z = x * x;
    precise float p = -5.70498872745e-3;
    p = p * z + 2.06390887954e-2;
    p = p * z - 5.37397155531e-2;
    p = p * z + 1.33314422036e-1;
    p = p * z - 3.33332819422e-1;
    return p * z * x + x;
  }
  float t = 1.0 - 2.0 / (e + 1.0);
  return is_nan(x) ? x : (x < 0.0 ? -t : t);
}
float tanh_f32(float x) {
  float a = abs(x);
  return tanh_with(x, exp_f32(a + a));
}

// For z >= 0, a Chebyshev fit of log(erfc(z) / t) in t (Numerical Recipes, 6.2): 1.2e-7 relative, plus the rounding of
// the exponent, z * z u. The result is x exp(y).
vec2 erfc_parts(float z) {
  float t = 1.0 / (1.0 + 0.5 * z);
  precise float p = 0.17087277;
  p = p * t - 0.82215223;
  p = p * t + 1.48851587;
  p = p * t - 1.13520398;
  p = p * t + 0.27886807;
  p = p * t - 0.18628806;
  p = p * t + 0.09678418;
  p = p * t + 0.37409196;
  p = p * t + 1.00002368;
  p = p * t - 1.26551223;
  return vec2(t, p - z * z);
}
float erfc_f32(float z) {
  vec2 parts = erfc_parts(z);
  return parts.x * exp_f32(parts.y);
}

// tail: erfc(|x|).
float erf_with(float x, float tail) {
  if (is_nan(x)) return x;
  float a = abs(x);
  if (a < 0.5) {
    // 2 / sqrt(pi) times the Taylor series; the first term left out is below 1e-9
    float z = x * x;
    precise float p = 1.2055333e-4;
    p = p * z - 8.5483265e-4;
    p = p * z + 5.2239775e-3;
    p = p * z - 2.6866171e-2;
    p = p * z + 1.1283792e-1;
    p = p * z - 3.7612639e-1;
    p = p * z * x;
    return p + 1.1283792 * x;
  }
  float y = 1.0 - tail;
  return x < 0.0 ? -y : y;
}

const float kSqrtHalf = 0.707106781;

// tail: erfc(|x| kSqrtHalf).
float gelu_with(float x, float tail) {
  if (is_nan(x)) return x;
  float half_tail = 0.5 * tail;
  if (x < 0.0) return x < -1e4 ? 0.0 : x * half_tail;
  return x * (1.0 - half_tail);
}
float gelu_f32(float x) { return gelu_with(x, erfc_f32(abs(x) * kSqrtHalf)); }
float gelu_tanh_inner(float x) { return 0.797884561 * (x + 0.044715 * (x * x * x)); }

float clip_f32(float x, float low, float high) {
  // NaN is returned: both comparisons are false.
  return x < low ? low : (x > high ? high : x);
}

// Far below 0 the sum 1 + e would lose e. e: exp(-|x|), l: log(1 + e).
float softplus_with(float x, float e, float l) {
  return max(x, 0.0) + (e < 1e-3 ? e * (1.0 - e * (0.5 - e * 0.333333333)) : l);
}
float softplus_f32(float x) {
  float e = exp_f32(-abs(x));
  return softplus_with(x, e, log_f32(1.0 + e));
}

// The relative error is |y log x| roundings of the logarithm and of the product; squares, which norms use, are exact.
float pow_f32(float x, float y) {
  if (y == 2.0) return x * x;
  if (y == 0.0 || x == 1.0) return 1.0;
  if (is_nan(x) || is_nan(y)) return x + y;
  float a = abs(x);
  bool whole = floor(y) == y, odd = whole && abs(y) < 16777216.0 && mod(abs(y), 2.0) == 1.0;
  float r = a == 1.0 ? 1.0 : exp_f32(y * log_f32(a));
  if (a == 0.0) r = y > 0.0 ? 0.0 : uintBitsToFloat(0x7f800000u);
  if ((floatBitsToUint(x) & 0x80000000u) == 0) return r;
  if (odd) return -r;
  bool finite = (floatBitsToUint(a)) < 0x7f800000u;
  return whole || !finite || a == 0.0 ? r : uintBitsToFloat(0x7fc00000u);
}

// Drivers parse the whole module for each pipeline, whatever its constants select, so the exponential and the logarithm
// appear only once.
float apply(uint fn, float x, float alpha, float beta) {
  float inner = fn == WICK_FN_GELU_TANH ? gelu_tanh_inner(x) : x, a = abs(inner), at = x;
  vec2 tail = vec2(0.0);
  switch (fn) {
    case WICK_FN_SIGMOID:
    case WICK_FN_SILU: at = -x; break;
    case WICK_FN_TANH:
    case WICK_FN_GELU_TANH: at = a + a; break;
    case WICK_FN_SOFTPLUS: at = -a; break;
    case WICK_FN_GELU_ERF:
    case WICK_FN_ERF:
      tail = erfc_parts(fn == WICK_FN_ERF ? a : a * kSqrtHalf);
      at = tail.y;
      break;
    default: break;
  }
  float e = exp_f32(at), t = tanh_with(inner, e), l = log_f32(fn == WICK_FN_LOG ? x : 1.0 + e);
  switch (fn) {
    case WICK_FN_ELU: return (x > 0.0 || is_nan(x)) ? x : alpha * (e - 1.0);
    case WICK_FN_SOFTPLUS: return is_nan(x) ? x : softplus_with(x, e, l);
    case WICK_FN_RELU: return (x > 0.0 || is_nan(x)) ? x : 0.0;
    case WICK_FN_CLIP: return is_nan(x) ? x : clip_f32(x, alpha, beta);
    case WICK_FN_LEAKY_RELU: return x < 0.0 ? x * alpha : x;
    case WICK_FN_SIGMOID: return 1.0 / (1.0 + e);
    case WICK_FN_TANH: return t;
    case WICK_FN_SILU: return x < -1e4 ? 0.0 : x / (1.0 + e);
    case WICK_FN_HARD_SWISH: return x * clip_f32(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);
    case WICK_FN_HARD_SIGMOID: return clip_f32(alpha * x + beta, 0.0, 1.0);
    case WICK_FN_EXP: return e;
    case WICK_FN_LOG: return l;
    case WICK_FN_SQRT: return sqrt_f32(x);
    case WICK_FN_RECIPROCAL: return divide_f32(1.0, x);
    case WICK_FN_NEG: return -x;
    case WICK_FN_ABS: return abs(x);
    case WICK_FN_FLOOR: return floor(x);
    case WICK_FN_CEIL: return ceil(x);
    case WICK_FN_ROUND: return roundEven(x);
    case WICK_FN_SIGN: return is_nan(x) ? x : float(sign(order_f32(x)));
    case WICK_FN_GELU_TANH: return 0.5 * x * (1.0 + t);
    case WICK_FN_GELU_ERF: return gelu_with(x, tail.x * e);
    case WICK_FN_ERF: return erf_with(x, tail.x * e);
    default: return x;
  }
}
