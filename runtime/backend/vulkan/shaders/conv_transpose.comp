#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "sources.glsl"

// Every output gathers the inputs that reach it in one chain of fma: channels of the group, then kernel positions.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRows = 1;  // at most WICK_ROWS
layout(constant_id = 1) const uint kBias = 0;
#include "rows.glsl"

// n: images * blocks of output channels * pixels. x[N, groups * channels, extent...], w[groups * channels, outputs,
// kernel...], y[N, groups * outputs, outer...]
layout(push_constant) uniform Push {
  uint n, groups, channels, outputs;
  int extent[3], outer[3], kernel[3], stride[3], dilation[3], pad[3], k_step[3], q_step[3];
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Weight { STORE w[]; };
layout(binding = 2) readonly buffer Bias { STORE bias[]; };
layout(binding = 3) writeonly buffer Out { STORE y[]; };

void main() {
  uint plane = uint(extent[0] * extent[1] * extent[2]), pixels = uint(outer[0] * outer[1] * outer[2]);
  uint blocks = groups * blocks_of(outputs), window = uint(kernel[0] * kernel[1] * kernel[2]);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i;
    Sources s[3];
    for (int d = 2; d >= 0; --d) {
      int at = int(rest % uint(outer[d])) + pad[d];
      s[d] = sources(at, extent[d], kernel[d], stride[d], dilation[d], k_step[d], q_step[d]);
      rest /= uint(outer[d]);
    }
    Rows rows = rows_of(rest % blocks, outputs);
    uint image = rest / blocks, first = rows.group * channels;
    float sum[WICK_ROWS];
    for (uint r = 0; r < kRows; ++r) sum[r] = 0.0;
    for (uint c = 0; c < channels; ++c) {
      uint from = (image * groups * channels + first + c) * plane;
      uint weight = ((first + c) * outputs + rows.first % outputs) * window;
      for (int a = 0; a < s[0].count; ++a) {
        for (int b = 0; b < s[1].count; ++b) {
          int row = ((s[0].q - a * q_step[0]) * extent[1] + s[1].q - b * q_step[1]) * extent[2] + s[2].q;
          int k_row = ((s[0].k + a * k_step[0]) * kernel[1] + s[1].k + b * k_step[1]) * kernel[2] + s[2].k;
          for (int k = 0; k < s[2].count; ++k) {
            float v = COMPUTE(x[from + uint(row - k * q_step[2])]);
            uint tap = weight + uint(k_row + k * k_step[2]);
            for (uint r = 0; r < kRows; ++r) {
              if (r < rows.count) sum[r] = fma(COMPUTE(w[tap + r * window]), v, sum[r]);
            }
          }
        }
      }
    }
    for (uint r = 0; r < kRows; ++r) {
      if (r >= rows.count) break;
      if (kBias != 0) sum[r] += COMPUTE(bias[rows.first + r]);
      y[(image * groups * outputs + rows.first + r) * pixels + i % pixels] = STORE(sum[r]);
    }
  }
}
