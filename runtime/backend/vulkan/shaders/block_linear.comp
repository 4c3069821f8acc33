#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"
#include "typed.glsl"

// Linear with weights of 4 or 8 bits and one scale per block, dequantized in registers. A word of weights is read once
// for kRows rows of x: with few rows, only the size of the weights limits the speed. 32 invocations share an output,
// each with every 32nd word in a chain of fma; their sums are added by halving.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kBits = 4;
layout(constant_id = 1) const uint kSigned = 0;
layout(constant_id = 2) const uint kHalfScales = 0;
layout(constant_id = 3) const uint kParts = 0;  // 1: zero points, 2: bias

layout(push_constant) uniform Push { uint rows, columns, depth, block, blocks; int zero_point; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Weight { uint w[]; };
layout(binding = 2) readonly buffer Scale { uint scale[]; };
layout(binding = 3) readonly buffer Zero { uint zero[]; };
layout(binding = 4) readonly buffer Bias { float bias[]; };
layout(binding = 5) writeonly buffer Out { float y[]; };

const uint kRows = WICK_BLOCK_ROWS, kLanes = 32, kColumns = WICK_FLAT_SIZE / kLanes, kEach = 32 / kBits;
shared float sums[WICK_FLAT_SIZE * kRows];

int number(uint word, uint i) {
  int at = int(i * kBits);
  return kSigned != 0 ? bitfieldExtract(int(word), at, int(kBits)) : int(bitfieldExtract(word, at, int(kBits)));
}
float scale_at(uint i) {
  if (kHalfScales == 0) return uintBitsToFloat(scale[i]);
  return half_to_float(READ_BITS(scale, i, 2));
}

void main() {
  uint lane = gl_LocalInvocationIndex % kLanes, slot = gl_LocalInvocationIndex / kLanes;
  uint column = gl_WorkGroupID.x * kColumns + slot;
  uint words = column < columns ? depth / kEach : 0;
  for (uint row0 = gl_WorkGroupID.y * kRows; row0 < rows; row0 += gl_NumWorkGroups.y * kRows) {
    float acc[kRows];
    [[unroll]] for (uint r = 0; r < kRows; ++r) acc[r] = 0.0;
    for (uint at = lane; at < words; at += kLanes) {
      uint word = w[column * (depth / kEach) + at], k = at * kEach, of_block = column * blocks + k / block;
      float s = scale_at(of_block);
      int z = zero_point;
      if ((kParts & 1u) != 0) z = number(zero[of_block / kEach], of_block % kEach);
      for (uint i = 0; i < kEach; ++i) {
        float weight = float(number(word, i) - z) * s;
        [[unroll]] for (uint r = 0; r < kRows; ++r) {
          if (row0 + r < rows) acc[r] = fma(x[(row0 + r) * depth + k + i], weight, acc[r]);
        }
      }
    }
    [[unroll]] for (uint r = 0; r < kRows; ++r) sums[(r * kColumns + slot) * kLanes + lane] = acc[r];
    barrier();
    for (uint step = kLanes / 2; step > 0; step /= 2) {
      if (lane < step) {
        [[unroll]] for (uint r = 0; r < kRows; ++r) {
          uint at = (r * kColumns + slot) * kLanes + lane;
          sums[at] += sums[at + step];
        }
      }
      barrier();
    }
    if (lane < kRows && row0 + lane < rows && column < columns) {
      float v = sums[(lane * kColumns + slot) * kLanes];
      if ((kParts & 2u) != 0) v += bias[column];
      y[(row0 + lane) * columns + column] = v;
    }
    barrier();
  }
}
