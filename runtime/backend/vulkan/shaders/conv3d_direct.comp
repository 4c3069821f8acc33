#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"

// Each output is one chain of fma over the group's channels, then the kernel's positions.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 2) const uint kRows = 1;  // at most WICK_ROWS
#include "rows.glsl"

// n: images * blocks of output channels * pixels; outputs: output channels per group; channels: input channels per
// group.
layout(push_constant) uniform Push {
  uint n, outputs, groups, channels;
  float alpha, beta;
  int extent[3], outer[3], kernel[3], stride[3], dilation[3], pad[3];
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

#include "epilogue.glsl"

void main() {
  uint plane = uint(extent[0] * extent[1] * extent[2]), pixels = uint(outer[0] * outer[1] * outer[2]);
  uint column = channels * uint(kernel[0] * kernel[1] * kernel[2]), blocks = groups * blocks_of(outputs);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i;
    int start[3];
    for (int d = 2; d >= 0; --d) {
      start[d] = int(rest % uint(outer[d])) * stride[d] - pad[d];
      rest /= uint(outer[d]);
    }
    Rows rows = rows_of(rest % blocks, outputs);
    uint image = rest / blocks, from = (image * groups + rows.group) * channels * plane;
    uint weight = rows.first * column;
    float sum[WICK_ROWS];
    for (uint r = 0; r < kRows; ++r) sum[r] = 0.0;
    for (uint c = 0; c < channels; ++c, from += plane) {
      for (int k0 = 0; k0 < kernel[0]; ++k0) {
        int p0 = start[0] + k0 * dilation[0];
        for (int k1 = 0; k1 < kernel[1]; ++k1) {
          int p1 = start[1] + k1 * dilation[1];
          bool inside = p0 >= 0 && p0 < extent[0] && p1 >= 0 && p1 < extent[1];
          for (int k2 = 0; k2 < kernel[2]; ++k2, ++weight) {
            int p2 = start[2] + k2 * dilation[2];
            bool read = inside && p2 >= 0 && p2 < extent[2];
            float v = read ? COMPUTE(x[from + uint((p0 * extent[1] + p1) * extent[2] + p2)]) : 0.0;
            for (uint r = 0; r < kRows; ++r) {
              if (r < rows.count) sum[r] = fma(COMPUTE(w[weight + r * column]), v, sum[r]);
            }
          }
        }
      }
    }
    for (uint r = 0; r < kRows; ++r) {
      if (r >= rows.count) break;
      uint at = (image * groups * outputs + rows.first + r) * pixels + i % pixels;
      y[at] = STORE(finish(sum[r], rows.first + r, at, alpha, beta));
    }
  }
}
