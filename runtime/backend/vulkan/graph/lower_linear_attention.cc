#include <cmath>

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

// See lower_scatter.cc: the limit of consecutive steps for a column of the state.
constexpr int64_t kMostSteps = int64_t{1} << 24;

static Status lower_linear_attention(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const LinearAttentionAttrs*>(call.attrs);
  const auto has = [&](size_t i) { return i < call.in.size() && call.in[i].present(); };
  const Shape &query = call.in[0].shape, &state = call.out[1].shape;
  const int64_t batch = query[0], tokens = query[1], heads = state[1], keys = state[2],
                values = state[3], group = a.q_num_heads / heads;
  if (tokens > kMostSteps / (keys * (group + 2))) return unsupported("a long sequence");
  Dispatch fill = flat_dispatch(ShaderId::k_linear_attention_state, numel(state));
  add_spec(fill, has(3) ? 1 : 0);
  add_push(fill, numel(state));
  add_operand(fill, has(3) ? 3 : 0);
  add_operand(fill, out_operand(1));
  WICK_TRY(out.dispatches.push_back(fill));
  Dispatch d = flat_dispatch(ShaderId::k_linear_attention_f32, batch * heads * values);
  add_spec(d, has(4) ? 1 : 0);
  add_spec(d, has(4) && call.in[4].shape[2] == heads * keys ? 1 : 0);
  add_spec(d, has(5) ? 1 : 0);
  add_push(d, batch * heads * values);
  add_push(d, tokens);
  add_push(d, heads);
  add_push(d, group);
  add_push(d, keys);
  add_push(d, values);
  add_push(d, has(5) ? call.in[5].shape[2] : int64_t{1});
  const auto size = static_cast<float>(keys);
  add_push(d, a.scale != 0 ? static_cast<float>(a.scale) : 1.0f / std::sqrt(size));
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  for (int i = 4; i < 6; ++i) add_operand(d, has(static_cast<size_t>(i)) ? i : 0);
  add_operand(d, out_operand(0));
  add_operand(d, out_operand(1));
  return out.dispatches.push_back(d);
}

WICK_VULKAN(LinearAttention, {.lower = lower_linear_attention});

}  // namespace wick::vulkan
