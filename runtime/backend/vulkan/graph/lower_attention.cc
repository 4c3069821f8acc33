// FusedAttention as one dispatch; unsupported cases are left to the parts that expand.cc makes.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/sequence/attention.h"

namespace wick::vulkan {
namespace {

constexpr size_t kOperands = 3;  // bindings after q, k, v and the output
constexpr int64_t kMostSteps = 4;

static_assert(static_cast<int>(AttentionStep::kMulQuery) == WICK_ATTEND_MUL_QUERY &&
              static_cast<int>(AttentionStep::kDivQuery) == WICK_ATTEND_DIV_QUERY &&
              static_cast<int>(AttentionStep::kMulKey) == WICK_ATTEND_MUL_KEY &&
              static_cast<int>(AttentionStep::kDivKey) == WICK_ATTEND_DIV_KEY &&
              static_cast<int>(AttentionStep::kMul) == WICK_ATTEND_MUL &&
              static_cast<int>(AttentionStep::kDiv) == WICK_ATTEND_DIV &&
              static_cast<int>(AttentionStep::kAdd) == WICK_ATTEND_ADD &&
              static_cast<int>(AttentionStep::kSub) == WICK_ATTEND_SUB &&
              static_cast<int>(AttentionStep::kTanh) == WICK_ATTEND_TANH &&
              static_cast<int>(AttentionStep::kKeep) == WICK_ATTEND_KEEP &&
              static_cast<int>(AttentionStep::kReplace) == WICK_ATTEND_REPLACE);

Status check_dtypes(const OpCall& call, const FusedAttentionAttrs& a) {
  for (size_t i = 0; i < 3; ++i) {
    if (call.in[i].dtype != DType::kF32) return unsupported("no shader for this dtype");
  }
  size_t next = 3;
  for (int64_t step : a.steps.span()) {
    if (attention_phase(step) > 2) return unsupported("weights that change after the softmax");
    for (int i = 0; i < attention_operands(step); ++i, ++next) {
      const bool condition = attention_operands(step) == 2 && i == 0;
      if (call.in[next].dtype != (condition ? DType::kBool : DType::kF32))
        return unsupported("no shader for this dtype");
      if (attention_phase(step) < 2 && call.in[next].numel() != 1)
        return unsupported("queries or keys by more than a number");
    }
  }
  return {};
}

}  // namespace

static Status lower_attention(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const FusedAttentionAttrs*>(call.attrs);
  if (call.in.size() > 3 + kOperands) return unsupported("an attention of many operands");
  if (a.steps.count > kMostSteps) return unsupported("an attention of many steps");
  WICK_TRY(check_dtypes(call, a));
  const AttentionShape s(a, call.in, call.out[0]);
  const int64_t width = s.size > s.values ? s.size : s.values;
  const bool plain = s.q.col == 1 && s.k.col == 1 && s.v.col == 1 && s.out.col == 1;
  if (s.batch_rank > 1 || width > 128 || !plain || s.keys == 0)
    return unsupported("an attention that is done in parts");
  const int64_t rows = width <= 64 ? 16 : 8, across = (s.rows + rows - 1) / rows;
  if (across > kMaxGroups || s.heads > kMaxGroups)
    return unsupported("more rows than a dispatch has");
  Dispatch d;
  d.shader = ShaderId::k_attention;
  add_spec(d, static_cast<uint32_t>(rows));
  add_spec(d, static_cast<uint32_t>(a.steps.count));
  uint32_t next = 0;
  for (int64_t step : a.steps.span()) {
    add_spec(d, static_cast<uint32_t>(step) | next << 8 | (next + 1) << 10);
    next += static_cast<uint32_t>(attention_operands(step));
  }
  for (int64_t i = a.steps.count; i < kMostSteps; ++i) add_spec(d, 0);
  for (int64_t v : {s.rows, s.keys, s.size, s.values, s.heads, s.batches, s.heads / s.key_heads,
                    s.heads / s.value_heads})
    add_push(d, v);
  for (const AttentionStrides* at : {&s.q, &s.k, &s.v, &s.out}) {
    for (int64_t v : {at->batch[0], at->head, at->row}) add_push(d, v);
  }
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  add_operand(d, out_operand(0));
  for (size_t i = 3; i < 3 + kOperands; ++i) {
    const bool given = i < call.in.size();
    const AttentionStrides at = given ? s.operand(call.in[i]) : AttentionStrides();
    for (int64_t v : {at.batch[0], at.head, at.row, at.col}) add_push(d, v);
    add_operand(d, given ? static_cast<int>(i) : 0);  // absent: binds q, which is not read
  }
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = static_cast<uint32_t>(s.heads);
  d.groups[2] = groups_for(s.batches, 1);
  return out.dispatches.push_back(d);
}

WICK_VULKAN(FusedAttention, {.lower = lower_attention, .types = {is_any}});

}  // namespace wick::vulkan
