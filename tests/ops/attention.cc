#include <limits>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

constexpr int64_t kLinear = 0, kGated = 1, kDelta = 2, kGatedDelta = 3;

// Keys stay short and decays below 1, as in a model: the state must not grow without end.
std::vector<Input> in(int64_t batch, int64_t tokens, Shape heads, int64_t k, int64_t v,
                      DType state = DType::kNone, int64_t decay = 0, int64_t beta = 0) {
  std::vector<Input> all = {f32({batch, tokens, heads[0] * k}),
                            f32({batch, tokens, heads[1] * k}, -0.5, 0.5),
                            f32({batch, tokens, heads[1] * v})};
  Input none = Input::absent();
  all.push_back(state == DType::kNone ? none : of(state, {batch, heads[1], k, v}));
  all.push_back(decay == 0 ? none : f32({batch, tokens, decay}, -1, 0));
  all.push_back(beta == 0 ? none : f32({batch, tokens, beta}, 0, 1));
  while (!all.back().shape.rank()) all.pop_back();
  return all;
}

constexpr auto step(AttentionStep s) { return static_cast<int64_t>(s); }

FusedAttentionAttrs steps(const std::initializer_list<AttentionStep> list) {
  FusedAttentionAttrs a;
  for (AttentionStep s : list) a.steps.values[a.steps.count++] = step(s);
  return a;
}
Input yes(Shape s, std::vector<double> v = {}) { return {DType::kBool, s, 0, 1, std::move(v)}; }
Input number(double v) { return {DType::kF32, {}, 0, 0, {v}}; }
// Query i sees keys up to `past` + i.
Input causal(int64_t rows, int64_t keys, int64_t past = 0) {
  std::vector<double> v;
  for (int64_t i = 0; i < rows * keys; ++i) v.push_back(i % keys <= past + i / keys ? 1 : 0);
  return yes({rows, keys}, std::move(v));
}

}  // namespace

WICK_TEST_ROW(
    FusedAttention,
    [] {
      using S = AttentionStep;
      const double inf = std::numeric_limits<double>::infinity();
      auto row = [](const char* name, std::vector<Input> in, FusedAttentionAttrs a = {}) {
        return sample(std::string("FusedAttention/") + name, std::move(in), a);
      };
      FusedAttentionAttrs heads_last = steps({S::kMul, S::kAdd});
      heads_last.q_perm = {0, 2, 1, 3}, heads_last.k_perm = {0, 2, 1, 3};
      heads_last.v_perm = {0, 2, 1, 3}, heads_last.out_perm = {0, 2, 1, 3};
      FusedAttentionAttrs turned;
      turned.k_perm = {0, 2, 1};
      turned.v_perm = {2, 0, 1};
      turned.out_perm = {1, 2, 0};
      const Shape q{2, 3, 9, 16};
      return std::vector<Sample>{
          row("matrices", {f32({5, 7}), f32({6, 7}), f32({6, 4})}),
          row("one_row", {f32({3, 1, 20}), f32({3, 37, 20}), f32({3, 37, 11})}),
          row("scale", {f32(q), f32(q), f32(q), number(0.25)}, steps({S::kMul})),
          row("all_steps",
              {f32(q), f32({2, 3, 50, 16}), f32({2, 3, 50, 5}), number(0.5), number(3), number(0.7),
               number(-2), number(0.9), number(0.3), f32({9, 1}), f32({2, 1, 1, 50}),
               yes({3, 1, 50}), number(-1e4), yes({9, 1}), number(0)},
              steps({S::kMulQuery, S::kDivQuery, S::kMulKey, S::kDivKey, S::kMul, S::kDiv, S::kSub,
                     S::kTanh, S::kAdd, S::kKeep, S::kReplaceWeight})),
          row("causal",
              {f32({2, 40, 8}), f32({2, 40, 8}), f32({2, 40, 8}), causal(40, 40), number(-inf)},
              steps({S::kKeep})),
          row("causal_many_keys",
              {f32({1, 150, 8}), f32({1, 300, 8}), f32({1, 300, 8}), causal(150, 300, 150),
               number(-inf)},
              steps({S::kKeep})),
          row("hidden_by_little",
              {f32({1, 60, 8}), f32({1, 60, 8}), f32({1, 60, 8}), causal(60, 60), number(-4)},
              steps({S::kKeep})),
          row("replaced",
              {f32({2, 9, 8}), f32({2, 11, 8}), f32({2, 11, 8}), yes({1, 9, 11}), f32({9, 11})},
              steps({S::kReplace})),
          row("kept_weights",
              {f32({2, 9, 8}), f32({2, 11, 8}), f32({2, 11, 8}), yes({1, 9, 11}), f32({2, 1, 1})},
              steps({S::kKeepWeight})),
          row("grouped",
              {f32({2, 6, 5, 16}), f32({2, 2, 33, 16}), f32({2, 3, 33, 8}), f32({2, 6, 5, 33})},
              steps({S::kAdd})),
          row("one_key_head", {f32({2, 4, 50, 16}), f32({1, 1, 50, 16}), f32({2, 1, 50, 64})}),
          row("heads_last",
              {f32({2, 21, 3, 8}), f32({2, 33, 3, 8}), f32({2, 33, 3, 12}), number(0.35),
               f32({2, 1, 1, 33}, -20, 0)},
              heads_last),
          row("turned", {f32({3, 9, 8}), f32({3, 8, 13}), f32({13, 6, 3})}, turned),
          row("many_keys", {f32({20, 8}), f32({4200, 8}, -9, 9), f32({4200, 20})}),
          row("threads", {f32({1, 2, 260, 24}), f32({1, 2, 130, 24}), f32({1, 2, 130, 24})}),
          row("no_keys", {f32({2, 3, 4}), f32({2, 0, 4}), f32({2, 0, 5})}),
          row("no_size", {f32({2, 3, 0}), f32({2, 4, 0}), f32({2, 4, 5})}),
          row("no_rows", {f32({2, 0, 4}), f32({2, 4, 4}), f32({2, 4, 5})}),
          row("no_heads", {f32({0, 3, 4}), f32({0, 4, 4}), f32({0, 4, 5})}),
          row("no_values", {f32({2, 3, 4}), f32({2, 4, 4}), f32({2, 4, 0})})};
    },
    nullptr, 2048);

WICK_TEST_ROW(
    LinearAttention,
    [] {
      using A = LinearAttentionAttrs;
      auto row = [](const char* name, std::vector<Input> in, A a) {
        return sample(std::string("LinearAttention/") + name, std::move(in), a, 2);
      };
      std::vector<Input> half = in(2, 5, {2, 2}, 3, 4, DType::kF32, 2, 2);
      for (size_t i : {0u, 1u, 2u, 4u, 5u}) half[i].dtype = DType::kBF16;
      return std::vector<Sample>{
          row("linear", in(2, 5, {2, 2}, 3, 4), A{2, 2, kLinear, 0}),
          row("gated", in(2, 5, {2, 2}, 3, 4, DType::kNone, 6), A{2, 2, kGated, 0}),
          row("gated_a_head", in(1, 9, {2, 2}, 3, 17, DType::kF32, 2), A{2, 2, kGated, 0.25}),
          row("delta", in(2, 5, {3, 3}, 4, 7, DType::kF32, 0, 3), A{3, 3, kDelta, 0}),
          row("delta_one_beta", in(2, 5, {3, 3}, 4, 7, DType::kNone, 0, 1), A{3, 3, kDelta, 0}),
          row("grouped", in(2, 6, {6, 2}, 5, 3, DType::kF32, 10, 2), A{6, 2, kGatedDelta, 0}),
          row("one_kv_head", in(2, 6, {4, 1}, 5, 3, DType::kNone, 5, 1), A{4, 1, kGatedDelta, 0}),
          row("one_token", in(3, 1, {2, 2}, 8, 8, DType::kF32, 2, 2), A{2, 2, kGatedDelta, 0}),
          row("f16_state", in(2, 3, {2, 2}, 3, 4, DType::kF16, 2, 2), A{2, 2, kGatedDelta, 0}),
          row("bf16", half, A{2, 2, kGatedDelta, 0}),
          row("no_tokens", in(2, 0, {2, 2}, 3, 4, DType::kF32, 2, 2), A{2, 2, kGatedDelta, 0}),
          row("empty", in(0, 3, {2, 2}, 3, 4), A{2, 2, kLinear, 0}),
          row("no_values", in(2, 3, {2, 2}, 3, 0), A{2, 2, kLinear, 0}),
          row("threads", in(8, 40, {8, 8}, 16, 16, DType::kF32, 8, 8), A{8, 8, kGatedDelta, 0})};
    },
    nullptr, 256);

}  // namespace wick::test
