#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"

// An invocation has a column of a head's state and visits the tokens in order. FILL: writes the initial state.
layout(local_size_x = WICK_FLAT_SIZE) in;
#if FILL
layout(constant_id = 0) const uint kGiven = 0;

layout(push_constant) uniform Push { uint n; };
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) writeonly buffer Out { float y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    y[i] = kGiven != 0 ? x[i] : 0.0;
  }
}
#else
layout(constant_id = 0) const uint kDecay = 0;      // there is a decay
layout(constant_id = 1) const uint kDecayEach = 0;  // one per row of the state, else one for all
layout(constant_id = 2) const uint kBeta = 0;

layout(push_constant) uniform Push {
  uint n, tokens, heads, group, keys, values, beta_heads;
  float scale;
};
layout(binding = 0) readonly buffer Query { float query[]; };
layout(binding = 1) readonly buffer Key { float key[]; };
layout(binding = 2) readonly buffer Value { float value[]; };
layout(binding = 3) readonly buffer Decay { float decay[]; };
layout(binding = 4) readonly buffer Beta { float beta[]; };
layout(binding = 5) writeonly buffer Out { float y[]; };
layout(binding = 6) buffer State { float state[]; };

void main() {
  for (uint item = gl_GlobalInvocationID.x; item < n; item += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint j = item % values, owner = item / values, h = owner % heads, batch = owner / heads;
    uint first = owner * keys * values + j;
    for (uint t = 0; t < tokens; ++t) {
      uint token = batch * tokens + t, at = token * heads + h;
      float line = 0.0;
      if (kDecay != 0 || kBeta != 0) {
        float keep = kDecay != 0 && kDecayEach == 0 ? exp_f32(decay[at]) : 1.0;
        for (uint i = 0; i < keys; ++i) {
          uint s = first + i * values;
          if (kDecayEach != 0) keep = exp_f32(decay[at * keys + i]);
          float kept = state[s];
          if (kDecay != 0) {
            kept *= keep;
            state[s] = kept;
          }
          line = fma(key[at * keys + i], kept, line);
        }
      }
      float given = value[at * values + j];
      line = kBeta != 0 ? beta[token * beta_heads + (beta_heads == 1 ? 0 : h)] * (given - line) : given;
      for (uint i = 0; i < keys; ++i) {
        uint s = first + i * values;
        state[s] = fma(key[at * keys + i], line, state[s]);
      }
      for (uint g = 0; g < group; ++g) {
        uint head = token * heads * group + h * group + g;
        float sum = 0.0;
        for (uint i = 0; i < keys; ++i) sum = fma(query[head * keys + i], state[first + i * values], sum);
        y[head * values + j] = scale * sum;
      }
    }
  }
}
#endif
