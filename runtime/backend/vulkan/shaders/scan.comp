#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// CumSum and CumProd: an invocation goes along a line, in the CPU's order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kProduct = 0;
layout(constant_id = 3) const uint kExclusive = 0;
layout(constant_id = 4) const uint kReverse = 0;

layout(push_constant) uniform Push { uint lines, count, inner; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Out { uint y[]; };

#include "element.glsl"

void main() {
  const bool real = kWide == 0 && is_float_type(kType);
  for (uint line = gl_GlobalInvocationID.x; line < lines; line += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint base = line / inner * count * inner + line % inner;
    uvec2 running = kWide == WICK_WIDE_F64 ? uvec2(0u, kProduct * 0x3ff00000u) : uvec2(kProduct, 0u);
    float running_float = float(kProduct);  // 16-bit floats are computed in 32
    for (uint i = 0; i < count; ++i) {
      uint at = base + (kReverse != 0 ? count - 1 - i : i) * inner;
      uvec2 v = LOAD(x, at), next = v;
      float next_float = 0.0;
      if (real) {
        precise float f = float_of_bits(v.x, kType);
        next_float = kProduct != 0 ? running_float * f : running_float + f;
        v.x = bits_of_float(kExclusive != 0 ? running_float : next_float, kType);
      } else {
        next = sum_or_product(running, v, kProduct != 0);
        v = kExclusive != 0 ? running : next;
      }
      STORE_ELEMENT(y, at, v)
      running = next;
      running_float = next_float;
    }
  }
}
