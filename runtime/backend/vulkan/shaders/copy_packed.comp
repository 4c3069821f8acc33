#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

// copy.comp for elements smaller than a word. An invocation writes a whole word of y, which is contiguous; if only a
// part of y is written (a part of a concatenation), the rest of the word keeps its value.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;
layout(constant_id = 1) const uint kLog = 4;  // log2 of an element's bits
layout(constant_id = 2) const uint kAxis = 0;
layout(constant_id = 3) const uint kPart = 0;  // writes only a part of y along the axis

layout(push_constant) uniform Push {
  uint n;
  int in_offset;
  uint begin, end;  // along the axis
  uint dims[8];     // of y
  int in_strides[8];
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Out { uint y[]; };

void main() {
  const uint per = elements_a_word(kLog), words = (n + per - 1) / per;
  for (uint w = gl_GlobalInvocationID.x; w < words; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0, made = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      uint rest = w * per + k;
      int from = in_offset;
      bool inside = true;
      for (int d = int(kRank) - 1; d >= 0; --d) {
        uint at = rest % dims[d];
        rest /= dims[d];
        if (kPart != 0 && d == int(kAxis)) {
          inside = at >= begin && at < end;
          at -= begin;
        }
        from += int(at) * in_strides[d];
      }
      if (!inside) continue;
      result |= READ_PACKED(x, uint(from), kLog) << (k << kLog);
      made |= (0xffffffffu >> (32u - (1u << kLog))) << (k << kLog);
    }
    if (kPart == 0) {
      y[w] = result;
    } else if (made != 0) {
      y[w] = (y[w] & ~made) | result;
    }
  }
}
