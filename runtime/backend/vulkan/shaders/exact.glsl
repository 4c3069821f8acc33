// Lossless sums and products, as pairs (rounded result, rounding error), and divisions that round once. Such pairs
// select the same pixel as the CPU's doubles. `precise` keeps drivers from simplifying the errors away.

vec2 two_sum(float a, float b) {
  precise float s = a + b;
  precise float t = s - a;
  precise float e = (a - (s - t)) + (b - t);
  return vec2(s, e);
}

vec2 two_product(float a, float b) {
  precise float p = a * b;
  precise float a_wide = a * 4097.0;
  precise float a_high = a_wide - (a_wide - a);
  precise float a_low = a - a_high;
  precise float b_wide = b * 4097.0;
  precise float b_high = b_wide - (b_wide - b);
  precise float b_low = b - b_high;
  precise float e = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return vec2(p, e);
}

// Drops what exceeds 53 bits, like a double.
vec2 pair_of(float high, float low) {
  vec2 v = two_sum(high, low);
  uint bits = floatBitsToUint(v.x);
  float half_unit = uintBitsToFloat(bits & 0x7f800000u) * 1.1102230246251565e-16;  // 2^-53
  // Numbers just below a power of two are closer together.
  if ((bits & 0x7fffffu) == 0 && (v.x < 0.0) != (v.y < 0.0)) half_unit *= 0.5;
  return vec2(v.x, abs(v.y) <= half_unit ? 0.0 : v.y);
}
vec2 pair_add(vec2 a, float b) {
  vec2 s = two_sum(a.x, b);
  precise float low = s.y + a.y;
  return pair_of(s.x, low);
}
vec2 pair_times(vec2 a, float b) {
  vec2 p = two_product(a.x, b);
  precise float low = p.y + a.y * b;
  return pair_of(p.x, low);
}
bool pair_below(vec2 a, float b) { return a.x < b || (a.x == b && a.y < 0.0); }
bool pair_above(vec2 a, float b) { return a.x > b || (a.x == b && a.y > 0.0); }

// Rounds to the nearest integer, half to even.
vec2 pair_round(vec2 v) {
  float r = roundEven(v.x);
  if (r == v.x) return two_sum(r, roundEven(v.y));
  float d = v.x - r;
  if (d == 0.5 && v.y > 0.0) r += 1.0;
  if (d == -0.5 && v.y < 0.0) r -= 1.0;
  return vec2(r, 0.0);
}

// Corrects the quotient by its own error, which is computed exactly.
float divide(float a, float b) {
  float q = a / b;
  if ((floatBitsToUint(q) & 0x7f800000u) == 0x7f800000u || q == 0.0) return q;
  vec2 p = two_product(q, b);
  precise float left = (a - p.x) - p.y;
  precise float result = q + left / b;
  // Near the ends of the range the product's parts are inexact or not finite.
  return (floatBitsToUint(result) & 0x7f800000u) == 0x7f800000u ? q : result;
}
