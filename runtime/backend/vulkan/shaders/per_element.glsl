// Selects an element's scale or zero point: one for all, one per index of an axis, or one per block of it.
layout(constant_id = 0) const uint kX = WICK_TYPE_F32;
layout(constant_id = 1) const uint kScaleType = WICK_TYPE_F32;
layout(constant_id = 2) const uint kZeroType = WICK_TYPE_U8;
layout(constant_id = 3) const uint kY = WICK_TYPE_U8;
layout(constant_id = 4) const uint kHasZero = 0;
layout(constant_id = 5) const uint kOneScale = 1;
layout(constant_id = 6) const uint kOneZero = 1;
layout(constant_id = 7) const uint kBlocked = 0;

layout(push_constant) uniform Push { uint n, extent, inner, block, blocks; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Scale { uint scales[]; };
layout(binding = 2) readonly buffer Zero { uint zeros[]; };
layout(binding = 3) writeonly buffer Out { uint y[]; };

uint place(uint i, bool one) {
  if (one) return 0;
  uint at = i / inner % extent;
  return kBlocked == 0 ? at : (i / (inner * extent) * blocks + at / block) * inner + i % inner;
}
uvec2 scale_bits(uint i) { return READ_ANY(scales, place(i, kOneScale != 0), log_bits(kScaleType)); }
uvec2 zero_bits(uint i) { return READ_ANY(zeros, place(i, kOneZero != 0), log_bits(kZeroType)); }
