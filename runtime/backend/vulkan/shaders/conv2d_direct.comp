#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// For few output channels per group (depthwise), where tiles would be mostly empty: an invocation computes kPixels
// outputs of a row with each weight that it reads. They are a part of the row apart, so that neighbouring invocations
// access neighbouring addresses.
layout(local_size_x = WICK_FLAT_SIZE) in;

layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

#include "epilogue.glsl"
#include "conv.glsl"

const uint kPixels = WICK_DIRECT_PIXELS;

void main() {
  uint across = (out_width + kPixels - 1) / kPixels, out_height = columns / out_width;
  uint n = batches * rows * out_height * across, channels = depth / (kKernelH * kKernelW);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint ox = i % across, oy = i / across % out_height, rest = i / across / out_height;
    uint row = rest % rows, batch = rest / rows, channel = batch % groups * rows + row;
    int h0 = int(oy * kStrideH) - pad_h;
    int w0[kPixels];
    float acc[kPixels];
    [[unroll]] for (uint q = 0; q < kPixels; ++q) {
      w0[q] = int((ox + q * across) * kStrideW) - pad_w;
      acc[q] = 0.0;
    }
    uint tap_at = channel * depth;
    for (uint c = 0; c < channels; ++c) {
      for (uint kh = 0; kh < kKernelH; ++kh) {
        int ih = h0 + int(kh * kDilationH);
        bool row_inside = uint(ih) < height;
        uint row_at = ((batch * channels + c) * height + uint(ih)) * width;
        [[unroll]] for (uint kw = 0; kw < kKernelW; ++kw) {
          float weight = COMPUTE(w[tap_at + kw]);
          [[unroll]] for (uint q = 0; q < kPixels; ++q) {
            int iw = w0[q] + int(kw * kDilationW);
            float v = 0.0;
            if (row_inside && uint(iw) < width) v = COMPUTE(x[row_at + uint(iw)]);
            acc[q] = fma(weight, v, acc[q]);
          }
        }
        tap_at += kKernelW;
      }
    }
    [[unroll]] for (uint q = 0; q < kPixels; ++q) {
      uint column = ox + q * across;
      if (column >= out_width) break;
      uint index = (batch * rows + row) * columns + oy * out_width + column;
      y[index] = STORE(finish(acc[q], channel, index, alpha, beta));
    }
  }
}
