#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Each output is a chain of fma over the group's channels and the kernel's positions; each tap is interpolated.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kDims = 2;
layout(constant_id = 1) const uint kRows = 1;  // at most WICK_ROWS
layout(constant_id = 2) const uint kBias = 0;
layout(constant_id = 3) const uint kMask = 0;
#include "rows.glsl"

// n: images * blocks of output channels * pixels. channels: of x; group_channels: of the weight; outputs: of y;
// group_outputs: per group; shared_channels have the same offsets.
layout(push_constant) uniform Push {
  uint n, channels, group_channels, outputs, group_outputs, shared_channels;
  int extent[3], outer[3], kernel[3], stride[3], dilation[3], pad[3];
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) readonly buffer Offset { STORE offset[]; };
layout(binding = 3) readonly buffer Bias { STORE bias[]; };
layout(binding = 4) readonly buffer Mask { STORE mask[]; };
layout(binding = 5) writeonly buffer Out { STORE y[]; };

// Interpolates between the pixels around `at`; 0 outside. The corners are in row-major order.
float read_at(uint plane, float at[3]) {
  int base[3];
  float part[3];
  for (int d = 0; d < 3; ++d) {
    if (!(at[d] > -1.0 && at[d] < float(extent[d]))) return 0.0;
    float below = floor(at[d]);
    base[d] = int(below);
    part[d] = at[d] - below;
  }
  float sum = 0.0;
  for (int corner = 0; corner < (1 << kDims); ++corner) {
    float weight = 1.0;
    int index = 0;
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      int next = (corner >> (2 - d)) & 1, p = base[d] + next;
      weight = weight * (next != 0 ? part[d] : 1.0 - part[d]);
      inside = inside && p >= 0 && p < extent[d];
      index = index * extent[d] + p;
    }
    if (inside && weight != 0.0) sum = fma(weight, COMPUTE(x[plane + uint(index)]), sum);
  }
  return sum;
}

void main() {
  uint pixels = uint(outer[0] * outer[1] * outer[2]), plane = uint(extent[0] * extent[1] * extent[2]);
  uint window = uint(kernel[0] * kernel[1] * kernel[2]);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint pixel = i % pixels, blocks = blocks_of(group_outputs) * (outputs / group_outputs);
    uint image = i / pixels / blocks;
    Rows rows = rows_of(i / pixels % blocks, group_outputs);
    int place[3] = int[3](int(pixel) / (outer[1] * outer[2]), int(pixel) / outer[2] % outer[1],
                          int(pixel) % outer[2]);
    float sum[WICK_ROWS];
    for (uint r = 0; r < kRows; ++r) sum[r] = 0.0;
    for (uint c = 0; c < group_channels; ++c) {
      uint channel = rows.group * group_channels + c;
      uint first = (image * channels + channel) / shared_channels * window;
      for (uint k = 0; k < window; ++k) {
        int tap[3] = int[3](int(k) / (kernel[1] * kernel[2]), int(k) / kernel[2] % kernel[1],
                            int(k) % kernel[2]);
        float at[3];
        for (int d = 0; d < 3; ++d) {
          at[d] = float(place[d] * stride[d] - pad[d] + tap[d] * dilation[d]);
          if (d >= 3 - int(kDims))
            at[d] += COMPUTE(offset[((first + k) * kDims + uint(d - (3 - int(kDims)))) * pixels + pixel]);
        }
        float v = read_at((image * channels + channel) * plane, at);
        if (kMask != 0) v = v * COMPUTE(mask[(first + k) * pixels + pixel]);
        for (uint r = 0; r < kRows; ++r) {
          if (r < rows.count)
            sum[r] = fma(COMPUTE(w[((rows.first + r) * group_channels + c) * window + k]), v, sum[r]);
        }
      }
    }
    for (uint r = 0; r < kRows; ++r) {
      if (r >= rows.count) break;
      if (kBias != 0) sum[r] += COMPUTE(bias[rows.first + r]);
      y[(image * outputs + rows.first + r) * pixels + pixel] = STORE(sum[r]);
    }
  }
}
