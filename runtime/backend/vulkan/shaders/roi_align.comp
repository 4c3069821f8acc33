#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "exact.glsl"

// One invocation per output. Positions are rounded like the CPU's: one outside the image's edge reads nothing.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kMax = 0;
layout(constant_id = 1) const uint kHalfPixel = 1;
layout(constant_id = 2) const uint kWide = 0;  // indices have 64 bits

layout(push_constant) uniform Push {
  uint n, channels, images;
  int height, width, out_height, out_width, samples;  // samples 0: derived from the region's size
  float scale;
  uint call;
};
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Rois { float rois[]; };
layout(binding = 2) readonly buffer Index { uint indices[]; };
layout(binding = 3) writeonly buffer Out { float y[]; };
layout(binding = 4) buffer Fault { uint fault; };

const int kMaxBin = 1 << 14;

// Computes the samples of a bin: `size / bins` rounded up. Returns false if there are too many.
bool samples_of(float size, int bins, out int count) {
  count = 0;
  float whole = ceil(divide(size, float(bins)));
  if (!(whole <= float(kMaxBin))) return false;
  count = whole > 0.0 ? int(whole) : 0;
  return true;
}

void main() {
  uint bins = uint(out_height * out_width), plane = uint(height * width);
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint region = i / bins / channels, channel = i / bins % channels;
    int row = int(i % bins) / out_width, column = int(i % bins) % out_width;
    uint image = indices[kWide != 0 ? 2 * region : region];
    bool right = image < images && (kWide == 0 || indices[2 * region + 1] == 0);
    float shift = kHalfPixel != 0 ? 0.5 : 0.0;
    precise float left = rois[4 * region] * scale - shift;
    precise float top = rois[4 * region + 1] * scale - shift;
    precise float roi_width = (rois[4 * region + 2] * scale - shift) - left;
    precise float roi_height = (rois[4 * region + 3] * scale - shift) - top;
    if (kHalfPixel == 0) {
      roi_width = roi_width > 1.0 ? roi_width : 1.0;
      roi_height = roi_height > 1.0 ? roi_height : 1.0;
    }
    int rows = samples, columns = samples;
    if (samples == 0) {
      right = samples_of(roi_height, out_height, rows) && right;
      right = samples_of(roi_width, out_width, columns) && right;
    }
    if (!right) {
      y[i] = 0.0;
      atomicMax(fault, call);
      continue;
    }
    float bin_height = divide(roi_height, float(out_height)), bin_width = divide(roi_width, float(out_width));
    uint source = (image * channels + channel) * plane;
    float result = 0.0;
    for (int a = 0; a < rows; ++a) {
      precise float down = (float(a) + 0.5) * bin_height;
      precise float at_y = (top + float(row) * bin_height) + divide(down, float(rows));
      for (int b = 0; b < columns; ++b) {
        precise float along = (float(b) + 0.5) * bin_width;
        precise float at_x = (left + float(column) * bin_width) + divide(along, float(columns));
        uint at[4] = uint[4](0u, 0u, 0u, 0u);
        float weight[4] = float[4](0.0, 0.0, 0.0, 0.0);
        if (at_y >= -1.0 && at_y <= float(height) && at_x >= -1.0 && at_x <= float(width)) {
          float v = max(at_y, 0.0), h = max(at_x, 0.0);
          int y0 = int(v), x0 = int(h), y1 = y0 + 1, x1 = x0 + 1;
          if (y0 >= height - 1) {
            y0 = y1 = height - 1;
            v = float(y0);
          }
          if (x0 >= width - 1) {
            x0 = x1 = width - 1;
            h = float(x0);
          }
          float below = v - float(y0), after = h - float(x0), up = 1.0 - below, before = 1.0 - after;
          at = uint[4](uint(y0 * width + x0), uint(y0 * width + x1), uint(y1 * width + x0), uint(y1 * width + x1));
          weight = float[4](up * before, up * after, below * before, below * after);
        }
        float best = weight[0] * x[source + at[0]];
        for (int q = 0; q < 4; ++q) {
          float v = x[source + at[q]];
          if (kMax == 0) result = fma(weight[q], v, result);
          best = weight[q] * v > best ? weight[q] * v : best;
        }
        if (kMax != 0) result = (a == 0 && b == 0) || best > result ? best : result;
      }
    }
    y[i] = kMax != 0 ? result : divide(result, float(max(rows * columns, 1)));
  }
}
