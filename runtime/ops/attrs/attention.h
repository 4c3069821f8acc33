// Attributes of recurrences of language models.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

enum class LinearRule : int64_t { kLinear = 0, kGated = 1, kDelta = 2, kGatedDelta = 3 };
struct LinearAttentionAttrs {
  int64_t q_num_heads = 1, kv_num_heads = 1;
  int64_t update_rule = 3;  // a LinearRule
  double scale = 0;         // 0: 1 / sqrt(the keys' size)
};
WICK_ATTR_FIELDS(LinearAttentionAttrs, WICK_FIELD(LinearAttentionAttrs, 1, q_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 2, kv_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 3, update_rule),
                 WICK_FIELD(LinearAttentionAttrs, 4, scale));

}  // namespace wick
