// Attributes of attention ops and of recurrences of language models.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

enum class LinearRule : int64_t { kLinear = 0, kGated = 1, kDelta = 2, kGatedDelta = 3 };
struct LinearAttentionAttrs {
  int64_t q_num_heads = 1, kv_num_heads = 1;
  int64_t update_rule = 3;  // a LinearRule
  double scale = 0;         // 0: 1 / sqrt(head size of the keys)
};
WICK_ATTR_FIELDS(LinearAttentionAttrs, WICK_FIELD(LinearAttentionAttrs, 1, q_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 2, kv_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 3, update_rule).up_to(LinearRule::kGatedDelta),
                 WICK_FIELD(LinearAttentionAttrs, 4, scale));

// The operations of a graph's attention besides two products and a softmax, node by node, in the
// graph's order. Each step takes its operands from the op's inputs after v, in the same order.
// Files contain these values: append only.
enum class AttentionStep : int64_t {
  // applied to the queries, then to the keys, with one number
  kMulQuery = 1,
  kDivQuery = 2,
  kMulKey = 3,
  kDivKey = 4,
  // applied to the scores, with a broadcast operand
  kMul = 5,
  kDiv = 6,
  kAdd = 7,
  kSub = 8,  // scores - operand
  kTanh = 9,
  kKeep = 10,     // condition, value: keeps the scores where condition holds
  kReplace = 11,  // condition, value: takes the value where condition holds
  // applied to the weights, the result of softmax
  kKeepWeight = 12,
  kReplaceWeight = 13,
};
// Returns the phase of a step, in this order: queries, keys, scores, weights; -1: no valid step.
constexpr int attention_phase(int64_t step) {
  if (step < 1 || step > static_cast<int64_t>(AttentionStep::kReplaceWeight)) return -1;
  if (step <= static_cast<int64_t>(AttentionStep::kDivQuery)) return 0;
  if (step <= static_cast<int64_t>(AttentionStep::kDivKey)) return 1;
  return step <= static_cast<int64_t>(AttentionStep::kReplace) ? 2 : 3;
}
constexpr int attention_operands(int64_t step) {
  if (step == static_cast<int64_t>(AttentionStep::kTanh)) return 0;
  return step >= static_cast<int64_t>(AttentionStep::kKeep) ? 2 : 1;
}

// The inputs are read through their permutations (empty: unchanged) as [batch..., heads, rows,
// size], [batch..., key heads, keys, size] and [batch..., value heads, keys, values]; the output is
// transposed by its own permutation. Consecutive query heads share one head of keys and one of
// values (grouped-query attention).
constexpr int kMaxAttentionSteps = 12;
struct FusedAttentionAttrs {
  DimList q_perm, k_perm, v_perm, out_perm;
  IntList<kMaxAttentionSteps> steps;
};
WICK_ATTR_FIELDS(FusedAttentionAttrs, WICK_FIELD(FusedAttentionAttrs, 1, q_perm),
                 WICK_FIELD(FusedAttentionAttrs, 2, k_perm),
                 WICK_FIELD(FusedAttentionAttrs, 3, v_perm),
                 WICK_FIELD(FusedAttentionAttrs, 4, out_perm),
                 WICK_FIELD(FusedAttentionAttrs, 5, steps).up_to(AttentionStep::kReplaceWeight, 1));

}  // namespace wick
