#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input lengths(std::vector<double> v) {
  return {DType::kI32, {static_cast<int64_t>(v.size())}, 0, 0, v};
}

struct Cell {
  int64_t gates, seq, batch, input, hidden;
};

// X, W, R, B of a cell; each sum of a gate stays near 1.
std::vector<Input> weights(const Cell& k, const RnnAttrs& a, bool bias = true) {
  int64_t dirs = a.direction == 2 ? 2 : 1, rows = k.gates * k.hidden;
  Shape x = a.layout == 0 ? Shape{k.seq, k.batch, k.input} : Shape{k.batch, k.seq, k.input};
  std::vector<Input> in = {f32(x, -1, 1), f32({dirs, rows, k.input}, -0.7, 0.7),
                           f32({dirs, rows, k.hidden}, -0.7, 0.7)};
  if (bias) in.push_back(f32({dirs, 2 * rows}, -0.5, 0.5));
  return in;
}
Input state(const Cell& k, const RnnAttrs& a) {
  int64_t dirs = a.direction == 2 ? 2 : 1;
  return f32(a.layout == 0 ? Shape{dirs, k.batch, k.hidden} : Shape{k.batch, dirs, k.hidden}, -1,
             1);
}
std::vector<Input> with(std::vector<Input> in, std::vector<Input> more) {
  in.insert(in.end(), more.begin(), more.end());
  return in;
}

RnnAttrs way(int64_t direction, int64_t layout = 0) {
  RnnAttrs a;
  a.direction = direction;
  a.layout = layout;
  return a;
}
RnnFunctionAttrs function(RnnFunction kind, double alpha = 0, double beta = 0) {
  return {static_cast<int64_t>(kind), alpha, beta};
}

// Returns the samples that the three ops share, for a number of gates.
S common(const std::string& op, int64_t gates, int outputs) {
  Cell k{gates, 5, 3, 4, 7};
  RnnAttrs forward = way(0), reverse = way(1), both = way(2), batch_first = way(2, 1);
  RnnAttrs clipped = forward;
  clipped.clip = 0.3;
  clipped.hidden_size = 7;
  S all = {
      sample(op + "/plain", weights(k, forward, false), forward, outputs),
      sample(op + "/bias", weights(k, forward), forward, outputs),
      sample(op + "/reverse", weights(k, reverse), reverse, outputs),
      sample(op + "/both", with(weights(k, both), {lengths({5, 0, 2}), state(k, both)}), both,
             outputs),
      sample(op + "/batch_first",
             with(weights(k, batch_first), {lengths({1, 5, 3}), state(k, batch_first)}),
             batch_first, outputs),
      sample(op + "/state", with(weights(k, forward), {Input::absent(), state(k, forward)}),
             forward, outputs),
      sample(op + "/clip", weights(k, clipped), clipped, outputs),
      sample(op + "/no_steps", weights({gates, 0, 2, 3, 4}, forward), forward, outputs),
      sample(op + "/no_rows", weights({gates, 3, 0, 3, 4}, forward), forward, outputs),
      sample(op + "/no_inputs", weights({gates, 3, 2, 0, 4}, forward), forward, outputs),
      sample(op + "/one", weights({gates, 1, 1, 1, 1}, forward), forward, outputs),
  };
  // every function, two directions of them
  for (auto kind = static_cast<int64_t>(RnnFunction::kTanh);
       kind <= static_cast<int64_t>(RnnFunction::kSoftplus); ++kind) {
    RnnAttrs a = both;
    a.f = a.back_g = function(static_cast<RnnFunction>(kind), 0.4, 0.3);
    a.back_f = function(RnnFunction::kSigmoid);
    if (kind == static_cast<int64_t>(RnnFunction::kSoftsign)) a.h = a.f;
    all.push_back(sample(op + "/function" + std::to_string(kind), weights(k, a), a, outputs));
  }
  return all;
}

}  // namespace

WICK_TEST_ROW(
    RNN, [] { return common("RNN", 1, 2); }, nullptr, 64);
WICK_TEST_ROW(
    GRU,
    [] {
      S all = common("GRU", 3, 2);
      RnnAttrs a = way(2);
      a.linear_before_reset = 1;
      Cell k{3, 4, 2, 3, 5};
      all.push_back(sample("GRU/linear_before_reset", weights(k, a), a, 2));
      all.push_back(sample("GRU/linear_before_reset_plain", weights(k, a, false), a, 2));
      return all;
    },
    nullptr, 64);
WICK_TEST_ROW(
    LSTM,
    [] {
      S all = common("LSTM", 4, 3);
      Cell k{4, 4, 2, 3, 5};
      for (int64_t layout : {0, 1}) {
        RnnAttrs a = way(2, layout);
        a.input_forget = layout;
        all.push_back(sample("LSTM/peepholes" + std::to_string(layout),
                             with(weights(k, a), {lengths({4, 2}), state(k, a), state(k, a),
                                                  f32({2, 3 * k.hidden}, -0.5, 0.5)}),
                             a, 3));
      }
      return all;
    },
    nullptr, 64);

}  // namespace wick::test
