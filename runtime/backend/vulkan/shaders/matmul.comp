#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// Tiled product, y[batch] = left[batch] (rows x depth) * right[batch] (depth x columns). GATHER: left is the weight and
// right the patches of an image (implicit GEMM). Each output is one chain of fma, k ascending.
layout(local_size_x = WICK_TILE_X, local_size_y = WICK_TILE_Y) in;

#include "product.glsl"

const uint kTileRows = WICK_TILE_Y * kRowsEach;
const uint kColumnsEach = WICK_TILE_COLUMNS / WICK_TILE_X;
const uint kThreads = WICK_TILE_X * WICK_TILE_Y;

shared float tile_left[WICK_TILE_Y * 4 * WICK_TILE_K];  // for kRowsEach up to 4
shared float tile_right[WICK_TILE_K * WICK_TILE_COLUMNS];

void main() {
  uint row0 = gl_WorkGroupID.y * kTileRows;
  uint column0 = gl_WorkGroupID.x * WICK_TILE_COLUMNS;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y;
  uint thread = gl_LocalInvocationIndex;
  for (uint batch = gl_WorkGroupID.z; batch < batches; batch += gl_NumWorkGroups.z) {
#if GATHER
    uint left_at = batch, right_at = batch;
#else
    uint left_at = batch_offset(batch, true), right_at = batch_offset(batch, false);
#endif
    float acc[4][kColumnsEach];
    for (uint i = 0; i < 4; ++i) {
      for (uint j = 0; j < kColumnsEach; ++j) acc[i][j] = 0.0;
    }
    for (uint k0 = 0; k0 < depth; k0 += WICK_TILE_K) {
      for (uint e = thread; e < kTileRows * WICK_TILE_K; e += kThreads) {
        uint row = row0 + e / WICK_TILE_K, k = k0 + e % WICK_TILE_K;
        tile_left[e] = row < rows && k < depth ? left(left_at, row, k) : 0.0;
      }
      for (uint e = thread; e < WICK_TILE_K * WICK_TILE_COLUMNS; e += kThreads) {
        // Neighbouring invocations read neighbouring addresses in either storage order.
        bool along_k = kTransposed != 0;
        uint kk = along_k ? e % WICK_TILE_K : e / WICK_TILE_COLUMNS;
        uint jj = along_k ? e / WICK_TILE_K : e % WICK_TILE_COLUMNS;
        uint k = k0 + kk, column = column0 + jj;
        tile_right[kk * WICK_TILE_COLUMNS + jj] =
            k < depth && column < columns ? right(right_at, k, column) : 0.0;
      }
      barrier();
      uint steps = min(WICK_TILE_K, depth - k0);
      for (uint kk = 0; kk < steps; ++kk) {
        float r[kColumnsEach];
        for (uint j = 0; j < kColumnsEach; ++j) {
          r[j] = tile_right[kk * WICK_TILE_COLUMNS + tx + j * WICK_TILE_X];
        }
        for (uint i = 0; i < kRowsEach; ++i) {
          float l = tile_left[(ty + i * WICK_TILE_Y) * WICK_TILE_K + kk];
          for (uint j = 0; j < kColumnsEach; ++j) acc[i][j] = fma(l, r[j], acc[i][j]);
        }
      }
      barrier();
    }
    for (uint i = 0; i < kRowsEach; ++i) {
      uint row = row0 + ty + i * WICK_TILE_Y;
      for (uint j = 0; j < kColumnsEach; ++j) {
        uint column = column0 + tx + j * WICK_TILE_X;
        if (row >= rows || column >= columns) continue;
        uint index = (batch * rows + row) * columns + column;
        y[index] = STORE(finish(acc[i][j], channel_of(batch, row, column), index, alpha, beta));
      }
    }
  }
}
