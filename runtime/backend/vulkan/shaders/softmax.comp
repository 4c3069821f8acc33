#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// 16 lanes per row, element i in lane i mod 16, lanes combined by halving, blocks of 4096 in order: the CPU's order of
// the sum.
layout(local_size_x = 16, local_size_y = WICK_SOFTMAX_ROWS) in;
layout(constant_id = 0) const uint kLog = 0;

// x is [outer, len, inner]; rows = outer * inner.
layout(push_constant) uniform Push { uint rows, len, inner; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

const uint kBlock = 4096;
shared float lanes[WICK_SOFTMAX_ROWS][16];

void main() {
  uint lane = gl_LocalInvocationID.x, local_row = gl_LocalInvocationID.y;
  // All invocations of a work group have the same loop bounds: barriers need uniform control flow.
  for (uint row0 = gl_WorkGroupID.x * WICK_SOFTMAX_ROWS; row0 < rows;
       row0 += gl_NumWorkGroups.x * WICK_SOFTMAX_ROWS) {
    uint row = row0 + local_row;
    bool in_range = row < rows;
    uint base = in_range ? (row / inner) * len * inner + row % inner : 0;
    uint count = in_range ? len : 0;

    float best = uintBitsToFloat(0xff800000u);
    for (uint i = lane; i < count; i += 16) {
      float v = COMPUTE(x[base + i * inner]);
      if (is_nan(v) || v > best) best = v;
    }
    lanes[local_row][lane] = best;
    barrier();
    for (uint step = 8; step > 0; step /= 2) {
      if (lane < step) {
        float a = lanes[local_row][lane], b = lanes[local_row][lane + step];
        lanes[local_row][lane] = (is_nan(a) || a > b) ? a : b;
      }
      barrier();
    }
    best = lanes[local_row][0];
    barrier();

    float total = 0.0;
    for (uint block = 0; block < len; block += kBlock) {
      float sum = 0.0;
      for (uint i = block + lane; i < min(block + kBlock, count); i += 16) {
        sum += exp_f32(COMPUTE(x[base + i * inner]) - best);
      }
      lanes[local_row][lane] = sum;
      barrier();
      for (uint step = 8; step > 0; step /= 2) {
        if (lane < step) lanes[local_row][lane] += lanes[local_row][lane + step];
        barrier();
      }
      total += lanes[local_row][0];
      barrier();
    }

    float log_total = kLog != 0 ? log_f32(total) : 0.0;
    for (uint i = lane; i < count; i += 16) {
      uint at = base + i * inner;
      float d = COMPUTE(x[at]) - best;
      y[at] = STORE(kLog != 0 ? d - log_total : exp_f32(d) / total);
    }
  }
}
