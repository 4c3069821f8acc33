#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"

// RNN, GRU and LSTM: a work group has one sequence in one direction and computes its steps in order; the lanes share
// the elements of the state. A gate's sum is (x-part + Wb) + (h-part + Rb), each part one chain, k ascending: the CPU's
// order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kCell = WICK_CELL_RNN;
layout(constant_id = 1) const uint kBatchFirst = 0;
layout(constant_id = 2) const uint kReverse = 0;   // the first direction is reversed
layout(constant_id = 3) const uint kParts = 0;     // which inputs are present
layout(constant_id = 4) const uint kOption = 0;    // linear_before_reset, input_forget

// f, g, h of the first direction, then of the second; four bits per kind.
layout(push_constant) uniform Push {
  uint seq, batch, dirs, inputs, hidden, kinds, call;
  float limit;  // limit of the gates' sums; 0: none
  float alpha[6];
  float beta[6];
};
layout(binding = 0) readonly buffer In { float x[]; };
layout(binding = 1) readonly buffer Weight { float w[]; };
layout(binding = 2) readonly buffer Recurrence { float r[]; };
layout(binding = 3) readonly buffer Bias { float bias[]; };
layout(binding = 4) readonly buffer Lengths { int lengths[]; };
layout(binding = 5) readonly buffer Peepholes { float peepholes[]; };
layout(binding = 6) writeonly buffer Out { float y[]; };
layout(binding = 7) buffer State { float state[]; };    // the initial state, then the final one
layout(binding = 8) buffer Memory { float memory[]; };  // the cell state of LSTM
layout(binding = 9) buffer Fault { uint fault; };

shared float held[2][WICK_MOST_HIDDEN];  // the state of this step and the next
shared float reset[WICK_MOST_HIDDEN];    // for GRU: r h

float function(uint direction, uint i, float v) {
  uint at = direction * 3 + i;
  float a = alpha[at], b = beta[at];
  switch ((kinds >> (4 * at)) & 15u) {
    case WICK_CELL_SIGMOID: return sigmoid_f32(v);
    case WICK_CELL_RELU: return v <= 0.0 ? 0.0 : v;
    case WICK_CELL_AFFINE: return fma(a, v, b);
    case WICK_CELL_LEAKY_RELU: return v < 0.0 ? v * a : v;
    case WICK_CELL_THRESHOLDED_RELU: return v < a ? 0.0 : v;
    case WICK_CELL_SCALED_TANH: return a * tanh_f32(b * v);
    case WICK_CELL_HARD_SIGMOID: return is_nan(v) ? v : clip_f32(fma(a, v, b), 0.0, 1.0);
    case WICK_CELL_ELU: return v < 0.0 ? a * (exp_f32(v) - 1.0) : v;
    case WICK_CELL_SOFTSIGN: return v / (1.0 + abs(v));
    case WICK_CELL_SOFTPLUS: return is_nan(v) ? v : softplus_f32(v);
    default: return tanh_f32(v);
  }
}
float clipped(float v) { return limit > 0.0 && !is_nan(v) ? clip_f32(v, -limit, limit) : v; }

float x_part(uint direction, uint row, uint at) {
  const uint rows = hidden * WICK_CELL_GATES(kCell);
  float sum = 0.0;
  for (uint k = 0; k < inputs; ++k) sum = fma(x[at + k], w[(direction * rows + row) * inputs + k], sum);
  return (kParts & WICK_CELL_HAS_BIAS) != 0 ? sum + bias[direction * 2 * rows + row] : sum;
}
// Uses the state, or the reset state.
float h_part(uint direction, uint row, uint now, bool of_reset) {
  const uint rows = hidden * WICK_CELL_GATES(kCell);
  float sum = 0.0;
  for (uint k = 0; k < hidden; ++k) {
    sum = fma(of_reset ? reset[k] : held[now][k], r[(direction * rows + row) * hidden + k], sum);
  }
  return (kParts & WICK_CELL_HAS_BIAS) != 0 ? sum + bias[direction * 2 * rows + rows + row] : sum;
}

void main() {
  uint lane = gl_LocalInvocationIndex;
  for (uint task = gl_WorkGroupID.x; task < dirs * batch; task += gl_NumWorkGroups.x) {
    uint d = task / batch, b = task % batch;
    uint own = (kBatchFirst != 0 ? b * dirs + d : d * batch + b) * hidden;
    uint steps = seq;
    if ((kParts & WICK_CELL_HAS_LENGTHS) != 0) {
      int given = lengths[b];
      if (given < 0 || given > int(seq)) atomicMax(fault, call);
      steps = uint(clamp(given, 0, int(seq)));
    }
    bool backward = kReverse != 0 || d == 1;
    for (uint j = lane; j < hidden; j += WICK_FLAT_SIZE) held[0][j] = state[own + j];
    barrier();
    uint now = 0;
    for (uint step = 0; step < steps; ++step) {
      uint t = backward ? steps - 1 - step : step, next = 1 - now;
      uint at = (kBatchFirst != 0 ? b * seq + t : t * batch + b) * inputs;
      uint to = (kBatchFirst != 0 ? (b * seq + t) * dirs + d : (t * dirs + d) * batch + b) * hidden;
      if (kCell == WICK_CELL_GRU && kOption == 0) {
        for (uint j = lane; j < hidden; j += WICK_FLAT_SIZE) {
          float v = x_part(d, hidden + j, at) + h_part(d, hidden + j, now, false);
          reset[j] = function(d, 0, clipped(v)) * held[now][j];
        }
        barrier();
      }
      for (uint j = lane; j < hidden; j += WICK_FLAT_SIZE) {
        float made = 0.0, first = x_part(d, j, at) + h_part(d, j, now, false);
        if (kCell == WICK_CELL_RNN) {
          made = function(d, 0, clipped(first));
        } else if (kCell == WICK_CELL_GRU) {
          float z = function(d, 0, clipped(first)), candidate = x_part(d, 2 * hidden + j, at);
          if (kOption == 0) {
            candidate += h_part(d, 2 * hidden + j, now, true);
          } else {
            float v = x_part(d, hidden + j, at) + h_part(d, hidden + j, now, false);
            candidate = fma(function(d, 0, clipped(v)), h_part(d, 2 * hidden + j, now, false), candidate);
          }
          made = fma(z, held[now][j], (1.0 - z) * function(d, 1, clipped(candidate)));
        } else {
          float cell = memory[own + j];
          float o = x_part(d, hidden + j, at) + h_part(d, hidden + j, now, false);
          float forget = x_part(d, 2 * hidden + j, at) + h_part(d, 2 * hidden + j, now, false);
          float fresh = x_part(d, 3 * hidden + j, at) + h_part(d, 3 * hidden + j, now, false);
          bool peeps = (kParts & WICK_CELL_HAS_PEEPHOLES) != 0;
          uint peep = d * 3 * hidden + j;
          if (peeps) {
            first = fma(peepholes[peep], cell, first);
            forget = fma(peepholes[peep + 2 * hidden], cell, forget);
          }
          first = function(d, 0, clipped(first));
          forget = kOption != 0 ? 1.0 - first : function(d, 0, clipped(forget));
          cell = fma(forget, cell, first * function(d, 1, clipped(fresh)));
          if (peeps) o = fma(peepholes[peep + hidden], cell, o);
          made = function(d, 0, clipped(o)) * function(d, 2, cell);
          memory[own + j] = cell;
        }
        held[next][j] = made;
        y[to + j] = made;
      }
      barrier();
      now = next;
    }
    for (uint t = steps; t < seq; ++t) {
      uint to = (kBatchFirst != 0 ? (b * seq + t) * dirs + d : (t * dirs + d) * batch + b) * hidden;
      for (uint j = lane; j < hidden; j += WICK_FLAT_SIZE) y[to + j] = 0.0;
    }
    // An empty sequence gives zeros.
    for (uint j = lane; j < hidden; j += WICK_FLAT_SIZE) {
      state[own + j] = steps == 0 ? 0.0 : held[now][j];
      if (kCell == WICK_CELL_LSTM && steps == 0) memory[own + j] = 0.0;
    }
    barrier();
  }
}
