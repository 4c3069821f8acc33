// Trigonometric and hyperbolic functions and their inverses, built like math.glsl; the error bounds are in
// tests/vulkan/bounds.cc. The polynomials are those of runtime/kernels.

const float kPio2 = 1.57079637, kPio2Low = -4.37113883e-8;
const float kLn2 = 0.693147182;

float infinity_f32() { return uintBitsToFloat(0x7f800000u); }
float nan_f32() { return uintBitsToFloat(0x7fc00000u); }

// 2/pi in binary, the first word worth 2^-32.
const uint kTwoOverPi[8] = uint[8](0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u,
                                   0xFE5163ABu, 0xDEBBC561u);
// Returns 32 bits of it from bit `start` on; bit 0 is worth 2^-1.
uint two_over_pi(int start) {
  if (start <= -32) return 0;
  if (start < 0) return kTwoOverPi[0] >> -start;
  int word = start >> 5, shift = start & 31;
  uint high = kTwoOverPi[word] << shift;
  return shift == 0 ? high : high | (kTwoOverPi[word + 1] >> (32 - shift));
}

// |x| = quadrant pi/2 + r, |r| <= pi/4. The bits of 2/pi that the exponent turns into multiples of four quadrants are
// left out, and 94 bits after the point are kept: every finite float is reduced with the same precision (Payne and
// Hanek).
float reduce_pio2(float x, out int quadrant) {
  uint u = floatBitsToUint(x) & 0x7fffffffu;
  quadrant = 0;
  if (u <= 0x3f490fdau) return uintBitsToFloat(u);
  if (u >= 0x7f800000u) return nan_f32();
  int start = int(u >> 23) - 152;
  uint m = (u & 0x7fffffu) | 0x800000u, high_1, low_1, high_2, low_2, carry;
  umulExtended(m, two_over_pi(start + 64), high_2, low_2);
  umulExtended(m, two_over_pi(start + 32), high_1, low_1);
  uint middle = uaddCarry(low_1, high_2, carry);
  uint top = m * two_over_pi(start) + high_1 + carry;
  quadrant = int(top >> 30);
  uint high = (top << 2) | (middle >> 30), low = (middle << 2) | (low_2 >> 30);
  bool down = (high >> 31) != 0;  // rounds up to the next quadrant
  if (down) {
    quadrant += 1;
    low = ~low + 1u;
    high = ~high + (low == 0 ? 1u : 0u);
  }
  if ((high | low) == 0) return 0.0;
  int shift = high != 0 ? 31 - findMSB(high) : 63 - findMSB(low);
  uint digits = shift >= 32 ? low << (shift - 32) : shift == 0 ? high : (high << shift) | (low >> (32 - shift));
  float r = float(digits) * 1.57079637 * pow2i(-32 - shift);
  return down ? -r : r;
}

float sin_near_0(float r) {
  float z = r * r;
  precise float p = 2.8005443e-06;
  p = p * z - 0.00019849911;
  p = p * z + 0.008333372;
  p = p * z - 0.16666667;
  precise float y = r + (r * z) * p;
  return y;
}
float cos_near_0(float r) {
  precise float z = r * r;
  precise float p = 2.4432564e-05;
  p = p * z - 0.0013887311;
  p = p * z + 0.041666646;
  precise float y = 1.0 + ((z * z) * p - 0.5 * z);
  return y;
}
float sin_at(float r, int quadrant) {
  float y = (quadrant & 1) != 0 ? cos_near_0(r) : sin_near_0(r);
  return (quadrant & 2) != 0 ? -y : y;
}
float sin_f32(float x) {
  int quadrant;
  float r = reduce_pio2(x, quadrant), y = sin_at(r, quadrant);
  return (floatBitsToUint(x) >> 31) != 0 ? -y : y;
}
float cos_f32(float x) {
  int quadrant;
  float r = reduce_pio2(x, quadrant);
  return sin_at(r, quadrant + 1);
}
float tan_f32(float x) {
  int quadrant;
  float r = reduce_pio2(x, quadrant), s = sin_near_0(r), c = cos_near_0(r);
  float y = (quadrant & 1) != 0 ? -c / s : s / c;
  return (floatBitsToUint(x) >> 31) != 0 ? -y : y;
}

float atan_f32(float x) {
  float a = abs(x);
  bool big = a > 1.0;
  float z = big ? -divide_f32(1.0, a) : a;
  precise float z2 = z * z;
  precise float p = -0.001791502;
  p = p * z2 + 0.010904537;
  p = p * z2 - 0.031157766;
  p = p * z2 + 0.0579358;
  p = p * z2 - 0.08402056;
  p = p * z2 + 0.109516546;
  p = p * z2 - 0.14264126;
  p = p * z2 + 0.19998536;
  p = p * z2 - 0.333333;
  precise float tail = (z * z2) * p;
  precise float y = big ? kPio2 + (z + (tail + kPio2Low)) : z + tail;
  return x < 0.0 ? -y : (x == 0.0 ? x : y);
}
float atan2_f32(float y, float x) {
  if (is_nan(x) || is_nan(y)) return nan_f32();
  float a = abs(y), b = abs(x);
  float r = atan_f32(a == 0.0 ? 0.0 : a == b ? 1.0 : a / b);
  if ((floatBitsToUint(x) >> 31) != 0) {
    precise float left = (2.0 * kPio2 - r) + 2.0 * kPio2Low;
    r = left;
  }
  return uintBitsToFloat(floatBitsToUint(r) | (floatBitsToUint(y) & 0x80000000u));
}

// (asin(z) - z) / z as a function of z^2 <= 1/4
float asin_tail(float z2) {
  precise float p = 0.03757677;
  p = p * z2 + 0.014391219;
  p = p * z2 + 0.031821825;
  p = p * z2 + 0.044514995;
  p = p * z2 + 0.075005166;
  p = p * z2 + 0.1666666;
  return z2 * p;
}
float asin_of_half_angle(float a) {  // for a >= 1/2
  float z2 = 0.5 - 0.5 * a, z = sqrt_f32(z2);
  return z + z * asin_tail(z2);
}
float asin_f32(float x) {
  float a = abs(x);
  if (a > 1.0) return nan_f32();
  if (a < 0.5) return x + x * asin_tail(a * a);
  precise float y = (kPio2 - 2.0 * asin_of_half_angle(a)) + kPio2Low;
  return x < 0.0 ? -y : y;
}
float acos_f32(float x) {
  float a = abs(x);
  if (a > 1.0) return nan_f32();
  if (a < 0.5) {
    precise float y = (kPio2 - x) + (kPio2Low - x * asin_tail(a * a));
    return y;
  }
  float h = 2.0 * asin_of_half_angle(a);
  precise float left = (2.0 * kPio2 - h) + 2.0 * kPio2Low;
  return x > 0.0 ? h : left;
}

float sinh_f32(float x) {
  float a = abs(x);
  if (a < 1.0) {
    float z = a * a;
    precise float p = 2.789984e-06;
    p = p * z + 0.00019841666;
    p = p * z + 0.008333315;
    p = p * z + 0.16666667;
    return x + (x * z) * p;
  }
  float up = exp_scaled(a, -1);  // e^a / 2
  float y = up > 1e18 ? up : up - 0.25 / up;
  return x < 0.0 ? -y : y;
}
float cosh_f32(float x) {
  float up = exp_scaled(abs(x), -1);
  return up > 1e18 ? up : up + 0.25 / up;
}

float expm1_f32(float x) {
  if (abs(x) < 0.34) {
    precise float p = 0.00019743323;
    p = p * x + 0.0013933695;
    p = p * x + 0.008333567;
    p = p * x + 0.041666478;
    p = p * x + 0.16666666;
    p = p * x + 0.5;
    return x + (x * x) * p;
  }
  return exp_f32(x) - 1.0;
}
// Adds what the rounding of 1 + x lost.
float log1p_f32(float x) {
  if (x == 0.0) return x;
  precise float u = 1.0 + x;
  if (u == 1.0 || !(u > 0.0 && u < infinity_f32())) return u == 1.0 ? x : log_f32(u);
  precise float rest = x - (u - 1.0);
  return log_f32(u) + (abs(x) < 1e7 ? rest / u : 0.0);
}
float log2_f32(float x) {
  uint u = floatBitsToUint(x);
  if (!(x > 0.0) || u >= 0x7f800000u) return log_f32(x);
  int k = 0;
  if (u < 0x00800000u) {
    u = floatBitsToUint(x * 16777216.0);
    k = -24;
  }
  int e = int(u - 0x3f3504f3u) >> 23;
  float m = uintBitsToFloat(u - (uint(e) << 23));  // [sqrt(1/2), sqrt(2))
  return float(k + e) + log_f32(m) * 1.44269502;
}
float log10_f32(float x) { return log_f32(x) * 0.434294492; }

float asinh_f32(float x) {
  float a = abs(x), y;
  if (a < 0.5) {
    float z = a * a;
    precise float p = 0.009256593;
    p = p * z - 0.020049568;
    p = p * z + 0.030033568;
    p = p * z - 0.044616096;
    p = p * z + 0.07499907;
    p = p * z - 0.16666666;
    return x + (x * z) * p;
  }
  y = a < 16384.0 ? log_f32(a + sqrt_f32(a * a + 1.0)) : log_f32(a) + kLn2;
  return x < 0.0 ? -y : y;
}
float acosh_f32(float x) {
  if (x < 1.0) return nan_f32();
  if (x >= 16384.0) return log_f32(x) + kLn2;
  float t = x - 1.0;
  return log1p_f32(t + sqrt_f32(t * (t + 2.0)));
}
float atanh_f32(float x) {
  float a = abs(x);
  if (a < 1e-4) return x;  // the cubic term is below half a unit
  if (a >= 1.0) return a > 1.0 ? nan_f32() : (x < 0.0 ? -infinity_f32() : infinity_f32());
  float y = 0.5 * log1p_f32(divide_f32(a + a, 1.0 - a));
  return x < 0.0 ? -y : y;
}

float erfc_all_f32(float x) {
  float tail = erfc_f32(abs(x));
  return x < 0.0 ? 2.0 - tail : tail;
}

// The exact remainder with the sign of x: 8 binary digits of the quotient at a time.
float fmod_f32(float x, float y) {
  uint ux = floatBitsToUint(x) & 0x7fffffffu, uy = floatBitsToUint(y) & 0x7fffffffu;
  if (ux >= 0x7f800000u || uy > 0x7f800000u || uy == 0) return nan_f32();
  if (ux < uy) return x;
  int ex = max(int(ux >> 23), 1), ey = max(int(uy >> 23), 1);
  uint mx = (ux >> 23) == 0 ? ux : (ux & 0x7fffffu) | 0x800000u;
  uint my = (uy >> 23) == 0 ? uy : (uy & 0x7fffffu) | 0x800000u;
  uint r = mx % my;
  for (int left = ex - ey; left > 0 && r != 0; left -= 8) r = (r << min(left, 8)) % my;
  uint sign = floatBitsToUint(x) & 0x80000000u;
  if (r == 0) return uintBitsToFloat(sign);
  int up = min(23 - findMSB(r), ey - 1);  // normalises to a leading digit, or to a subnormal
  r <<= up;
  uint e = uint(ey - up);
  return uintBitsToFloat(sign | ((r & 0x800000u) != 0 ? (e << 23) | (r & 0x7fffffu) : r));
}
// Converts a magnitude's bits to a number 2^149 times as large, and back. Near the bottom of the range a device may
// read or write 0 for a subnormal; sums of raised numbers are as exact as among normal ones.
float raised(uint bits) { return (bits >> 23) == 0 ? float(bits) : uintBitsToFloat(bits + (149u << 23)); }
uint lowered(float v) { return v < 8388608.0 ? uint(v) : floatBitsToUint(v) - (149u << 23); }
// The remainder with the sign of y.
float floor_mod_f32(float x, float y) {
  float r = fmod_f32(x, y);
  uint of_y = floatBitsToUint(y), of_r = floatBitsToUint(r), left = of_r & 0x7fffffffu, whole = of_y & 0x7fffffffu;
  if (left == 0 || left > 0x7f800000u || ((of_r ^ of_y) >> 31) == 0) return r;
  if (whole >= 0x19000000u) return r + y;  // 2^-77: a subnormal is below half a unit of y
  precise float sum = raised(whole) - raised(left);
  return uintBitsToFloat((of_y & 0x80000000u) | lowered(sum));
}

float apply_trigonometric(uint fn, float x) {
  if (is_nan(x)) return x;
  switch (fn) {
    case WICK_FN_SIN: return sin_f32(x);
    case WICK_FN_COS: return cos_f32(x);
    case WICK_FN_TAN: return tan_f32(x);
    case WICK_FN_ASIN: return asin_f32(x);
    case WICK_FN_ACOS: return acos_f32(x);
    case WICK_FN_ATAN: return atan_f32(x);
    case WICK_FN_SINH: return sinh_f32(x);
    case WICK_FN_COSH: return cosh_f32(x);
    case WICK_FN_ASINH: return asinh_f32(x);
    case WICK_FN_ACOSH: return acosh_f32(x);
    case WICK_FN_ATANH: return atanh_f32(x);
    case WICK_FN_LOG1P: return log1p_f32(x);
    case WICK_FN_EXPM1: return expm1_f32(x);
    case WICK_FN_LOG2: return log2_f32(x);
    case WICK_FN_LOG10: return log10_f32(x);
    default: return erfc_all_f32(x);
  }
}
