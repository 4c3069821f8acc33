#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// The product of 16-bit floats on a device's matrix units, summed in 32 bits: eight subgroups of 32 compute a tile of
// 128 x 128 outputs, each 64 x 32 as 4 x 2 matrices of 16 x 16. Depth and the rows of both operands are multiples of
// eight elements, so only whole vectors are fetched. The device determines the order of a sum.
layout(local_size_x = WICK_MATRIX_THREADS) in;

#include "product.glsl"

layout(binding = 0) readonly buffer InVectors { uvec4 x8[]; };
layout(binding = 1) readonly buffer WeightVectors { uvec4 w8[]; };

const uint kTile = WICK_MATRIX_TILE, kDepth = 32, kSide = 16;
// In vectors of eight: a tile of 128 rows along k, or of 32 rows along columns; one extra per row avoids bank
// conflicts.
const uint kAlongK = kDepth / 8 + 1, kAlongColumns = kTile / 8 + 1;
const uint kLoads = kTile * kDepth / 8 / WICK_MATRIX_THREADS;

shared uvec4 tile_left[kTile * kAlongK];
shared uvec4 tile_right[kTile * kAlongK];  // at least 32 * kAlongColumns
shared float results[WICK_MATRIX_THREADS / 32][kSide * kSide];

void main() {
  uint row0 = gl_WorkGroupID.y * kTile, column0 = gl_WorkGroupID.x * kTile, thread = gl_LocalInvocationIndex;
  uint lane = gl_SubgroupInvocationID;
  uint my_row = gl_SubgroupID / 4 * 64, my_column = gl_SubgroupID % 4 * 32;  // of the tile
  for (uint batch = gl_WorkGroupID.z; batch < batches; batch += gl_NumWorkGroups.z) {
    uint left_at = batch_offset(batch, true) / 8, right_at = batch_offset(batch, false) / 8;
    fcoopmatNV<32, gl_ScopeSubgroup, 16, 16> acc[4][2];
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      [[unroll]] for (uint j = 0; j < 2; ++j) acc[i][j] = fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>(0.0);
    }
    uvec4 next_left[kLoads], next_right[kLoads];
    for (uint k0 = 0; k0 < depth + kDepth; k0 += kDepth) {
      if (k0 > 0) {
        barrier();
        [[unroll]] for (uint l = 0; l < kLoads; ++l) {
          uint e = thread + l * WICK_MATRIX_THREADS;
          tile_left[e / (kDepth / 8) * kAlongK + e % (kDepth / 8)] = next_left[l];
          if (kTransposed != 0) {
            tile_right[e / (kDepth / 8) * kAlongK + e % (kDepth / 8)] = next_right[l];
          } else {
            tile_right[e / (kTile / 8) * kAlongColumns + e % (kTile / 8)] = next_right[l];
          }
        }
        barrier();
      }
      if (k0 < depth) {
        [[unroll]] for (uint l = 0; l < kLoads; ++l) {
          uint e = thread + l * WICK_MATRIX_THREADS;
          uint k = k0 + e % (kDepth / 8) * 8, line = e / (kDepth / 8);
          next_left[l] = uvec4(0);
          next_right[l] = uvec4(0);
          if (row0 + line < rows && k < depth) next_left[l] = x8[left_at + ((row0 + line) * depth + k) / 8];
          if (kTransposed != 0) {
            if (column0 + line < columns && k < depth) {
              next_right[l] = w8[right_at + ((column0 + line) * depth + k) / 8];
            }
          } else {
            uint kr = k0 + e / (kTile / 8), column = column0 + e % (kTile / 8) * 8;
            if (kr < depth && column < columns) next_right[l] = w8[right_at + (kr * columns + column) / 8];
          }
        }
      }
      if (k0 == 0) continue;
      [[unroll]] for (uint k = 0; k < kDepth; k += kSide) {
        fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> l[4], r[2];
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          coopMatLoadNV(l[i], tile_left, (my_row + i * kSide) * kAlongK + k / 8, kAlongK, false);
        }
        [[unroll]] for (uint j = 0; j < 2; ++j) {
          uint column = my_column + j * kSide;
          if (kTransposed != 0) {
            coopMatLoadNV(r[j], tile_right, column * kAlongK + k / 8, kAlongK, true);
          } else {
            coopMatLoadNV(r[j], tile_right, k * kAlongColumns + column / 8, kAlongColumns, false);
          }
        }
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          [[unroll]] for (uint j = 0; j < 2; ++j) acc[i][j] = coopMatMulAddNV(l[i], r[j], acc[i][j]);
        }
      }
    }
    // The device determines which invocation has which output, so they go through shared memory.
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      [[unroll]] for (uint j = 0; j < 2; ++j) {
        barrier();
        coopMatStoreNV(acc[i][j], results[gl_SubgroupID], 0, kSide, false);
        barrier();
        [[unroll]] for (uint e = 0; e < kSide * kSide / 32; ++e) {
          uint at = e * 32 + lane;
          uint row = row0 + my_row + i * kSide + at / kSide, column = column0 + my_column + j * kSide + at % kSide;
          if (row >= rows || column >= columns) continue;
          uint index = (batch * rows + row) * columns + column;
          float v = finish(results[gl_SubgroupID][at], channel_of(batch, row, column), index, alpha, beta);
          y[index] = STORE(v);
        }
      }
    }
  }
}
