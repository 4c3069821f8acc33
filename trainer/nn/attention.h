// Attention (Vaswani et al., 2017).
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "trainer/nn/kv_cache.h"
#include "trainer/nn/layers.h"

namespace wick::nn {

// Attention returns this.
struct AttentionResult {
  Tensor output;   // [..., L, size of a value]
  Tensor weights;  // the softmax before dropout; undefined if not requested
};

// scaled_dot_product_attention (trainer/tensor/ops/nn.h) that also returns its weights [..., L, S].
AttentionResult attention_with_weights(const Arg& q, const Arg& k, const Arg& v,
                                       const Tensor& mask = Tensor(), double dropout_p = 0,
                                       bool is_causal = false, std::optional<double> scale = {});

// Masks that let a position attend to itself and to earlier ones. create_causal_mask is for
// scaled_dot_product_attention: bool [size, size], true where attention is allowed.
Tensor create_causal_mask(SizeArg size);
// For the attn_mask of modules, as in PyTorch: float, 0 where attention is allowed and -inf
// elsewhere.
Tensor generate_square_subsequent_mask(SizeArg size, DType dtype = DType::kF32);

// Options of MultiheadAttention, with PyTorch's defaults. kdim and vdim are the sizes of key and
// value; by default both are embed_dim.
struct MultiheadAttentionOptions {
  double dropout = 0;                           // of the attention weights, in training mode
  bool bias = true;                             // the projections have biases
  bool add_bias_kv = false;                     // adds a learned key and value
  bool add_zero_attn = false;                   // adds a key and value of zeros
  std::optional<int64_t> kdim = {}, vdim = {};  // sizes of key and value; default: embed_dim
  bool batch_first = false;  // x is [N, L, embed_dim] instead of [L, N, embed_dim]
};

// PyTorch's name for the output projection after the heads; a Linear.
class NonDynamicallyQuantizableLinear : public Linear {
 public:
  using Linear::Linear;
};

// The parameters are PyTorch's: in_proj_weight [3 embed_dim, embed_dim], or q_proj_weight,
// k_proj_weight and v_proj_weight if kdim or vdim differ from embed_dim; in_proj_bias; bias_k,
// bias_v; out_proj.
class MultiheadAttention : public Module {
 public:
  using Options = MultiheadAttentionOptions;  // of the last argument
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, MultiheadAttentionOptions options = {});

  // Self-attention; returns only the output.
  Tensor forward(const Arg& x) override { return forward(x, x, x, {}, false).output; }
  // Takes query[L, N, embed_dim], key[S, N, kdim], value[S, N, vdim] ([N, L, ...] with batch_first;
  // all of them may lack N). key_padding_mask[N, S] and attn_mask[L, S] or [N * num_heads, L, S]
  // are bool, true where attention is not allowed, or floats that are added. The weights are [N, L,
  // S], the mean over heads, or [N, num_heads, L, S] with average_attn_weights = false. A row that
  // is masked completely is NaN.
  AttentionResult forward(const Arg& query, const Arg& key, const Arg& value,
                          const Tensor& key_padding_mask = Tensor(), bool need_weights = true,
                          const Tensor& attn_mask = Tensor(), bool average_attn_weights = true);
  using Module::operator();
  AttentionResult operator()(const Arg& query, const Arg& key, const Arg& value,
                             const Tensor& key_padding_mask = Tensor(), bool need_weights = true,
                             const Tensor& attn_mask = Tensor(), bool average_attn_weights = true) {
    return hooked([this](const auto&... in) { return forward(in...); }, query, key, value,
                  key_padding_mask, need_weights, attn_mask, average_attn_weights);
  }

  // Causal self-attention of the tokens x[N, L, embed_dim] that follow those of `cache`, whose
  // layer gets their keys and values; returns [N, L, embed_dim]. seen[L, tokens]: bool, true where
  // attention is allowed; undefined: everywhere. Throws Error in training mode, where gradients are
  // recorded, where set_forward() was called, and unless the module is batch_first with one
  // in_proj_weight, and without bias_kv and zero_attn.
  Tensor forward(const Arg& x, const Tensor& seen, KvStore& cache, int64_t layer);
  Tensor operator()(const Arg& x, const Tensor& seen, KvStore& cache, int64_t layer) {
    return hooked([&](const auto&... in) { return forward(in..., cache, layer); }, x, seen);
  }
  // Returns whether it takes a cache.
  bool takes_cache() const;

  // Return the sizes that the constructor was given.
  int64_t embed_dim() const { return embed_; }
  int64_t num_heads() const { return heads_; }
  bool batch_first() const { return options_.batch_first; }
  const MultiheadAttentionOptions& options() const { return options_; }

  // What forward() takes and returns.
  using Forward = std::function<AttentionResult(
      const Arg& query, const Arg& key, const Arg& value, const Tensor& key_padding_mask,
      bool need_weights, const Tensor& attn_mask, bool average_attn_weights)>;
  // Runs f in forward()'s place: for a module whose heads lie on several ranks. Empty: its own.
  void set_forward(Forward f) { instead_ = std::move(f); }

  Tensor in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v;

 private:
  struct Projected {
    Tensor q, k, v;  // [N, L or S, embed_dim]
  };
  Projected project(const Arg& query, const Tensor& q, const Arg& key, const Tensor& k,
                    const Arg& value, const Tensor& v) const;
  Tensor split(const Tensor& t, const Where& where) const;  // [N, heads, L, size]
  // Combines both masks into one that broadcasts to the scores [N, heads, L, S]: floats that are
  // added, or bool, true where attention is allowed.
  Tensor joined_mask(const Tensor& padding, const Tensor& mask, const Tensor& q, const Tensor& k,
                     const Where& where) const;

  int64_t embed_, heads_;
  MultiheadAttentionOptions options_;
  Forward instead_;  // empty: the module's own

 public:
  Child<NonDynamicallyQuantizableLinear> out_proj;
};

}  // namespace wick::nn
