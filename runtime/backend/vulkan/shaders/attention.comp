#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"

// Computes softmax(steps(q k^T)) v of one head for kRows of its queries, one block of keys after another: scores stay
// in shared memory, and each block updates a row's largest score, its sum and its output. A block has 16 rows by 32
// keys for heads of at most 64 elements, 8 by 16 up to 128.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRows = 16;
layout(constant_id = 1) const uint kSteps = 0;
// The steps, in the order of the graph: an AttentionStep, and which of the operands after v it uses.
layout(constant_id = 2) const uint kStep0 = 0;
layout(constant_id = 3) const uint kStep1 = 0;
layout(constant_id = 4) const uint kStep2 = 0;
layout(constant_id = 5) const uint kStep3 = 0;

// Strides of batches, heads and rows; an operand has one of columns as well. 0: broadcast.
layout(push_constant) uniform Push {
  uint rows, keys, size, values, heads, batches, key_share, value_share;
  uint q_batch, q_head, q_row;
  uint k_batch, k_head, k_row;
  uint v_batch, v_head, v_row;
  uint out_batch, out_head, out_row;
  uvec4 at_first, at_second, at_third;
};
layout(binding = 0) readonly buffer Query { float q[]; };
layout(binding = 1) readonly buffer Key { float k[]; };
layout(binding = 2) readonly buffer Values { float v[]; };
layout(binding = 3) writeonly buffer Out { float y[]; };
layout(binding = 4) readonly buffer First { uint first[]; };
layout(binding = 5) readonly buffer Second { uint second[]; };
layout(binding = 6) readonly buffer Third { uint third[]; };

const uint kTeam = WICK_FLAT_SIZE / kRows;  // invocations per row
const uint kKeys = kRows == 16 ? 32 : 16;   // per block
const uint kKeysEach = kKeys / kTeam;
const uint kWidth = 8 * kTeam;  // maximum elements of a head
#define kLowest uintBitsToFloat(0xff800000u)

shared float queries[1024];      // kRows x kWidth
shared float block[32 * 65];     // kKeys x (kWidth + 1) of keys, then of values
shared float weights[16 * 33];   // kRows x (kKeys + 1)

uint word_of(uint operand, uint at) { return operand == 0 ? first[at] : operand == 1 ? second[at] : third[at]; }
uvec4 strides_of(uint operand) { return operand == 0 ? at_first : operand == 1 ? at_second : at_third; }
uint place(uint operand, uvec4 where) {
  uvec4 p = where * strides_of(operand);
  return p.x + p.y + p.z + p.w;
}
float number_at(uint operand, uvec4 where) { return uintBitsToFloat(word_of(operand, place(operand, where))); }
bool holds(uint operand, uvec4 where) {
  uint at = place(operand, where);
  return ((word_of(operand, at >> 2) >> ((at & 3u) * 8u)) & 0xffu) != 0;
}

// Applies a step to an element of a query or a key, or to a score.
float applied(uint step, uint phase, float x, uvec4 where) {
  uint a = (step >> 8) & 3u, b = (step >> 10) & 3u;
  switch (step & 0xffu) {
    case WICK_ATTEND_MUL_QUERY: return phase == 0 ? x * number_at(a, uvec4(0)) : x;
    case WICK_ATTEND_DIV_QUERY: return phase == 0 ? x / number_at(a, uvec4(0)) : x;
    case WICK_ATTEND_MUL_KEY: return phase == 1 ? x * number_at(a, uvec4(0)) : x;
    case WICK_ATTEND_DIV_KEY: return phase == 1 ? x / number_at(a, uvec4(0)) : x;
    default: break;
  }
  if (phase != 2) return x;
  switch (step & 0xffu) {
    case WICK_ATTEND_MUL: return x * number_at(a, where);
    case WICK_ATTEND_DIV: return x / number_at(a, where);
    case WICK_ATTEND_ADD: return x + number_at(a, where);
    case WICK_ATTEND_SUB: return x - number_at(a, where);
    case WICK_ATTEND_TANH: return apply(WICK_FN_TANH, x, 0.0, 0.0);
    case WICK_ATTEND_KEEP: return holds(a, where) ? x : number_at(b, where);
    case WICK_ATTEND_REPLACE: return holds(a, where) ? number_at(b, where) : x;
    default: return x;
  }
}
float through(uint phase, float x, uvec4 where) {
  if (kSteps > 0) x = applied(kStep0, phase, x, where);
  if (kSteps > 1) x = applied(kStep1, phase, x, where);
  if (kSteps > 2) x = applied(kStep2, phase, x, where);
  if (kSteps > 3) x = applied(kStep3, phase, x, where);
  return x;
}

void main() {
  uint thread = gl_LocalInvocationIndex, local = thread / kTeam, member = thread % kTeam;
  uint row0 = gl_WorkGroupID.x * kRows, row = row0 + local, head = gl_WorkGroupID.y;
  for (uint batch = gl_WorkGroupID.z; batch < batches; batch += gl_NumWorkGroups.z) {
    uint q_at = batch * q_batch + head * q_head;
    uint k_at = batch * k_batch + head / key_share * k_head, v_at = batch * v_batch + head / value_share * v_head;
    for (uint e = thread; e < kRows * size; e += WICK_FLAT_SIZE) {
      uint r = e / size, c = e % size;
      float x = row0 + r < rows ? q[q_at + (row0 + r) * q_row + c] : 0.0;
      queries[r * kWidth + c] = through(0, x, uvec4(0));
    }
    float best = kLowest, total = 0.0, acc[8];
    [[unroll]] for (uint j = 0; j < 8; ++j) acc[j] = 0.0;
    for (uint key0 = 0; key0 < keys; key0 += kKeys) {
      uint count = min(kKeys, keys - key0);
      barrier();  // the last block's values have been read, the queries written
      for (uint e = thread; e < count * size; e += WICK_FLAT_SIZE) {
        uint r = e / size, c = e % size;
        block[r * (kWidth + 1) + c] = through(1, k[k_at + (key0 + r) * k_row + c], uvec4(0));
      }
      barrier();
      float scores[kKeysEach];
      [[unroll]] for (uint i = 0; i < kKeysEach; ++i) scores[i] = 0.0;
      for (uint c = 0; c < size; ++c) {
        float x = queries[local * kWidth + c];
        [[unroll]] for (uint i = 0; i < kKeysEach; ++i) {
          scores[i] = fma(x, block[(member + i * kTeam) * (kWidth + 1) + c], scores[i]);
        }
      }
      [[unroll]] for (uint i = 0; i < kKeysEach; ++i) {
        uint key = member + i * kTeam;
        float s = kLowest;
        if (key < count && row < rows) s = through(2, scores[i], uvec4(batch, head, row, key0 + key));
        weights[local * (kKeys + 1) + key] = s;
      }
      barrier();
      for (uint e = thread; e < count * values; e += WICK_FLAT_SIZE) {
        uint r = e / values, c = e % values;
        block[r * (kWidth + 1) + c] = v[v_at + (key0 + r) * v_row + c];
      }
      // All invocations of a row compute the same values. Until a score is above -infinity there is nothing to rescale.
      float largest = best;
      for (uint i = 0; i < count; ++i) {
        float s = weights[local * (kKeys + 1) + i];
        if (s > largest) largest = s;
      }
      float base = largest == kLowest ? 0.0 : largest, factor = exp_f32(best - base);
      best = largest;
      float mine[kKeysEach];
      [[unroll]] for (uint i = 0; i < kKeysEach; ++i) {
        mine[i] = exp_f32(weights[local * (kKeys + 1) + member + i * kTeam] - base);
      }
      barrier();
      [[unroll]] for (uint i = 0; i < kKeysEach; ++i) weights[local * (kKeys + 1) + member + i * kTeam] = mine[i];
      barrier();
      total *= factor;
      [[unroll]] for (uint j = 0; j < 8; ++j) acc[j] *= factor;
      for (uint i = 0; i < count; ++i) {
        float w = weights[local * (kKeys + 1) + i];
        total += w;
        [[unroll]] for (uint j = 0; j < 8; ++j) {
          uint c = member + j * kTeam;
          if (c < values) acc[j] = fma(w, block[i * (kWidth + 1) + c], acc[j]);
        }
      }
    }
    if (row < rows) {
      [[unroll]] for (uint j = 0; j < 8; ++j) {
        uint c = member + j * kTeam;
        if (c < values) y[batch * out_batch + head * out_head + row * out_row + c] = acc[j] / total;
      }
    }
    barrier();
  }
}
