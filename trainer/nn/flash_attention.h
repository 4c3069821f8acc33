// Attention whose memory grows with the number of tokens, not with its square.
#pragma once

#include <optional>

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// Options of flash_attention().
struct FlashAttentionOptions {
  bool is_causal = false;            // a position attends to itself and to earlier ones
  std::optional<double> scale = {};  // of the scores; default: 1 / sqrt(E)
  int64_t tile = 256;                // rows and columns of the scores that exist at a time
};

// Returns scaled_dot_product_attention(q, k, v) for q[..., L, E], k[..., S, E], v[..., S, Ev] of
// one floating-point dtype; autocast casts them as it does that function's. The scores are computed
// tile by tile, each row with a running maximum and a running sum (online softmax; T. Dao et al.,
// FlashAttention, 2022), and computed again in backward from the logarithm of that sum. Beside q,
// k, v and the result it keeps L numbers; a tile takes `tile` squared ones. Other bits than the
// exact function's: docs/numerics.md has the bound. Of 16-bit floats the products have 16 bits, and
// the sums over tiles are in float32.
//
// The gradient of its gradient is the exact function's, with that one's memory, and so is forward
// mode. Throws Error for shapes and dtypes that do not fit and a tile below 1.
Tensor flash_attention(const Arg& q, const Arg& k, const Arg& v,
                       const FlashAttentionOptions& options = {});

}  // namespace wick::nn
