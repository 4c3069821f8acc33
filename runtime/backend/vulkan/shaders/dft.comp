#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Discrete Fourier transforms by their sums. The CPU sums in double; here a sum is a pair of floats, and so is a
// product: operands are split into parts of 12 bits, whose products are exact.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kParts = 1;     // numbers per element: real, or real and imaginary
layout(constant_id = 1) const uint kOutParts = 2;
layout(constant_id = 2) const uint kInverse = 0;
layout(constant_id = 3) const uint kToReal = 0;    // from half of a spectrum to reals
layout(constant_id = 4) const uint kForm = 0;      // WICK_DFT_, the CPU's algorithm, which affects non-finite numbers

layout(push_constant) uniform Push { uint outputs, length, size, kept, inner; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Table { uint roots[]; };  // of unity: cosine and sine, each as high, next, low
layout(binding = 2) writeonly buffer Out { float y[]; };

float root_part(uint at, uint part) { return uintBitsToFloat(roots[at * 6 + part]); }

struct Sum { float high, low; };

bool is_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }

void add_product(inout Sum sum, float v, uint at, uint first) {
  float a = root_part(at, first), b = root_part(at, first + 1);
  if (!is_finite(v)) {  // not split
    sum.high += kForm == WICK_DFT_CONVOLVED ? uintBitsToFloat(0x7fc00000u) : v * (a + b);
    return;
  }
  float high = uintBitsToFloat(floatBitsToUint(v) & 0xfffff000u), low = v - high;
  precise float p = v * (a + b);
  precise float e = ((high * a - p) + high * b + low * a) + low * b;
  e = e + v * root_part(at, first + 2);
  precise float t = sum.high + p;
  if (!is_finite(t)) {
    sum = Sum(t, 0.0);
    return;
  }
  precise float z = t - sum.high;
  precise float r = (sum.high - (t - z)) + (p - z);
  sum.high = t;
  precise float rest = sum.low + (r + e);
  sum.low = rest;
}

// Returns number t of the line, which is cropped, zero-padded or completed by its mirror image; conjugated for the
// inverse, which is the conjugate of the conjugate's transform.
vec2 number_at(uint line, uint t) {
  bool mirrored = kToReal != 0 && t > length / 2;
  uint i = mirrored ? length - t : t;
  if (i >= size) return vec2(0.0);
  uint at = ((line / inner * size + i) * inner + line % inner) * kParts;
  vec2 v = vec2(x[at], kParts == 2 ? x[at + 1] : 0.0);
  if (kToReal != 0 && (i == 0 || 2 * i == length)) v.y = 0.0;
  return mirrored != (kInverse != 0) ? vec2(v.x, -v.y) : v;
}

// Computes number k of a line's transform, with every input multiplied by `scale`.
void transform(uint line, uint k, float scale, out float re_all, out float im_all) {
  Sum re = Sum(0.0, 0.0), im = Sum(0.0, 0.0);
  uint first = 0, at = 0;
  if (kForm == WICK_DFT_HALVED) {  // radix 2 adds the first number unscaled, whatever it is
    vec2 v = number_at(line, 0) * scale;
    re.high = v.x, im.high = v.y;
    first = 1, at = k;
  }
  for (uint t = first; t < length; ++t) {
    vec2 v = number_at(line, t) * scale;
    add_product(re, v.x, at, 0);
    if (kParts == 2) add_product(re, v.y, at, 3);
    if (kOutParts == 2) {
      add_product(im, -v.x, at, 3);
      if (kParts == 2) add_product(im, v.y, at, 0);
    }
    at += k;
    if (at >= length) at -= length;
  }
  precise float re_sum = re.high + re.low, im_sum = im.high + im.low;
  re_all = re_sum, im_all = im_sum;
}

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < outputs; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint k = i / inner % kept, line = i / inner / kept * inner + i % inner;
    float re, im, back = 1.0;
    transform(line, k, 1.0, re, im);
    if (!is_finite(re) || !is_finite(im)) {
      // An input or an intermediate sum exceeds float32; the CPU's sum in double would not.
      back = 16777216.0;  // 2^24
      transform(line, k, 1.0 / back, re, im);
    }
    float count = float(length);
    y[i * kOutParts] = (kInverse != 0 ? re / count : re) * back;
    if (kOutParts == 2) y[i * kOutParts + 1] = (kInverse != 0 ? -im / count : im) * back;
  }
}
