// Shared by both shaders for products: the operands and the output. left is rows x depth; right is depth x columns, or
// stored as columns x depth (kTransposed: Linear's weight). GATHER: left is the weight, right the patches of an image
// (implicit GEMM).
layout(constant_id = 2) const uint kRowsEach = 4;    // for matmul.comp: rows per invocation
layout(constant_id = 3) const uint kTransposed = 0;

layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

#include "epilogue.glsl"

#if GATHER
#include "conv.glsl"
float left(uint batch, uint row, uint k) {
  return COMPUTE(w[((batch % groups) * rows + row) * depth + k]);
}
float right(uint batch, uint k, uint column) { return tap(batch, k, column); }
uint channel_of(uint batch, uint row, uint column) { return (batch % groups) * rows + row; }
#else
// A stride is 0 if the operand is broadcast over that batch dim.
layout(push_constant) uniform Push {
  uint rows, columns, depth, batches;
  float alpha, beta;
  uint batch_dims[4];
  uint left_strides[4];
  uint right_strides[4];
};
#include "batch.glsl"
float left(uint offset, uint row, uint k) { return COMPUTE(x[offset + row * depth + k]); }
float right(uint offset, uint k, uint column) {
  return COMPUTE(w[offset + (kTransposed != 0 ? column * depth + k : k * columns + column)]);
}
uint channel_of(uint batch, uint row, uint column) { return column; }
#endif
