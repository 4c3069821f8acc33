#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Each output is the nested sum over its neighbours along each axis that changes, with the outermost axis outermost:
// the CPU's order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;
layout(constant_id = 1) const uint kAxes = 1;  // number of dims that change
layout(constant_id = 2) const uint kNearest = 0;

layout(push_constant) uniform Push {
  uint n, outside;
  uint dims[8];    // of y
  uint steps[8];   // of x
  uint tables[8];  // start of an axis's table; 0: the dim stays
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Table { uint table[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i, fixed_part = 0, axis = kAxes;
    uint row[8], stride[8], tap[8];
    float sum[8];
    bool inside = true, none = false;
    for (int d = int(kRank) - 1; d >= 0; --d) {
      uint o = rest % dims[d];
      rest /= dims[d];
      if (tables[d] == 0) {
        fixed_part += o * steps[d];
        continue;
      }
      --axis;
      row[axis] = tables[d] + 1 + o * table[tables[d]];
      stride[axis] = steps[d];
      tap[axis] = 0;
      sum[axis] = 0.0;
      inside = inside && table[row[axis]] != WICK_RESIZE_OUTSIDE;
      none = none || table[row[axis]] == 0;
    }
    if (!inside || none) {
      y[i] = inside ? 0u : outside;
      continue;
    }
    if (kNearest != 0) {
      uint from = fixed_part;
      for (uint a = 0; a < kAxes; ++a) from += table[row[a] + 1] * stride[a];
      y[i] = x[from];
      continue;
    }
    // The innermost axis's taps come first; a complete sum is one term of the next axis outward.
    bool more = true;
    while (more) {
      uint from = fixed_part;
      for (uint a = 0; a < kAxes; ++a) from += table[row[a] + 1 + 2 * tap[a]] * stride[a];
      float v = uintBitsToFloat(x[from]);
      more = false;
      for (int a = int(kAxes) - 1; a >= 0; --a) {
        sum[a] = fma(uintBitsToFloat(table[row[a] + 2 + 2 * tap[a]]), v, sum[a]);
        tap[a] += 1;
        if (tap[a] < table[row[a]]) {
          more = true;
          break;
        }
        v = sum[a];
        if (a == 0) break;
        sum[a] = 0.0;
        tap[a] = 0;
      }
    }
    y[i] = floatBitsToUint(sum[0]);
  }
}
