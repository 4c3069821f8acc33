// Strides of a fused attention's inputs and output, after their permutations.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

// Strides in elements over [batch..., heads, rows, columns]; 0 where broadcast.
struct AttentionStrides {
  int64_t batch[kMaxRank] = {};
  int64_t head = 0, row = 0, col = 0;
};

// Sizes and strides. The shapes have passed the op's rule.
struct AttentionShape {
  int batch_rank = 0;
  int64_t batch_dims[kMaxRank] = {};
  int64_t batches = 1, heads = 1, rows = 0, keys = 0, size = 0, values = 0;
  int64_t key_heads = 1, value_heads = 1;
  AttentionStrides q, k, v, out;

  AttentionShape(const FusedAttentionAttrs& a, Span<const TensorView> in, const TensorView& out);
  // Returns the strides of an operand that is broadcast to the scores.
  AttentionStrides operand(const TensorView& x) const;
  // Returns the offset of batch item b.
  int64_t batch_offset(const AttentionStrides& s, int64_t b) const {
    int64_t at = 0;
    for (int i = batch_rank - 1; i >= 0; --i) {
      at += b % batch_dims[i] * s.batch[i];
      b /= batch_dims[i];
    }
    return at;
  }
};

// A step of a call with its operands. For a condition, `x` is the condition and `y` the value; for
// a scalar applied to queries or keys, only `x` is set.
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
