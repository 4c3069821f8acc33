#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "sources.glsl"

// Every pixel adds the values of the windows that cover it, in the order of the kernel's positions.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kDims = 2;  // at most 6

// x[planes, kernel positions, columns]. table: WICK_COL2IM_ words per dim.
layout(push_constant) uniform Push { uint n, positions, columns; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Table { int table[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

int word(int d, int which) { return table[d * WICK_COL2IM_WORDS + which]; }

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i;
    int ways = 1;
    Sources s[6];
    for (int d = int(kDims) - 1; d >= 0; --d) {
      uint extent = uint(word(d, WICK_COL2IM_EXTENT));
      s[d] = sources(int(rest % extent) + word(d, WICK_COL2IM_PAD), word(d, WICK_COL2IM_WINDOWS),
                     word(d, WICK_COL2IM_BLOCK), word(d, WICK_COL2IM_STRIDE), word(d, WICK_COL2IM_DILATION),
                     word(d, WICK_COL2IM_K_STEP), word(d, WICK_COL2IM_Q_STEP));
      rest /= extent;
      ways *= s[d].count;
    }
    uint plane = rest * positions * columns;
    float sum = 0.0;
    for (int way = 0; way < ways; ++way) {
      int row = 0, column = 0, digits = ways, left = way;
      for (int d = 0; d < int(kDims); ++d) {
        digits /= s[d].count;
        int k = left / digits;
        left %= digits;
        row = row * word(d, WICK_COL2IM_BLOCK) + s[d].k + k * word(d, WICK_COL2IM_K_STEP);
        column = column * word(d, WICK_COL2IM_WINDOWS) + s[d].q - k * word(d, WICK_COL2IM_Q_STEP);
      }
      sum += COMPUTE(x[plane + uint(row) * columns + uint(column)]);
    }
    y[i] = STORE(sum);
  }
}
