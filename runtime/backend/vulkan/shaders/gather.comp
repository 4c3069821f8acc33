#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kElements = 0;  // 0: Gather, 1: GatherElements
layout(constant_id = 1) const uint kWide = 0;      // indices have 64 bits
layout(constant_id = 2) const uint kRank = 1;      // of GatherElements' indices
layout(constant_id = 3) const uint kLog = 4;       // log2 of an element's bits, if packed

// Gather: y[outer, count, inner] from x[outer, extent, inner]. GatherElements: dims are those of the indices, strides
// those of x (0 along the axis).
layout(push_constant) uniform Push {
  uint n, extent, axis_stride, count, inner, call;
  uint dims[8];
  uint strides[8];
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Index { uint indices[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };
layout(binding = 3) buffer Fault { uint fault; };

// Computes the source of element i; reports an index out of range and returns false.
bool source(uint i, out uint from) {
  uint k = i;
  from = 0;
  if (kElements == 0) {
    k = (i / inner) % count;
    from = (i / inner / count) * extent * inner + i % inner;
  } else {
    uint rest = i;
    for (int d = int(kRank) - 1; d >= 0; --d) {
      from += rest % dims[d] * strides[d];
      rest /= dims[d];
    }
  }
  int index = int(indices[kWide != 0 ? 2 * k : k]);
  bool right = index < int(extent) && index >= -int(extent);
  if (kWide != 0) right = right && int(indices[2 * k + 1]) == (index >> 31);
  if (right) {
    from += uint(index < 0 ? index + int(extent) : index) * axis_stride;
  } else {
    atomicMax(fault, call);
  }
  return right;
}

#if PACKED
void main() {
  const uint per = elements_a_word(kLog), words = (n + per - 1) / per;
  for (uint w = gl_GlobalInvocationID.x; w < words; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0, from;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      if (source(w * per + k, from)) result |= READ_PACKED(x, from, kLog) << (k << kLog);
    }
    y[w] = result;
  }
}
#else
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint from;
    if (source(i, from)) {
      y[i] = x[from];
    } else {
      y[i] = STORE(0);
    }
  }
}
#endif
