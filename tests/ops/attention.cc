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

}  // namespace

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
