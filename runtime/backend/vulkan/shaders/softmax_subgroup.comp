#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

// One subgroup per row, which adds and compares without shared memory or barriers. The number of its invocations, and
// the index of each, is counted: a device may start fewer than the subgroup size says.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kLog = 0;

// x is [outer, len, inner]; rows = outer * inner.
layout(push_constant) uniform Push { uint rows, len, inner; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

void main() {
  uint lanes = subgroupAdd(1u), lane = subgroupExclusiveAdd(1u);
  for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < rows;
       row += gl_NumWorkGroups.x * gl_NumSubgroups) {
    uint base = (row / inner) * len * inner + row % inner;
    float best = uintBitsToFloat(0xff800000u);
    for (uint i = lane; i < len; i += lanes) {
      float v = COMPUTE(x[base + i * inner]);
      if (v > best) best = v;  // a NaN shows in the sum
    }
    best = subgroupMax(best);
    float sum = 0.0;
    for (uint i = lane; i < len; i += lanes) sum += exp_f32(COMPUTE(x[base + i * inner]) - best);
    float total = subgroupAdd(sum), log_total = kLog != 0 ? log_f32(total) : 0.0;
    for (uint i = lane; i < len; i += lanes) {
      uint at = base + i * inner;
      float d = COMPUTE(x[at]) - best;
      y[at] = STORE(kLog != 0 ? d - log_total : exp_f32(d) / total);
    }
  }
}
