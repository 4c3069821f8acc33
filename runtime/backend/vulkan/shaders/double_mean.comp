#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"
#include "compare.glsl"
#include "number.glsl"
#include "divide.glsl"
#include "double_math.glsl"

// The mean of float64, in reduce.comp's lanes, blocks and order; reduce_any.comp has the other reductions of it.
layout(local_size_x = 16, local_size_y = WICK_SOFTMAX_ROWS) in;
layout(constant_id = 1) const uint kKept = 0;
layout(constant_id = 2) const uint kReduced = 1;

layout(push_constant) uniform Push { uint outputs, count; uint dims[8]; uint strides[8]; };
layout(binding = 0) readonly buffer In { uvec2 x[]; };
layout(binding = 1) writeonly buffer Out { uvec2 y[]; };

const uint kBlock = 4096;
shared uvec2 lanes[WICK_SOFTMAX_ROWS][16];

uint offset_of(uint i, uint first, uint n) {
  uint at = 0;
  for (uint d = first + n; d-- > first;) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

uvec2 sum_of(uvec2 a, uvec2 b) { return double_of(plus(number_of_double(a), number_of_double(b))); }

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_LocalInvocationID.y;
  // The loops' bounds are those of the whole work group: barriers need uniform control flow.
  for (uint o0 = gl_WorkGroupID.x * WICK_SOFTMAX_ROWS; o0 < outputs;
       o0 += gl_NumWorkGroups.x * WICK_SOFTMAX_ROWS) {
    uint o = o0 + row;
    bool in_range = o < outputs;
    uint base = in_range ? offset_of(o, 0, kKept) : 0;
    uvec2 total = uvec2(0);
    for (uint block = 0; block < count; block += kBlock) {
      uvec2 v = uvec2(0);
      uint end = in_range ? min(block + kBlock, count) : 0;
      for (uint i = block + lane; i < end; i += 16) {
        v = sum_of(v, x[base + offset_of(i, kKept, kReduced)]);
      }
      lanes[row][lane] = v;
      barrier();
      for (uint step = 8; step > 0; step /= 2) {
        if (lane < step) lanes[row][lane] = sum_of(lanes[row][lane], lanes[row][lane + step]);
        barrier();
      }
      total = sum_of(total, lanes[row][0]);
      barrier();
    }
    if (in_range && lane == 0) y[o] = double_of(divide(number_of_double(total), finite(false, uvec2(count, 0), 0)));
  }
}
