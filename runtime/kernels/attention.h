// Where the parts of a fused attention lie: its inputs and output seen through their permutations.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

// Strides in elements over [batch..., heads, rows, columns]; 0 where one element serves all.
struct AttentionStrides {
  int64_t batch[kMaxRank] = {};
  int64_t head = 0, row = 0, col = 0;
};

// Sizes and places. Shapes passed the op's rule.
struct AttentionShape {
  int batch_rank = 0;
  int64_t batch_dims[kMaxRank] = {};
  int64_t batches = 1, heads = 1, rows = 0, keys = 0, size = 0, values = 0;
  int64_t key_heads = 1, value_heads = 1;
  AttentionStrides q, k, v, out;

  AttentionShape(const FusedAttentionAttrs& a, Span<const TensorView> in, const TensorView& out);
  // Of what is broadcast to the scores.
  AttentionStrides operand(const TensorView& x) const;
  // Where batch item b begins.
  int64_t batch_offset(const AttentionStrides& s, int64_t b) const {
    int64_t at = 0;
    for (int i = batch_rank - 1; i >= 0; --i) {
      at += b % batch_dims[i] * s.batch[i];
      b /= batch_dims[i];
    }
    return at;
  }
};

// A step of a call, with its operands where they lie. Of a condition `x` is it and `y` the value;
// of a scalar of queries or keys only `x` counts.
struct AttentionCallStep {
  AttentionStep step;
  const TensorView* x = nullptr;
  const TensorView* y = nullptr;
  AttentionStrides x_at, y_at;
};
// The steps of one phase (attention_phase), in order.
struct AttentionCallSteps {
  int count = 0;
  AttentionCallStep list[kMaxAttentionSteps];
  AttentionCallSteps(const FusedAttentionAttrs& a, const AttentionShape& shape,
                     Span<const TensorView> in, int phase);
};

}  // namespace wick
