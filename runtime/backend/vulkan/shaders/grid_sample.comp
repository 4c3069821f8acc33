#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "exact.glsl"

// One invocation per output; sums nest like the CPU's, with the first dim outermost.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kDims = 2;
layout(constant_id = 1) const uint kMode = WICK_SAMPLE_LINEAR;
layout(constant_id = 2) const uint kPadding = WICK_SAMPLE_ZEROS;
layout(constant_id = 3) const uint kAlign = 0;

// x[N, channels, extent...]: missing leading dims have extent 1. points: per image of the grid.
layout(push_constant) uniform Push { uint n, channels, points; int extent[3]; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Grid { float grid[]; };
layout(binding = 2) writeonly buffer Out { float y[]; };

struct Reach {
  int count;
  float weight[4];  // 0: no neighbour
  int at[4];
};

float low() { return kAlign != 0 ? 0.0 : -0.5; }
float high(float length) { return kAlign != 0 ? length - 1.0 : length - 0.5; }

// Needs |v| of at most a few lengths, a multiple of 1/2.
float reflect_whole(float v, float lo, float hi) {
  float span = hi - lo;
  if (span <= 0.0) return lo;
  float past = v < lo ? lo - v : v - lo;
  for (int i = 0; i < 32 && past >= 2.0 * span; ++i) past -= 2.0 * span;
  return lo + (past > span ? 2.0 * span - past : past);
}

// Needs |v| of at most five lengths.
vec2 reflect_pair(vec2 v, float lo, float hi) {
  float span = hi - lo, period = 2.0 * span;
  if (span <= 0.0) return vec2(lo, 0.0);
  vec2 past = pair_add(v, -lo);
  if (past.x < 0.0) past = -past;
  for (int i = 0; i < 8 && !pair_below(past, period); ++i) past = pair_add(past, -period);
  if (pair_above(past, span)) past = pair_add(-past, period);
  return pair_add(past, lo);
}

// Sets neighbour i to the pixel at p, an integer that may be outside.
void place(inout Reach r, int i, float weight, float p, float length) {
  float last = length - 1.0;
  if (kPadding == WICK_SAMPLE_ZEROS && !(p >= 0.0 && p <= last)) weight = 0.0;
  if (kPadding == WICK_SAMPLE_REFLECTION && (p < 0.0 || p > last))
    p = trunc(reflect_whole(p, low(), high(length)));
  r.weight[i] = weight;
  r.at[i] = int(p >= 0.0 ? min(p, last) : 0.0);
}

// From here on a double cannot represent v + 1, so v is a multiple of the period.
const float kFar = 9007199254740992.0;

Reach reach(float coordinate, int extent_of) {
  float length = float(extent_of);
  bool bad = (floatBitsToUint(coordinate) & 0x7f800000u) == 0x7f800000u, far = abs(coordinate) >= kFar;
  // The reflected image is periodic, and floats are exact multiples of their last bit.
  if (kPadding == WICK_SAMPLE_REFLECTION && !bad && !far && abs(coordinate) > 8.0)
    coordinate -= 4.0 * floor(coordinate * 0.25);
  // Far outside every neighbour is the same; NaN counts as below.
  vec2 v = vec2(coordinate > 0.0 ? 2.0 * length + 4.0 : -length - 4.0, 0.0);
  if (kAlign != 0 && extent_of == 1 && !bad) {
    v = vec2(0.0, 0.0);
    far = false;
  } else if (!bad && !far) {
    v = pair_of(two_sum(coordinate, 1.0).x, two_sum(coordinate, 1.0).y);
    v = kAlign != 0 ? pair_times(v * 0.5, length - 1.0) : pair_add(pair_times(v, length), -1.0) * 0.5;
    if (kMode == WICK_SAMPLE_NEAREST) v = pair_round(v);
  }
  if (bad || far || pair_below(v, low()) || pair_above(v, high(length))) {
    // Each of the cubic's neighbours is clamped by itself.
    if (kPadding == WICK_SAMPLE_BORDER && kMode != WICK_SAMPLE_CUBIC)
      v = vec2(v.x >= 0.0 ? min(v.x, length - 1.0) : 0.0, 0.0);
    if (kPadding == WICK_SAMPLE_REFLECTION) {
      if (bad) {
        v = vec2(-length - 4.0, 0.0);
      } else {
        v = far ? vec2(low(), 0.0) : reflect_pair(v, low(), high(length));
      }
    }
  }
  if (!(v.x > -length - 4.0)) v = vec2(-length - 4.0, 0.0);
  if (!(v.x < 2.0 * length + 4.0)) v = vec2(2.0 * length + 4.0, 0.0);
  Reach r;
  r.count = 1;
  if (kMode == WICK_SAMPLE_NEAREST) {
    place(r, 0, 1.0, v.x, length);
    return r;
  }
  float base = floor(v.x);
  if (base == v.x && v.y < 0.0) base -= 1.0;
  float ratio = (v.x - base) + v.y, rest = 1.0 - ratio;
  if (kMode == WICK_SAMPLE_LINEAR) {
    r.count = 2;
    place(r, 0, rest, base, length);
    place(r, 1, ratio, base + 1.0, length);
  } else {
    // Keys' kernel with a = -3/4, its outer pieces as products.
    r.count = 4;
    place(r, 0, -0.75 * ratio * rest * rest, base - 1.0, length);
    place(r, 1, (1.25 * ratio - 2.25) * ratio * ratio + 1.0, base, length);
    place(r, 2, (1.25 * rest - 2.25) * rest * rest + 1.0, base + 1.0, length);
    place(r, 3, -0.75 * rest * ratio * ratio, base + 2.0, length);
  }
  return r;
}

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint point = i % points, which = i / points, image = which / channels;
    Reach r[3];
    for (int d = 0; d < 3; ++d) {
      r[d].count = 1;
      r[d].weight[0] = 1.0;
      r[d].at[0] = 0;
      // The grid's last coordinate belongs to the first dim.
      int from = 2 - d;
      if (from < int(kDims)) r[d] = reach(grid[(image * points + point) * kDims + uint(from)], extent[d]);
    }
    uint plane = which * uint(extent[0] * extent[1] * extent[2]);
    float sum = 0.0;
    for (int a = 0; a < r[0].count; ++a) {
      if (r[0].weight[a] == 0.0) continue;  // an infinity there must not affect the sum
      float of_rows = 0.0;
      for (int b = 0; b < r[1].count; ++b) {
        if (r[1].weight[b] == 0.0) continue;
        uint row = plane + uint((r[0].at[a] * extent[1] + r[1].at[b]) * extent[2]);
        float of_row = 0.0;
        for (int c = 0; c < r[2].count; ++c) {
          if (r[2].weight[c] != 0.0) of_row = fma(r[2].weight[c], x[row + uint(r[2].at[c])], of_row);
        }
        of_rows = fma(r[1].weight[b], of_row, of_rows);
      }
      sum = fma(r[0].weight[a], of_rows, sum);
    }
    y[i] = sum;
  }
}
