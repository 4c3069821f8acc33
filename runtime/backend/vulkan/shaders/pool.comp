#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kKind = WICK_POOL_MAX;
layout(constant_id = 1) const uint kCountPadding = 0;

layout(push_constant) uniform Push {
  uint n;  // planes * out_height * out_width
  uint out_height, out_width;
  int height, width;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int pad_h, pad_w;          // before
  int pad_h_end, pad_w_end;  // after: a window beyond it (ceil_mode) does not count
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint plane = i / (out_height * out_width);
    int h0 = int((i / out_width) % out_height) * stride_h - pad_h;
    int w0 = int(i % out_width) * stride_w - pad_w;
    float best = uintBitsToFloat(0xff800000u);
    float sum = 0.0;
    int count = 0;
    for (int kh = 0; kh < kernel_h; ++kh) {
      int h = h0 + kh * dilation_h;
      for (int kw = 0; kw < kernel_w; ++kw) {
        int w = w0 + kw * dilation_w;
        bool inside = h >= 0 && w >= 0 && h < height && w < width;
        if (inside) {
          float v = COMPUTE(x[(plane * uint(height) + uint(h)) * uint(width) + uint(w)]);
          if (is_nan(v) || v > best) best = v;
          sum += v;
        }
        bool counted = kCountPadding != 0 ? h < height + pad_h_end && w < width + pad_w_end : inside;
        count += counted ? 1 : 0;
      }
    }
    y[i] = STORE(kKind == WICK_POOL_MAX ? best : sum / float(count));
  }
}
