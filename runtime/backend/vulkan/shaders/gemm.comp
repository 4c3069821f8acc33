#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// The product in registers: 128 invocations compute a tile of 8 * ROWS x 16 * COLUMNS outputs, ROWS x COLUMNS each,
// from two tiles of operands in shared memory, of which the next one is loaded while one is used. Each output is one
// chain of fma, k ascending, as in matmul.comp. docs/inside/vulkan-kernels.md has the calculation.
layout(local_size_x = WICK_TILE_X, local_size_y = WICK_TILE_Y) in;

#include "product.glsl"

const uint kThreads = WICK_TILE_X * WICK_TILE_Y;
const uint kTileRows = WICK_TILE_Y * ROWS, kTileColumns = WICK_TILE_X * COLUMNS;
// A vector holds one k of four consecutive rows, or of four columns that are kStep apart, so that neighbouring
// invocations access neighbouring addresses.
const uint kRowVectors = kTileRows / 4, kColumnVectors = kTileColumns / 4, kStep = kColumnVectors;
const uint kRightLoads = kColumnVectors * DEPTH / kThreads;

// One extra vector per row, so that storing down a column uses every bank.
shared vec4 tile_left[2][DEPTH][kRowVectors + 1];
shared vec4 tile_right[2][DEPTH][kColumnVectors + 1];

void main() {
  uint row0 = gl_WorkGroupID.y * kTileRows, column0 = gl_WorkGroupID.x * kTileColumns;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y, thread = gl_LocalInvocationIndex;
  // This invocation fetches one vector of left and kRightLoads of right.
  uint left_k = thread % DEPTH, left_v = thread / DEPTH;
  uint left_row = row0 + left_v * 4;
#if GATHER
  // Columns continue from one image to the next, so that a small map fills its tile; z is the group.
  const bool along_k = false;
  uint images = batches / groups, all_columns = images * columns, zs = groups;
  uint channels = depth / (kKernelH * kKernelW);
#else
  const bool along_k = kTransposed != 0;
  uint all_columns = columns, zs = batches;
#endif
  uint right_k = along_k ? thread % DEPTH : thread / kColumnVectors;
  uint right_v = along_k ? thread / DEPTH : thread % kColumnVectors;
  uint next_k = along_k ? 0 : kThreads / kColumnVectors, next_v = along_k ? kThreads / DEPTH : 0;

  for (uint z = gl_WorkGroupID.z; z < zs; z += gl_NumWorkGroups.z) {
#if GATHER
    uint left_at = (z * rows + left_row) * depth;
    int patch_h[4], patch_w[4];
    uint image_at[4];
    [[unroll]] for (uint q = 0; q < 4; ++q) {
      uint column = column0 + right_v + q * kStep, pixel = column % columns;
      patch_h[q] = int((pixel / out_width) * kStrideH) - pad_h;
      patch_w[q] = int((pixel % out_width) * kStrideW) - pad_w;
      image_at[q] = (column / columns * groups + z) * channels;
      if (column >= all_columns) patch_h[q] = -0x40000000;  // outside of every image
    }
#else
    uint left_at = batch_offset(z, true) + left_row * depth, right_at = batch_offset(z, false);
#endif
    vec4 acc[ROWS][COLUMNS / 4];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      [[unroll]] for (uint j = 0; j < COLUMNS / 4; ++j) acc[i][j] = vec4(0.0);
    }
    uint tiles = (depth + DEPTH - 1) / DEPTH;
    for (uint t = 0; t <= tiles; ++t) {
      vec4 fetched_left = vec4(0.0), fetched_right[kRightLoads];
      if (t < tiles) {
        uint k = t * DEPTH + left_k;
        [[unroll]] for (uint q = 0; q < 4; ++q) {
#if GATHER
          if (k < depth && left_row + q < rows) fetched_left[q] = COMPUTE(w[left_at + q * depth + k]);
#else
          if (k < depth && left_row + q < rows) fetched_left[q] = COMPUTE(x[left_at + q * depth + k]);
#endif
        }
        [[unroll]] for (uint l = 0; l < kRightLoads; ++l) {
          uint kr = t * DEPTH + right_k + l * next_k;
          fetched_right[l] = vec4(0.0);
#if GATHER
          uint kw = kr % kKernelW, kh = kr / kKernelW % kKernelH, channel = kr / (kKernelH * kKernelW);
          [[unroll]] for (uint q = 0; q < 4; ++q) {
            int ih = patch_h[q] + int(kh * kDilationH), iw = patch_w[q] + int(kw * kDilationW);
            if (uint(ih) < height && uint(iw) < width && kr < depth) {
              fetched_right[l][q] = COMPUTE(x[((image_at[q] + channel) * height + uint(ih)) * width + uint(iw)]);
            }
          }
#else
          [[unroll]] for (uint q = 0; q < 4; ++q) {
            uint column = column0 + right_v + l * next_v + q * kStep;
            if (kr < depth && column < columns) fetched_right[l][q] = right(right_at, kr, column);
          }
#endif
        }
      }
      if (t > 0) {
        uint from = (t - 1) % 2;
        [[unroll]] for (uint k = 0; k < DEPTH; ++k) {
          vec4 l[ROWS / 4], r[COLUMNS / 4];
          [[unroll]] for (uint i = 0; i < ROWS / 4; ++i) l[i] = tile_left[from][k][ty + i * WICK_TILE_Y];
          [[unroll]] for (uint j = 0; j < COLUMNS / 4; ++j) r[j] = tile_right[from][k][tx + j * WICK_TILE_X];
          [[unroll]] for (uint i = 0; i < ROWS; ++i) {
            [[unroll]] for (uint j = 0; j < COLUMNS / 4; ++j) acc[i][j] = fma(vec4(l[i / 4][i % 4]), r[j], acc[i][j]);
          }
        }
      }
      if (t < tiles) {
        // The tile that is written now was last read before the previous step's barrier.
        tile_left[t % 2][left_k][left_v] = fetched_left;
        [[unroll]] for (uint l = 0; l < kRightLoads; ++l) {
          tile_right[t % 2][right_k + l * next_k][right_v + l * next_v] = fetched_right[l];
        }
      }
      barrier();
    }
    [[unroll]] for (uint j = 0; j < COLUMNS / 4; ++j) {
      [[unroll]] for (uint q = 0; q < 4; ++q) {
        uint column = column0 + tx + j * WICK_TILE_X + q * kStep;
        if (column >= all_columns) continue;
#if GATHER
        uint batch = column / columns * groups + z, pixel = column % columns;
#else
        uint batch = z, pixel = column;
#endif
        [[unroll]] for (uint i = 0; i < ROWS; ++i) {
          uint row = row0 + (ty + i / 4 * WICK_TILE_Y) * 4 + i % 4;
          if (row >= rows) continue;
          uint index = (batch * rows + row) * columns + pixel;
          y[index] = STORE(finish(acc[i][j][q], channel_of(batch, row, pixel), index, alpha, beta));
        }
      }
    }
  }
}
