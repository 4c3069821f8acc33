#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Copies a strided view of elements of one or two bytes to a contiguous one: an invocation writes one word.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;
layout(constant_id = 1) const uint kSize = 1;

layout(push_constant) uniform Push {
  uint n, in_offset;  // in elements, as are the strides
  uint dims[8];
  int strides[8];
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) writeonly buffer Out { uint y[]; };

void main() {
  uint per = 4 / kSize, words = (n + per - 1) / per, bits = 8 * kSize;
  for (uint w = gl_GlobalInvocationID.x; w < words; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint word = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      uint rest = w * per + k;
      int from = int(in_offset);
      for (int d = int(kRank) - 1; d >= 0; --d) {
        from += int(rest % dims[d]) * strides[d];
        rest /= dims[d];
      }
      uint element = bitfieldExtract(x[uint(from) / per], int(bits * (uint(from) % per)), int(bits));
      word = bitfieldInsert(word, element, int(bits * k), int(bits));
    }
    y[w] = word;
  }
}
