#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;
layout(constant_id = 1) const uint kMode = WICK_PAD_CONSTANT;
layout(constant_id = 2) const uint kLog = 4;  // log2 of an element's bits, if packed

// Both are contiguous; `before` is negative where a pad crops.
layout(push_constant) uniform Push { uint n, value, value_high; int dims[8]; int extents[8]; int before[8]; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

// Returns i modulo n, never negative. `%` of a negative operand is undefined.
int wrapped(int i, int n) { return i >= 0 ? int(uint(i) % uint(n)) : n - 1 - int(uint(-1 - i) % uint(n)); }

// Returns the source index of position i of n on an axis; -1: the constant. What is wrapped is what
// negative pads leave.
int source_of(int i, int n, int before_axis, int extent) {
  int at = i - before_axis;
  if (at >= 0 && at < extent) return at;
  if (kMode == WICK_PAD_EDGE) return at < 0 ? 0 : extent - 1;
  if (kMode == WICK_PAD_WRAP) {
    int first = max(-before_axis, 0);
    return first + wrapped(at - first, min(extent, n - before_axis) - first);
  }
  if (kMode == WICK_PAD_REFLECT) {
    if (extent == 1) return 0;
    int period = 2 * (extent - 1);
    at = wrapped(at, period);
    return at < extent ? at : period - at;
  }
  return -1;
}

// Returns the source of element i; -1: the constant.
int source(uint i) {
  uint rest = i;
  int from = 0, stride = 1;
  bool outside = false;
  for (int d = int(kRank) - 1; d >= 0; --d) {
    int s = source_of(int(rest % uint(dims[d])), dims[d], before[d], extents[d]);
    rest /= uint(dims[d]);
    outside = outside || s < 0;
    from += s * stride;
    stride *= extents[d];
  }
  return outside ? -1 : from;
}

#if PACKED
void main() {
  const uint per = elements_a_word(kLog), words = (n + per - 1) / per;
  for (uint w = gl_GlobalInvocationID.x; w < words; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      int from = source(w * per + k);
      result |= (from < 0 ? value : READ_PACKED(x, uint(from), kLog)) << (k << kLog);
    }
    y[w] = result;
  }
}
#else
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    int from = source(i);
    if (from < 0) {
      y[i] = CONSTANT;
    } else {
      y[i] = x[from];
    }
  }
}
#endif
