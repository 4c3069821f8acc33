#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Sums, products, largest and smallest of integers, bools and float64: as reduce.comp, lanes and blocks included.
layout(local_size_x = 16, local_size_y = WICK_SOFTMAX_ROWS) in;
layout(constant_id = 0) const uint kFunction = WICK_REDUCE_SUM;
layout(constant_id = 1) const uint kKept = 0;
layout(constant_id = 2) const uint kReduced = 1;
layout(constant_id = 3) const uint kType = WICK_TYPE_I32;
layout(constant_id = 4) const uint kWide = 0;

layout(push_constant) uniform Push { uint outputs, count; uint dims[8]; uint strides[8]; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Out { uint y[]; };

#include "element.glsl"

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

// What changes nothing. Of the largest and the smallest: an element that there is.
uvec2 identity(uvec2 first) {
  switch (kFunction) {
    case WICK_REDUCE_SUM: return uvec2(0u);
    case WICK_REDUCE_PROD: return kWide == WICK_WIDE_F64 ? uvec2(0u, 0x3ff00000u) : uvec2(1u, 0u);
    default: return first;
  }
}
uvec2 combine(uvec2 a, uvec2 b) {
  switch (kFunction) {
    case WICK_REDUCE_SUM: return plus(a, b);
    case WICK_REDUCE_PROD: return times(a, b);
    case WICK_REDUCE_MAX: return above(key_of(b, true), key_of(a, true)) ? b : a;
    default: return above(key_of(a, false), key_of(b, false)) ? b : a;
  }
}

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_LocalInvocationID.y;
  // The loops' bounds are those of the whole work group: barriers need uniform control flow.
  for (uint o0 = gl_WorkGroupID.x * WICK_SOFTMAX_ROWS; o0 < outputs;
       o0 += gl_NumWorkGroups.x * WICK_SOFTMAX_ROWS) {
    uint o = o0 + row;
    bool in_range = o < outputs;
    uint base = offset_of(in_range ? o : o0, 0, kKept);
    uvec2 none = identity(LOAD(x, base)), total = none;
    for (uint block = 0; block < count; block += kBlock) {
      uvec2 v = none;
      uint end = in_range ? min(block + kBlock, count) : 0;
      for (uint i = block + lane; i < end; i += 16) {
        v = combine(v, LOAD(x, base + offset_of(i, kKept, kReduced)));
      }
      lanes[row][lane] = v;
      barrier();
      for (uint step = 8; step > 0; step /= 2) {
        if (lane < step) lanes[row][lane] = combine(lanes[row][lane], lanes[row][lane + step]);
        barrier();
      }
      total = combine(total, lanes[row][0]);
      barrier();
    }
    if (in_range && lane == 0) {
      STORE_ELEMENT(y, o, total)
    }
  }
}
