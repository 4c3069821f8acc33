#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"
#include "typed.glsl"
#include "math.glsl"
#include "byte_product.glsl"
#include "number.glsl"
#include "divide.glsl"

// DynamicLinear in tiles of 64 x 64, 8 x 4 per invocation, from words of four k in shared memory as in byte_gemm.comp.
// Rows of x are quantized as they are fetched, after a pass over them for their ranges.
layout(local_size_x = WICK_TILE_X, local_size_y = WICK_TILE_Y) in;
layout(constant_id = 1) const uint kScales = 0;  // 1: one weight scale per column
layout(constant_id = 2) const uint kBias = 0;
layout(constant_id = 3) const uint kChecked = 0;  // 1: scales are known only in a run, so they are checked

layout(push_constant) uniform Push { uint rows, columns, depth, call; };
layout(binding = 5) buffer Fault { uint fault; };

const uint kTile = 64, kWords = 8, kVectors = kTile / 4, kRangeRows = kTile;
#include "dynamic_row.glsl"

shared uvec4 tile_left[2][kWords][kVectors + 1];
shared uvec4 tile_right[2][kWords][kVectors + 1];
shared int right_sums[kTile];

void main() {
  uint row0 = gl_WorkGroupID.y * kTile, column0 = gl_WorkGroupID.x * kTile;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y, thread = gl_LocalInvocationIndex;
  uint fetched_k = thread % kWords, fetched_v = thread / kWords;
  if (thread < kTile) right_sums[thread] = 0;
  find_ranges(thread, row0, rows, depth);

  ivec4 acc[8], right_sum = ivec4(0);
  [[unroll]] for (uint i = 0; i < 8; ++i) acc[i] = ivec4(0);
  uint tiles = (depth + kWords * 4 - 1) / (kWords * 4);
  for (uint t = 0; t <= tiles; ++t) {
    uvec4 l = uvec4(0), r = uvec4(0);
    if (t < tiles) {
      uint k = (t * kWords + fetched_k) * 4;
      for (uint q = 0; q < 4; ++q) {
        uint local = fetched_v * 4 + q, column = column0 + local;
        if (row0 + local < rows) l[q] = row_word((row0 + local) * depth, k, depth, ranges[local]);
        if (column < columns && k < depth) r[q] = tail_of(WORD_AT(right, column * depth + k), k, depth);
        right_sum[q] += dot4(r[q], 0x01010101u);
      }
    }
    if (t > 0) {
      uint from = (t - 1) % 2;
      for (uint k = 0; k < kWords; ++k) {
        uvec4 low = tile_left[from][k][ty], high = tile_left[from][k][ty + WICK_TILE_Y];
        uvec4 b = tile_right[from][k][tx];
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          [[unroll]] for (uint j = 0; j < 4; ++j) {
            acc[i][j] += dot4(low[i], b[j]);
            acc[i + 4][j] += dot4(high[i], b[j]);
          }
        }
      }
    }
    if (t < tiles) {
      tile_left[t % 2][fetched_k][fetched_v] = l;
      tile_right[t % 2][fetched_k][fetched_v] = r;
    }
    barrier();
  }
  [[unroll]] for (uint q = 0; q < 4; ++q) atomicAdd(right_sums[fetched_v * 4 + q], right_sum[q]);
  barrier();
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    uint local = (ty + i / 4 * WICK_TILE_Y) * 4 + i % 4, row = row0 + local;
    if (row >= rows) continue;
    RowRange range = ranges[local];
    int zero = int(range.zero) - 128;
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      uint column = column0 + tx * 4 + j;
      if (column < columns) {
        y[row * columns + column] = row_result(acc[i][j] - zero * right_sums[tx * 4 + j], range, column);
      }
    }
  }
}
