// A decoder-only Transformer (Radford et al., 2019): pre-norm blocks with learned positions.
#pragma once

#include <functional>
#include <optional>

#include "trainer/nn/attention.h"
#include "trainer/nn/embedding.h"
#include "trainer/nn/layer_norm.h"
#include "trainer/tensor/philox.h"

namespace wick::nn {

// x[..., embed_dim] -> hidden_dim (default: 4 embed_dim), GELU, -> embed_dim.
class MLP : public Module {
 public:
  explicit MLP(int64_t embed_dim, int64_t hidden_dim = 0, double dropout = 0);
  Tensor forward(const Arg& x) override;

  // Its layers.
  Child<Linear> fc1, fc2;

 private:
  double dropout_;
};

// Options of TransformerBlock.
struct TransformerBlockOptions {
  int64_t mlp_ratio = 4;         // hidden size of the MLP / embed_dim
  double dropout = 0;            // of the attention weights and both branches, in training mode
  double layer_norm_eps = 1e-5;  // eps of both norms
};

// x + attention(ln1(x)), then x + mlp(ln2(x)). x[B, T, embed_dim].
class TransformerBlock : public Module {
 public:
  TransformerBlock(int64_t embed_dim, int64_t num_heads, TransformerBlockOptions options = {});
  // Without a mask each position attends to all.
  Tensor forward(const Arg& x) override { return forward(x, {}); }
  // mask: [T, T], or broadcastable to [B, heads, T, T]; bool, true where attention is allowed. If
  // `weights` is given, it is set to the attention weights [B, heads, T, T].
  Tensor forward(const Arg& x, const Tensor& mask, Tensor* weights = nullptr);
  // x are the tokens that follow those of `cache`, and this block is its layer `layer`; `seen` is
  // MultiheadAttention's.
  Tensor forward(const Arg& x, const Tensor& seen, KvStore& cache, int64_t layer);
  using Module::operator();
  Tensor operator()(const Arg& x, const Tensor& mask, Tensor* weights = nullptr) {
    return hooked([this](const auto&... in) { return forward(in...); }, x, mask, weights);
  }
  Tensor operator()(const Arg& x, const Tensor& seen, KvStore& cache, int64_t layer) {
    return hooked([&](const auto&... in) { return forward(in..., cache, layer); }, x, seen);
  }

  // Its layers.
  Child<LayerNorm> ln1;
  Child<MultiheadAttention> attn;
  Child<LayerNorm> ln2;
  Child<MLP> mlp;

 private:
  // Returns the block's result, given x and what attention makes of it.
  Tensor behind(const Arg& x, const Tensor& attended);

  double dropout_;
};
using GptBlock = TransformerBlock;

// Options of GPT. vocab_size must be set.
struct GptOptions {
  // Sizes.
  int64_t vocab_size = 0, embed_dim = 128, num_layers = 4, num_heads = 4, max_seq_len = 256;
  int64_t mlp_ratio = 4;  // hidden size of the MLPs / embed_dim
  double dropout = 0;     // in training mode
  // Ties the output matrix to the token table (Press and Wolf, 2017).
  bool tie_weights = false;
  bool causal = true;  // false: each position attends to all
};

// Options of GPT::generate().
struct GenerateOptions {
  int64_t max_new_tokens = 100;       // tokens to add
  double temperature = 1;             // 0: always the most probable token
  std::optional<int64_t> top_k = {};  // draws from the k most probable tokens only; {}: from all
  std::optional<uint64_t> seed = {};  // of its own generator; {}: uses the default one
  // Keeps keys and values of earlier tokens while the text fits max_seq_len, if attention takes a
  // cache (that whose heads lie on several ranks does not). false: computes all of them for each
  // token, which is slower and gives the same tokens.
  bool use_cache = true;
};

// Maps tokens[B, T] (int64 or int32, T <= max_seq_len) to logits[B, T, vocab_size] of the token
// after each position. Causal by default. Weights are initialized like GPT-2's: N(0, 0.02), with a
// standard deviation smaller by sqrt(2 num_layers) for the last matrix of a branch. In eval mode it
// can be captured with B and T dynamic.
class GPT : public Module {
 public:
  explicit GPT(GptOptions options);
  // With a cache enabled (enable_kv_cache), tokens are those that follow the cached ones.
  Tensor forward(const Arg& tokens) override;
  // Maps the tokens[B, T] that follow those of `cache`, which then has them, too, to their logits
  // [B, T, vocab_size], without recording. Throws Error in training mode, if the model is not
  // causal, or if the cache is full; then the cache is as it was.
  Tensor forward(const Arg& tokens, KvStore& cache);
  using Module::operator();
  Tensor operator()(const Arg& tokens, KvStore& cache) {
    return hooked([&](const auto& in) { return forward(in, cache); }, tokens);
  }
  // Returns the attention weights, a tensor [B, heads, T, T] per block, without recording.
  std::vector<Tensor> attention_weights(const Arg& tokens);
  // Maps tokens[B, T] to [B, T + max_new_tokens], in eval mode and without recording. Of a longer
  // text the model sees only the last max_seq_len tokens. The result depends on weights, tokens and
  // seed.
  Tensor generate(const Arg& tokens, const GenerateOptions& options = {});
  // Returns the options of the constructor.
  const GptOptions& options() const { return options_; }
  // Returns the cache that forward() uses; null: none is enabled.
  const std::shared_ptr<KvCache>& kv_cache() const { return kv_cache_; }

 private:
  friend std::shared_ptr<KvCache> enable_kv_cache(GPT& model, int64_t batch_size,
                                                  int64_t max_seq_len);
  friend void disable_kv_cache(GPT& model);
  Tensor run(const Arg& tokens, std::vector<Tensor>* weights, KvStore* cache);

  GptOptions options_;
  std::shared_ptr<KvCache> kv_cache_;

 public:
  // [vocab_size, embed_dim] and [max_seq_len, embed_dim].
  Child<Embedding> token_embedding, position_embedding;

 private:
  std::vector<std::shared_ptr<TransformerBlock>> blocks_;
  std::shared_ptr<LayerNorm> ln_f_;
  std::shared_ptr<Linear> lm_head_;  // null: tied
};

// Returns an empty cache for a model. max_seq_len: the most tokens that it has room for; 0: as many
// as the model takes. Throws Error if the model takes fewer.
std::shared_ptr<KvCache> create_kv_cache(const GPT& model, int64_t batch_size = 1,
                                         int64_t max_seq_len = 0);
// Gives the model an empty cache, and returns it: from then on model(tokens) takes the tokens that
// follow the cached ones, until reset() makes it begin a new text.
std::shared_ptr<KvCache> enable_kv_cache(GPT& model, int64_t batch_size = 1,
                                         int64_t max_seq_len = 0);
// Takes the cache away: model(tokens) takes whole texts again.
void disable_kv_cache(GPT& model);

}  // namespace wick::nn
