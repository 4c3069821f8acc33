#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// A product with few rows or few columns: every element of the large operand is read once and used kRowsEach times, so
// memory bandwidth limits the speed. kLanes invocations share an output, each with every kLanes-th k in a chain of fma;
// their sums are added by halving. This has fewer roundings than one chain over k, in another order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 4) const uint kLanes = 32;
layout(constant_id = 5) const uint kMoreBatches = 0;  // 1: there are more than work groups

#include "product.glsl"

const uint kOutputs = WICK_FLAT_SIZE / kLanes;  // columns per work group
const uint kUnroll = 8;  // outstanding loads

shared vec4 sums[WICK_FLAT_SIZE];

void main() {
  uint thread = gl_LocalInvocationIndex;
  // Neighbours read neighbouring addresses: along k if right is stored so, else along columns.
  uint lane = kTransposed != 0 ? thread % kLanes : thread / kOutputs;
  uint slot = kTransposed != 0 ? thread / kLanes : thread % kOutputs;
  uint column = gl_WorkGroupID.x * kOutputs + slot, row0 = gl_WorkGroupID.y * kRowsEach;
  // Few products have more batches than work groups. Without the loop the driver compiles the rest in half the time.
  uint batch = gl_WorkGroupID.z;
  do {
    uint left_at = batch_offset(batch, true), right_at = batch_offset(batch, false);
    vec4 acc = vec4(0.0);
    uint end = column < columns ? depth : 0;
    for (uint k0 = lane; k0 < end; k0 += kLanes * kUnroll) {
      float r[kUnroll];
      [[unroll]] for (uint u = 0; u < kUnroll; ++u) {
        uint k = k0 + u * kLanes;
        r[u] = k < end ? right(right_at, k, column) : 0.0;
      }
      [[unroll]] for (uint u = 0; u < kUnroll; ++u) {
        uint k = k0 + u * kLanes;
        [[unroll]] for (uint i = 0; i < kRowsEach; ++i) {
          if (k < end && row0 + i < rows) acc[i] = fma(left(left_at, row0 + i, k), r[u], acc[i]);
        }
      }
    }
    sums[slot * kLanes + lane] = acc;
    barrier();
    [[unroll]] for (uint step = kLanes / 2; step > 0; step /= 2) {
      if (lane < step) sums[slot * kLanes + lane] += sums[slot * kLanes + lane + step];
      barrier();
    }
    if (column < columns && lane < kRowsEach && row0 + lane < rows) {
      uint row = row0 + lane, index = (batch * rows + row) * columns + column;
      y[index] = STORE(finish(sums[slot * kLanes][lane], channel_of(batch, row, column), index, alpha, beta));
    }
    if (kMoreBatches != 0) barrier();
    batch += gl_NumWorkGroups.z;
  } while (kMoreBatches != 0 && batch < batches);
}
