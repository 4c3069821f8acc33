#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"

// One invocation an output: for groups of few output channels (depthwise), where tiles would be mostly empty.
layout(local_size_x = WICK_FLAT_SIZE) in;

layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

#include "epilogue.glsl"
#include "conv.glsl"

void main() {
  uint n = batches * rows * columns;
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint pixel = i % columns;
    uint row = (i / columns) % rows;
    uint batch = i / columns / rows;
    uint channel = (batch % groups) * rows + row;
    float acc = 0.0;
    for (uint k = 0; k < depth; ++k) {
      acc = fma(COMPUTE(w[channel * depth + k]), tap(batch, k, pixel), acc);
    }
    y[i] = STORE(finish(acc, channel, i, alpha, beta));
  }
}
