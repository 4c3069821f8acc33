#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"
#include "math.glsl"

// A chain of elementwise steps with intermediate results in registers. Steps are specialisation constants, so that a
// driver compiles only this chain; the module keeps its functions (-O0), or each step would contain every function. A
// driver inlines every function into every step before it knows that few are used, so chains of up to WICK_CHAIN_SHORT
// steps have a module of their own. Bools are 0 and 1.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;
layout(constant_id = 1) const uint kInputs = 1;
layout(constant_id = 2) const uint kSteps = 1;
// function | operands << 8, 14, 20: an input, WICK_CHAIN_CONSTANT + i or WICK_CHAIN_STEP + i
layout(constant_id = 3) const uint kStep0 = 0;
layout(constant_id = 4) const uint kStep1 = 0;
layout(constant_id = 5) const uint kStep2 = 0;
layout(constant_id = 6) const uint kStep3 = 0;
layout(constant_id = 7) const uint kStep4 = 0;
layout(constant_id = 8) const uint kStep5 = 0;
layout(constant_id = 9) const uint kStep6 = 0;
layout(constant_id = 10) const uint kStep7 = 0;
layout(constant_id = 11) const uint kStep8 = 0;
layout(constant_id = 12) const uint kStep9 = 0;

// An input's stride is 0 where it is broadcast.
layout(push_constant) uniform Push { uint n; uint dims[4]; uint strides[20]; };
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) readonly buffer C { float c[]; };
layout(binding = 3) readonly buffer D { float d[]; };
layout(binding = 4) readonly buffer E { float e[]; };
layout(binding = 5) writeonly buffer Out { float y[]; };
// The chain's constants, then alpha and beta of each step.
layout(binding = 6) readonly buffer Table { float table[]; };

float values[WICK_CHAIN_STEP + WICK_CHAIN_STEPS];  // inputs, constants, steps

float result_of(uint i, uint step) {
  uint function = step & 0xffu;
  float p = values[(step >> 8) & 63u], q = values[(step >> 14) & 63u], r = values[(step >> 20) & 63u];
  if (function < WICK_CHAIN_BINARY) {
    return apply(function, p, table[WICK_CHAIN_CONSTANTS + 2 * i], table[WICK_CHAIN_CONSTANTS + 2 * i + 1]);
  }
  precise float v = 0.0;  // rounds after every op
  switch (function) {
    case WICK_CHAIN_BINARY + WICK_BINARY_ADD: v = p + q; break;
    case WICK_CHAIN_BINARY + WICK_BINARY_SUB: v = p - q; break;
    case WICK_CHAIN_BINARY + WICK_BINARY_MUL: v = p * q; break;
    case WICK_CHAIN_BINARY + WICK_BINARY_DIV: v = divide_f32(p, q); break;
    case WICK_CHAIN_BINARY + WICK_BINARY_POW: v = pow_f32(p, q); break;
    case WICK_CHAIN_BINARY + WICK_BINARY_PRELU: v = p < 0.0 ? p * q : p; break;
    case WICK_CHAIN_BINARY + WICK_BINARY_MAX: v = (is_nan(p) || p > q) ? p : q; break;
    case WICK_CHAIN_BINARY + WICK_BINARY_MIN: v = (is_nan(p) || p < q) ? p : q; break;
    case WICK_CHAIN_POINT + WICK_POINT_EQUAL: v = float(equal_f32(p, q)); break;
    case WICK_CHAIN_POINT + WICK_POINT_LESS: v = float(less_f32(p, q)); break;
    case WICK_CHAIN_POINT + WICK_POINT_LESS_EQUAL: v = float(less_f32(p, q) || equal_f32(p, q)); break;
    case WICK_CHAIN_POINT + WICK_POINT_GREATER: v = float(less_f32(q, p)); break;
    case WICK_CHAIN_POINT + WICK_POINT_GREATER_EQUAL: v = float(less_f32(q, p) || equal_f32(p, q)); break;
    case WICK_CHAIN_POINT + WICK_POINT_AND: v = p * q; break;
    case WICK_CHAIN_POINT + WICK_POINT_OR: v = max(p, q); break;
    case WICK_CHAIN_POINT + WICK_POINT_XOR: v = float(p != q); break;
    case WICK_CHAIN_POINT + WICK_POINT_WHERE: v = p != 0.0 ? q : r; break;
    case WICK_CHAIN_POINT + WICK_POINT_NOT: v = 1.0 - p; break;
    default: v = p; break;  // a bool as a number
  }
  return v;
}

float input_at(uint k, uint at) { return k == 0 ? a[at] : k == 1 ? b[at] : k == 2 ? c[at] : k == 3 ? d[at] : e[at]; }

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i, at[WICK_CHAIN_INPUTS];
    [[unroll]] for (uint k = 0; k < WICK_CHAIN_INPUTS; ++k) at[k] = 0;
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      if (j >= kRank) break;
      uint dim = kRank - 1 - j, here = rest % dims[dim];
      rest /= dims[dim];
      [[unroll]] for (uint k = 0; k < WICK_CHAIN_INPUTS; ++k) at[k] += here * strides[4 * k + dim];
    }
    [[unroll]] for (uint k = 0; k < WICK_CHAIN_INPUTS; ++k) {
      if (k < kInputs) values[k] = input_at(k, at[k]);
    }
    [[unroll]] for (uint k = 0; k < WICK_CHAIN_CONSTANTS; ++k) values[WICK_CHAIN_CONSTANT + k] = table[k];
#define STEP(s, word) if (kSteps > s) values[WICK_CHAIN_STEP + s] = result_of(s, word)
    STEP(0, kStep0);
    STEP(1, kStep1);
    STEP(2, kStep2);
    STEP(3, kStep3);
#if !SHORT
    STEP(4, kStep4);
    STEP(5, kStep5);
    STEP(6, kStep6);
    STEP(7, kStep7);
    STEP(8, kStep8);
    STEP(9, kStep9);
#endif
    y[i] = values[WICK_CHAIN_STEP + kSteps - 1];
  }
}
