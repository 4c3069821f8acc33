#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"

// Exact sums of byte products: 128 invocations compute a tile of 64 x 64, 8 x 4 each, from words of four k in shared
// memory. GATHER: right is the patches of an image, columns continue from one image to the next, and z is the group;
// otherwise z is the batch. Zero points are corrected at the end with the sums of each row and column.
layout(local_size_x = WICK_TILE_X, local_size_y = WICK_TILE_Y) in;

layout(push_constant) uniform Push {
  uint rows, columns, depth, batches;
  uint groups;     // of a convolution: there are groups * rows channels
  int known_zero;  // of the operand that is not the weight
  int y_zero, y_low;
  uint flags;      // WICK_BYTES_: push constants, so that few pipelines serve all calls
#if GATHER
  uint height, width, out_width, stride_h, stride_w, dilation_h, dilation_w;
  int pad_h, pad_w;
  uint kernel_h, kernel_w;
#else
  uint batch_dims[4];
  uint left_strides[4];
  uint right_strides[4];
#endif
#ifdef RUN
  float y_scale;
  uint call;
#endif
};
#include "byte_product.glsl"

const uint kTile = 64, kWords = 8, kVectors = kTile / 4;

shared uvec4 tile_left[2][kWords][kVectors + 1];
shared uvec4 tile_right[2][kWords][kVectors + 1];
shared int left_sums[kTile];
shared int right_sums[kTile];

#if !GATHER
#include "batch.glsl"
#endif

void main() {
  uint row0 = gl_WorkGroupID.y * kTile, column0 = gl_WorkGroupID.x * kTile;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y, thread = gl_LocalInvocationIndex;
  uint flip_left = (flags & WICK_BYTES_LEFT_UNSIGNED) != 0 ? 0x80808080u : 0u;
  uint flip_right = (flags & WICK_BYTES_RIGHT_UNSIGNED) != 0 ? 0x80808080u : 0u;
  int zero = zero_of(known_zero, flags);
  bool row_sums = (flags & WICK_BYTES_ROW_SUMS) != 0, column_sums = (flags & WICK_BYTES_COLUMN_SUMS) != 0;
  bool weight_left = (flags & WICK_BYTES_WEIGHT_LEFT) != 0, whole_words = (flags & WICK_BYTES_WHOLE_WORDS) != 0;
  uint left_k = thread % kWords, left_v = thread / kWords;
#if GATHER
  const bool along_k = false;
  uint zs = groups, all_columns = batches / groups * columns, channels_in = depth / (kernel_h * kernel_w);
#else
  bool along_k = (flags & WICK_BYTES_ALONG_K) != 0;
  uint zs = batches, all_columns = columns;
#endif
  uint right_k = along_k ? left_k : thread / kVectors, right_v = along_k ? left_v : thread % kVectors;
  uint channels = weight_left ? groups * rows : columns;
  for (uint z = gl_WorkGroupID.z; z < zs; z += gl_NumWorkGroups.z) {
#if GATHER
    uint left_at = z * rows * depth;
    int patch_h[4], patch_w[4];
    uint image_at[4];
    [[unroll]] for (uint q = 0; q < 4; ++q) {
      uint column = column0 + right_v * 4 + q, pixel = column % columns;
      patch_h[q] = int(pixel / out_width * stride_h) - pad_h;
      patch_w[q] = int(pixel % out_width * stride_w) - pad_w;
      image_at[q] = (column / columns * groups + z) * channels_in;
      if (column >= all_columns) patch_h[q] = -0x40000000;
    }
#else
    uint left_at = batch_offset(z, true), right_at = batch_offset(z, false);
#endif
    ivec4 acc[8], left_sum = ivec4(0), right_sum = ivec4(0);
    [[unroll]] for (uint i = 0; i < 8; ++i) acc[i] = ivec4(0);
    if (thread < kTile) {
      left_sums[thread] = 0;
      right_sums[thread] = 0;
    }
    uint tiles = (depth + kWords * 4 - 1) / (kWords * 4);
    for (uint t = 0; t <= tiles; ++t) {
      uvec4 l = uvec4(0), r = uvec4(0);
      if (t < tiles) {
        uint k = (t * kWords + left_k) * 4;
        [[unroll]] for (uint q = 0; q < 4; ++q) {
          uint row = row0 + left_v * 4 + q, at = left_at + row * depth + k;
          if (row < rows && k < depth) l[q] = tail_of(WORD_AT(left, at) ^ flip_left, k, depth);
          if (row_sums) left_sum[q] += dot4(l[q], 0x01010101u);
        }
        k = (t * kWords + right_k) * 4;
#if GATHER
        for (uint j = 0; j < 4 && k + j < depth; ++j) {
          uint kw = (k + j) % kernel_w, kh = (k + j) / kernel_w % kernel_h, c = (k + j) / (kernel_h * kernel_w);
          [[unroll]] for (uint q = 0; q < 4; ++q) {
            int ih = patch_h[q] + int(kh * dilation_h), iw = patch_w[q] + int(kw * dilation_w);
            uint byte = uint(zero) & 0xffu;  // padding contributes nothing
            if (uint(ih) < height && uint(iw) < width) {
              uint at = ((image_at[q] + c) * height + uint(ih)) * width + uint(iw);
              byte = ((right[at >> 2] ^ flip_right) >> ((at & 3u) * 8u)) & 0xffu;
            }
            r[q] |= byte << (j * 8u);
          }
        }
#else
        if (along_k) {
          [[unroll]] for (uint q = 0; q < 4; ++q) {
            uint column = column0 + right_v * 4 + q, at = right_at + column * depth + k;
            if (column < columns && k < depth) r[q] = tail_of(WORD_AT(right, at) ^ flip_right, k, depth);
          }
        } else {
          uint column = column0 + right_v * 4;
          for (uint j = 0; j < 4 && k + j < depth && column < columns; ++j) {
            uint at = right_at + (k + j) * columns + column, word = WORD_AT(right, at) ^ flip_right;
            [[unroll]] for (uint q = 0; q < 4; ++q) r[q] |= ((word >> (q * 8u)) & 0xffu) << (j * 8u);
          }
        }
#endif
        if (column_sums) {
          [[unroll]] for (uint q = 0; q < 4; ++q) right_sum[q] += dot4(r[q], 0x01010101u);
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
        tile_left[t % 2][left_k][left_v] = l;
        tile_right[t % 2][right_k][right_v] = r;
      }
      barrier();
    }
    [[unroll]] for (uint q = 0; q < 4; ++q) {
      if (row_sums) atomicAdd(left_sums[left_v * 4 + q], left_sum[q]);
      if (column_sums) atomicAdd(right_sums[right_v * 4 + q], right_sum[q]);
    }
    barrier();
    // Loops, so that a driver compiles the conversion once and not 32 times: that was nine tenths of its time. Sums are
    // selected, not indexed, and so stay in registers.
    for (uint i = 0; i < 8; ++i) {
      ivec4 sums = acc[0];
      [[unroll]] for (uint k = 1; k < 8; ++k) sums = i == k ? acc[k] : sums;
      uint local = (ty + i / 4 * WICK_TILE_Y) * 4 + i % 4, row = row0 + local;
      if (row >= rows) continue;
      uint word = 0, first = 0;
      for (uint j = 0; j < 4; ++j) {
        uint column = column0 + tx * 4 + j;
        if (column >= all_columns) break;
#if GATHER
        uint index = ((column / columns * groups + z) * rows + row) * columns + column % columns;
#else
        uint index = (z * rows + row) * columns + column;
#endif
        uint channel = weight_left ? z % groups * rows + row : column;
        int of_weight = int(table[channels + channel]);
        int left_zero = weight_left ? of_weight : zero, right_zero = weight_left ? zero : of_weight;
        int sum = sums[j] + int(depth) * left_zero * right_zero;
        if (row_sums) sum -= right_zero * left_sums[local];
        if (column_sums) sum -= left_zero * right_sums[tx * 4 + j];
        uint bits = result_of(sum, channel, (flags & WICK_BYTES_BIAS) != 0, y_zero, y_low);
        if (kResult != WICK_BYTES_TO_BYTES) {
          y[index] = bits;
        } else if (whole_words) {
          if (j == 0) first = index;
          word |= bits << (j * 8u);
        } else {
          store_byte(index, bits);
        }
      }
      if (kResult == WICK_BYTES_TO_BYTES && whole_words && column0 + tx * 4 < all_columns) y[first >> 2] = word;
    }
    barrier();
  }
}
