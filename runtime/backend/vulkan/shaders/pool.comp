#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// One invocation per window, with its positions in row-major order like the CPU.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kKind = WICK_POOL_MAX;
layout(constant_id = 1) const uint kCountPadding = 0;
layout(constant_id = 2) const uint kPower = 1;         // of LpPool: 1, 2, or 3 for all larger ones
layout(constant_id = 3) const uint kColumnsFirst = 0;  // indices are column-major

layout(push_constant) uniform Push {
  uint n;  // planes * outputs per plane
  float power, root;
  uint outer[3];
  int extent[3], kernel[3], stride[3], dilation[3];
  int pad[3];      // before
  int pad_end[3];  // after: what a window has beyond it (ceil_mode) does not count
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };
#if INDICES
layout(binding = 2) writeonly buffer Indices { uvec2 indices[]; };  // int64
#endif

int divide_up(int a, int b) { return (a + b - 1) / b; }  // a >= 0

// NaN is above all.
bool above(float v, float best) { return v > best || (is_nan(v) && !is_nan(best)); }

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i;
    int start[3], begin[3], end[3];
    int counted = 1;
    for (int d = 2; d >= 0; --d) {
      start[d] = int(rest % outer[d]) * stride[d] - pad[d];
      rest /= outer[d];
      begin[d] = start[d] < 0 ? divide_up(-start[d], dilation[d]) : 0;
      int left = extent[d] - start[d];
      end[d] = max(begin[d], min(kernel[d], left <= 0 ? 0 : divide_up(left, dilation[d])));
      int room = left + pad_end[d];
      counted *= kCountPadding != 0 ? min(kernel[d], room <= 0 ? 0 : divide_up(room, dilation[d]))
                                    : end[d] - begin[d];
    }
    uint plane = rest * uint(extent[0]) * uint(extent[1]) * uint(extent[2]);
    float best = uintBitsToFloat(0xff800000u);
    int which = -1;
    float sum = 0.0;
    for (int k0 = begin[0]; k0 < end[0]; ++k0) {
      int p0 = start[0] + k0 * dilation[0];
      for (int k1 = begin[1]; k1 < end[1]; ++k1) {
        int row = (p0 * extent[1] + start[1] + k1 * dilation[1]) * extent[2] + start[2];
        for (int k2 = begin[2]; k2 < end[2]; ++k2) {
          int at = row + k2 * dilation[2];
          float v = COMPUTE(x[plane + uint(at)]);
#if INDICES
          if (which < 0 || above(v, best)) {
            which = at;
            best = v;
          }
#else
          if (kKind == WICK_POOL_AVERAGE) {
            sum += v;
          } else if (kKind == WICK_POOL_LP) {
            float a = abs(v);
            sum = kPower == 1 ? sum + a : kPower == 2 ? fma(a, a, sum) : sum + pow_f32(a, power);
          } else if (above(v, best) || (v == 0.0 && best == 0.0)) {
            // of two zeros, the one without a sign
            best = v == best ? uintBitsToFloat(floatBitsToUint(v) & floatBitsToUint(best)) : v;
          }
#endif
        }
      }
    }
#if INDICES
    // The index of a window of padding only is 0.
    int first = max(which, 0);
    int q = first % extent[2], r = first / extent[2] % extent[1], s = first / extent[2] / extent[1];
    y[i] = STORE(best);
    indices[i] = uvec2(plane + uint(kColumnsFirst == 0 ? first : (q * extent[1] + r) * extent[0] + s), 0u);
#else
    if (kKind == WICK_POOL_AVERAGE) sum = sum / float(max(counted, 1));
    if (kKind == WICK_POOL_LP && kPower == 2) sum = sqrt(sum);
    if (kKind == WICK_POOL_LP && kPower == 3) sum = pow_f32(sum, root);
    y[i] = STORE(kKind == WICK_POOL_MAX ? best : sum);
#endif
  }
}
