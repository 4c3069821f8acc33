#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// An output's elements go to 16 lanes, element i to lane i mod 16, lanes combined by halving, blocks of 4096 in
// order: the CPU's order.
layout(local_size_x = 16, local_size_y = WICK_SOFTMAX_ROWS) in;
layout(constant_id = 0) const uint kFunction = WICK_REDUCE_SUM;
layout(constant_id = 1) const uint kKept = 0;
layout(constant_id = 2) const uint kReduced = 1;

// Of x: the kept dims, then the reduced ones, neighbours merged.
layout(push_constant) uniform Push { uint outputs, count; uint dims[8]; uint strides[8]; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

const uint kBlock = 4096;
shared float lanes[WICK_SOFTMAX_ROWS][16];

uint offset_of(uint i, uint first, uint n) {
  uint at = 0;
  for (uint d = first + n; d-- > first;) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

float identity() {
  switch (kFunction) {
    case WICK_REDUCE_MAX: return uintBitsToFloat(0xff800000u);
    case WICK_REDUCE_MIN: return uintBitsToFloat(0x7f800000u);
    case WICK_REDUCE_PROD: return 1.0;
    default: return 0.0;
  }
}

// NaN wins, +0 is above -0.
float combine(float a, float b) {
  switch (kFunction) {
    case WICK_REDUCE_MAX:
      if (a == b) return uintBitsToFloat(floatBitsToUint(a) & floatBitsToUint(b));
      return (is_nan(a) || a > b) ? a : b;
    case WICK_REDUCE_MIN:
      if (a == b) return uintBitsToFloat(floatBitsToUint(a) | floatBitsToUint(b));
      return (is_nan(a) || a < b) ? a : b;
    case WICK_REDUCE_PROD: return a * b;
    default: return a + b;
  }
}

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_LocalInvocationID.y;
  // The loops' bounds are those of the whole work group: barriers need uniform control flow.
  for (uint o0 = gl_WorkGroupID.x * WICK_SOFTMAX_ROWS; o0 < outputs;
       o0 += gl_NumWorkGroups.x * WICK_SOFTMAX_ROWS) {
    uint o = o0 + row;
    bool in_range = o < outputs;
    uint base = in_range ? offset_of(o, 0, kKept) : 0;
    float total = identity();
    for (uint block = 0; block < count; block += kBlock) {
      float v = identity();
      uint end = in_range ? min(block + kBlock, count) : 0;
      for (uint i = block + lane; i < end; i += 16) {
        v = combine(v, COMPUTE(x[base + offset_of(i, kKept, kReduced)]));
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
    if (in_range && lane == 0) y[o] = STORE(kFunction == WICK_REDUCE_MEAN ? total / float(count) : total);
  }
}
