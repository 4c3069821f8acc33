#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Determinants by elimination with the largest pivot of each column, one work group per matrix, one lane per row.
layout(local_size_x = WICK_DET_SIZE) in;

layout(push_constant) uniform Push { uint matrices, size; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) writeonly buffer Out { float y[]; };

shared float rows[WICK_DET_SIZE][WICK_DET_SIZE];
shared uint pivot_row;

void main() {
  uint lane = gl_LocalInvocationIndex;
  for (uint m = gl_WorkGroupID.x; m < matrices; m += gl_NumWorkGroups.x) {
    for (uint j = 0; lane < size && j < size; ++j) rows[lane][j] = x[(m * size + lane) * size + j];
    float product = 1.0;
    bool is_zero = false;
    for (uint k = 0; k < size; ++k) {
      barrier();
      if (lane == 0) {
        uint best = k;
        for (uint i = k + 1; i < size; ++i) {
          if (abs(rows[i][k]) > abs(rows[best][k])) best = i;
        }
        pivot_row = best;
      }
      barrier();
      uint best = pivot_row;
      // Lane j exchanges element j of the two rows.
      if (best != k && lane < size) {
        float held = rows[k][lane];
        rows[k][lane] = rows[best][lane];
        rows[best][lane] = held;
      }
      barrier();
      float pivot = rows[k][k];
      if (!is_zero) product *= best == k ? pivot : -pivot;
      is_zero = is_zero || pivot == 0.0;
      if (!is_zero && lane > k && lane < size) {
        precise float factor = rows[lane][k] / pivot;
        for (uint j = k + 1; j < size; ++j) rows[lane][j] = fma(-factor, rows[k][j], rows[lane][j]);
      }
    }
    barrier();
    if (lane == 0) y[m] = product;
  }
}
