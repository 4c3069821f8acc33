#include "trainer/nn/models/gpt.h"

#include <cmath>
#include <utility>

#include "trainer/nn/container.h"
#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/nn/init.h"
#include "trainer/nn/mode_scope.h"
#include "trainer/nn/positional.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops/random/random.h"

namespace wick::nn {
namespace {

double probability(const char* name, double p) {
  if (!(p >= 0 && p <= 1)) refuse(name, "dropout must be in [0, 1], got " + repr_float(p));
  return p;
}

MultiheadAttentionOptions attention_options(double dropout) {
  MultiheadAttentionOptions o;
  o.dropout = dropout;
  o.batch_first = true;
  return o;
}

const GptOptions& checked(const GptOptions& o) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"vocab_size", o.vocab_size}, {"embed_dim", o.embed_dim},     {"num_layers", o.num_layers},
      {"num_heads", o.num_heads},   {"max_seq_len", o.max_seq_len}, {"mlp_ratio", o.mlp_ratio}};
  for (const auto& [name, value] : sizes) {
    if (value < 1) {
      refuse("GPT", std::string(name) + " must be positive, got " + std::to_string(value));
    }
  }
  probability("GPT", o.dropout);
  return o;
}

}  // namespace

MLP::MLP(int64_t embed_dim, int64_t hidden_dim, double dropout)
    : fc1(this, "fc1", embed_dim, hidden_dim > 0 ? hidden_dim : 4 * embed_dim),
      fc2(this, "fc2", hidden_dim > 0 ? hidden_dim : 4 * embed_dim, embed_dim),
      dropout_(probability("MLP", dropout)) {}

Tensor MLP::forward(const Arg& x) {
  const At at(x);
  return dropout(at(fc2(at(gelu(at(fc1(x)))))), dropout_, training());
}

TransformerBlock::TransformerBlock(int64_t embed_dim, int64_t num_heads,
                                   TransformerBlockOptions options)
    : ln1(this, "ln1", embed_dim, options.layer_norm_eps),
      attn(this, "attn", embed_dim, num_heads, attention_options(options.dropout)),
      ln2(this, "ln2", embed_dim, options.layer_norm_eps),
      mlp(this, "mlp", embed_dim, options.mlp_ratio * embed_dim, options.dropout),
      dropout_(probability("TransformerBlock", options.dropout)) {}

Tensor TransformerBlock::forward(const Arg& x, const Tensor& mask, Tensor* weights) {
  const At at(x);
  // In MultiheadAttention's bool masks true means that attention is not allowed.
  const Tensor hidden =
      mask.defined() && mask.dtype() == DType::kBool ? logical_not(at(mask)) : mask;
  const Tensor norm = ln1(x);
  AttentionResult seen =
      (*attn)(at(norm), at(norm), at(norm), {}, weights != nullptr, hidden, false);
  if (weights != nullptr) *weights = seen.weights;
  return behind(x, seen.output);
}

Tensor TransformerBlock::forward(const Arg& x, const Tensor& seen, KvStore& cache, int64_t layer) {
  const At at(x);
  return behind(x, (*attn)(at(ln1(x)), seen, cache, layer));
}

Tensor TransformerBlock::behind(const Arg& x, const Tensor& attended) {
  const At at(x);
  Tensor y = add(x, at(dropout(at(attended), dropout_, training())));
  return at(y) + at(mlp(at(ln2(at(y)))));
}

GPT::GPT(GptOptions options)
    : options_(checked(options)),
      token_embedding(this, "token_embedding", options.vocab_size, options.embed_dim),
      position_embedding(this, "position_embedding", options.max_seq_len, options.embed_dim) {
  TransformerBlockOptions o;
  o.mlp_ratio = options.mlp_ratio;
  o.dropout = options.dropout;
  auto list = std::make_shared<ModuleList>();
  for (int64_t i = 0; i < options.num_layers; ++i) {
    blocks_.push_back(std::make_shared<TransformerBlock>(options.embed_dim, options.num_heads, o));
    list->append(blocks_.back());
  }
  register_module("blocks", list);
  ln_f_ = std::make_shared<LayerNorm>(options.embed_dim);
  register_module("ln_f", ln_f_);
  if (!options.tie_weights) {
    lm_head_ = std::make_shared<Linear>(options.embed_dim, options.vocab_size, false);
    register_module("lm_head", lm_head_);
  }
  NoGrad guard;
  const double narrow = 0.02 / std::sqrt(2.0 * static_cast<double>(options.num_layers));
  for (const auto& [name, p] : named_parameters()) {
    const bool branch_end = name.ends_with("out_proj.weight") || name.ends_with("fc2.weight");
    if (p.rank() == 2) init::normal_(p, 0, branch_end ? narrow : 0.02);
    if (name.ends_with("bias")) p.zero_();
  }
}

Tensor GPT::forward(const Arg& tokens) {
  return kv_cache_ ? forward(tokens, *kv_cache_) : run(tokens, nullptr, nullptr);
}

Tensor GPT::forward(const Arg& tokens, KvStore& cache) {
  if (!options_.causal || training()) {
    throw_error("GPT",
                options_.causal
                    ? "a KV cache is for eval mode: call eval() first"
                    : "a KV cache needs a causal model: here each token sees all others",
                tokens.where);
  }
  NoGrad guard;
  // A forward that throws leaves the cache as it was, also in the layers that it had passed.
  struct Rest {
    KvStore* of;
    ~Rest() { of->discard(); }
  } rest{&cache};
  Tensor y = run(tokens, nullptr, &cache);
  cache.advance();
  return y;
}

Tensor GPT::run(const Arg& tokens, std::vector<Tensor>* weights, KvStore* cache) {
  const At at(tokens);
  const Tensor& t = tokens.tensor;
  if (t.rank(tokens.where) != 2 || t.size(1, tokens.where) < 1 ||
      t.size(1, tokens.where) > options_.max_seq_len) {
    bad_shape(
        "GPT",
        "takes tokens [batch, 1 to " + std::to_string(options_.max_seq_len) + "], got " + text(t),
        tokens.where);
  }
  Tensor place = cache != nullptr ? cache->positions(tokens) : positions_of(tokens);
  Tensor seen;
  if (cache != nullptr) {
    seen = cache->seen(place, tokens.where);
  } else if (options_.causal) {
    seen = le(at(place.unsqueeze(0, tokens.where)), at(place.unsqueeze(1, tokens.where)));
  }
  Tensor x = token_embedding(tokens);
  x = dropout(at(at(x) + at(position_embedding(at(place)))), options_.dropout, training());
  {
    static const std::string kBlocks = "blocks";
    ModuleScope scope(kBlocks);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      TransformerBlock& block = *blocks_[i];
      if (cache != nullptr) {
        x = block(at(x), seen, *cache, static_cast<int64_t>(i));
        continue;
      }
      Tensor* to = weights != nullptr ? &weights->emplace_back() : nullptr;
      x = block(at(x), seen, to);
    }
  }
  x = (*ln_f_)(at(x));
  return lm_head_ ? (*lm_head_)(at(x)) : linear(at(x), at(token_embedding->weight));
}

namespace {

// Chooses the next token for each row of logits [B, vocab]: int64 [B, 1].
Tensor chosen(const Tensor& logits, const GenerateOptions& o, Generator& g, const At& at) {
  if (o.temperature == 0) return argmax(at(logits), -1, true);
  Tensor scores = at(logits) / o.temperature, among;
  if (o.top_k && *o.top_k < dim_of(scores, -1)) {
    ValuesIndices top = topk(at(scores), *o.top_k);
    scores = top.values;
    among = top.indices;
  }
  Tensor pick = multinomial(at(softmax(at(scores), -1)), 1, true, g);
  return among.defined() ? gather(at(among), 1, at(pick)) : pick;
}

// Gives a model its cache back.
struct Restore {
  std::shared_ptr<KvCache>* to;
  std::shared_ptr<KvCache> cache;
  ~Restore() { *to = cache; }
};

}  // namespace

std::vector<Tensor> GPT::attention_weights(const Arg& tokens) {
  NoGrad guard;
  const ModeScope mode(*this, false);
  ModuleScope scope = enter();
  std::vector<Tensor> weights;
  run(tokens, &weights, nullptr);
  return weights;
}

Tensor GPT::generate(const Arg& tokens, const GenerateOptions& o) {
  const At at(tokens);
  const Where& where = tokens.where;
  if (!(o.temperature >= 0) || std::isinf(o.temperature)) {
    throw_error("generate", "temperature must be 0 or more, got " + repr_float(o.temperature),
                where);
  }
  if (o.top_k && *o.top_k < 1) {
    throw_error("generate", "top_k must be positive, got " + std::to_string(*o.top_k), where);
  }
  if (o.max_new_tokens < 0) {
    throw_error("generate",
                "max_new_tokens must not be negative, got " + std::to_string(o.max_new_tokens),
                where);
  }
  if (tokens.tensor.rank(where) != 2 || dim_of(tokens.tensor, 1) < 1) {
    bad_shape("generate", "takes tokens [batch, time], at least one, got " + text(tokens.tensor),
              where);
  }
  NoGrad guard;
  const ModeScope mode(*this, false);
  Generator own{o.seed.value_or(0), 0};
  Generator& g = o.seed ? own : default_generator();
  Tensor all = tokens.tensor.to(DType::kI64, where), next = all;
  const std::shared_ptr<KvCache> enabled = std::exchange(kv_cache_, nullptr);
  const Restore restore{&kv_cache_, enabled};
  std::shared_ptr<KvCache> cache;
  // The model sees all tokens but the last one that is made.
  const int64_t longest = std::min(dim_of(all, 1) + o.max_new_tokens - 1, options_.max_seq_len);
  bool cached = o.use_cache && options_.causal && o.max_new_tokens > 1 && dim_of(all, 1) < longest;
  for (const auto& block : blocks_) cached = cached && block->attn->takes_cache();
  if (cached) cache = create_kv_cache(*this, dim_of(all, 0), longest);
  for (int64_t i = 0; i < o.max_new_tokens; ++i) {
    const int64_t length = dim_of(all, 1);
    Tensor logits;
    if (cache && length <= cache->max_seq_len()) {
      logits = (*this)(at(next), *cache);
    } else {  // the window moves: each token has another position than before
      logits = (*this)(
          at(all.slice(1, std::max<int64_t>(0, length - options_.max_seq_len), length, 1, where)));
    }
    next = chosen(logits.select(1, -1, where), o, g, at);
    all = cat({at(all), at(next)}, 1);
  }
  return all;
}

std::shared_ptr<KvCache> create_kv_cache(const GPT& model, int64_t batch_size,
                                         int64_t max_seq_len) {
  const GptOptions& o = model.options();
  if (max_seq_len > o.max_seq_len) {
    refuse("create_kv_cache", "the model takes " + std::to_string(o.max_seq_len) +
                                  " tokens, a cache for " + std::to_string(max_seq_len) +
                                  " was asked for");
  }
  const Tensor& like = model.token_embedding->weight;
  return std::make_shared<KvCache>(batch_size, max_seq_len == 0 ? o.max_seq_len : max_seq_len,
                                   o.num_layers, o.num_heads, o.embed_dim / o.num_heads,
                                   like.dtype(), like.device());
}

std::shared_ptr<KvCache> enable_kv_cache(GPT& model, int64_t batch_size, int64_t max_seq_len) {
  model.kv_cache_ = create_kv_cache(model, batch_size, max_seq_len);
  return model.kv_cache_;
}

void disable_kv_cache(GPT& model) { model.kv_cache_ = nullptr; }

}  // namespace wick::nn
