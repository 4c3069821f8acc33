#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "exact.glsl"

// One invocation per bin. Edges are integers in floats, their sums are pairs: nothing is lost.
layout(local_size_x = WICK_FLAT_SIZE) in;

layout(push_constant) uniform Push {
  uint n, channels, images;
  int height, width, out_height, out_width;
  float scale;
  uint call;
};
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Rois { float rois[]; };
layout(binding = 2) writeonly buffer Out { float y[]; };
layout(binding = 3) buffer Fault { uint fault; };

const float kFar = 1099511627776.0;  // 2^40: limit of edges, beyond any image

// Rounds to nearest, half away from 0.
float pixel(float v) {
  float t = trunc(v);
  if (abs(v - t) >= 0.5) t += sign(v);
  return t > -kFar ? min(t, kFar) : -kFar;
}

// Returns last - first + 1, at least 1, rounded once.
float length_of(float first, float last) {
  vec2 s = two_sum(last, -first);
  vec2 t = two_sum(s.x, 1.0);
  precise float length = t.x + (t.y + s.y);
  return max(length, 1.0);
}

int cut(float steps, float start, int extent) {
  vec2 at = two_sum(steps, start);
  if (at.x <= -1.0) return 0;
  return at.x >= 1073741824.0 ? extent : clamp(int(at.x) + int(at.y), 0, extent);
}

void main() {
  uint bins = uint(out_height * out_width);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint roi = i / bins / channels * 5;
    int row = int(i % bins) / out_width, column = int(i % bins) % out_width;
    float image = rois[roi];
    if (!(image >= 0.0 && image < float(images))) {
      y[i] = 0.0;
      atomicMax(fault, call);
      continue;
    }
    float left = pixel(rois[roi + 1] * scale), top = pixel(rois[roi + 2] * scale);
    float right = pixel(rois[roi + 3] * scale), bottom = pixel(rois[roi + 4] * scale);
    float down = divide(length_of(top, bottom), float(out_height));
    float along = divide(length_of(left, right), float(out_width));
    int r0 = cut(floor(float(row) * down), top, height), r1 = cut(ceil(float(row + 1) * down), top, height);
    int c0 = cut(floor(float(column) * along), left, width), c1 = cut(ceil(float(column + 1) * along), left, width);
    uint source = (uint(image) * channels + i / bins % channels) * uint(height * width);
    float best = 0.0;  // for a bin without pixels
    bool first = true;
    for (int r = r0; r < r1; ++r) {
      for (int c = c0; c < c1; ++c) {
        float v = x[source + uint(r * width + c)];
        if (first || v > best) best = v;
        first = false;
      }
    }
    y[i] = best;
  }
}
