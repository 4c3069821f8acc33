#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"
#include "typed.glsl"
#include "math.glsl"
#include "byte_product.glsl"
#include "number.glsl"
#include "divide.glsl"

// DynamicLinear with few rows, limited by the size of the weights: 32 invocations share a column, and each of its words
// is read once for kRows rows of x. These are quantized into shared memory, a piece at a time.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 1) const uint kScales = 0;  // 1: one weight scale per column
layout(constant_id = 2) const uint kBias = 0;
layout(constant_id = 3) const uint kChecked = 0;  // 1: scales are known only in a run, so they are checked

layout(push_constant) uniform Push { uint rows, columns, depth, call; };
layout(binding = 5) buffer Fault { uint fault; };

const uint kRows = WICK_BLOCK_ROWS, kLanes = 32, kColumns = WICK_FLAT_SIZE / kLanes, kPiece = 64;  // kPiece: in words
const uint kRangeRows = kRows;
#include "dynamic_row.glsl"

shared uint piece[kRows][kPiece];
shared int sums[kRows][kColumns];
shared int weight_sums[kColumns];

void main() {
  uint thread = gl_LocalInvocationIndex, lane = thread % kLanes, slot = thread / kLanes;
  uint column = gl_WorkGroupID.x * kColumns + slot, words = (depth + 3) / 4;
  for (uint row0 = gl_WorkGroupID.y * kRows; row0 < rows; row0 += gl_NumWorkGroups.y * kRows) {
    if (thread < kRows * kColumns) sums[thread / kColumns][thread % kColumns] = 0;
    if (thread < kColumns) weight_sums[thread] = 0;
    find_ranges(thread, row0, rows, depth);
    int acc[kRows], weight_sum = 0;
    [[unroll]] for (uint r = 0; r < kRows; ++r) acc[r] = 0;
    for (uint first = 0; first < words; first += kPiece) {
      for (uint i = thread; i < kRows * kPiece; i += WICK_FLAT_SIZE) {
        uint r = i / kPiece, at = i % kPiece, row = row0 + r;
        piece[r][at] = row < rows ? row_word(row * depth, (first + at) * 4, depth, ranges[r]) : 0u;
      }
      barrier();
      for (uint at = lane; at < kPiece && first + at < words && column < columns; at += kLanes) {
        uint k = (first + at) * 4, word = tail_of(WORD_AT(right, column * depth + k), k, depth);
        weight_sum += dot4(word, 0x01010101u);
        [[unroll]] for (uint r = 0; r < kRows; ++r) acc[r] += dot4(piece[r][at], word);
      }
      barrier();
    }
    [[unroll]] for (uint r = 0; r < kRows; ++r) atomicAdd(sums[r][slot], acc[r]);
    atomicAdd(weight_sums[slot], weight_sum);
    barrier();
    if (lane < kRows && row0 + lane < rows && column < columns) {
      RowRange range = ranges[lane];
      int sum = sums[lane][slot] - (int(range.zero) - 128) * weight_sums[slot];
      y[(row0 + lane) * columns + column] = row_result(sum, range, column);
    }
    barrier();
  }
}
