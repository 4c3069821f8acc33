#include "trainer/nn/models/gpt.h"

#include <cmath>

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
  Tensor y = add(x, at(dropout(at(seen.output), dropout_, training())));
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

Tensor GPT::run(const Arg& tokens, std::vector<Tensor>* weights) {
  const At at(tokens);
  const Tensor& t = tokens.tensor;
  if (t.rank(tokens.where) != 2 || t.size(1, tokens.where) < 1 ||
      t.size(1, tokens.where) > options_.max_seq_len) {
    bad_shape(
        "GPT",
        "takes tokens [batch, 1 to " + std::to_string(options_.max_seq_len) + "], got " + text(t),
        tokens.where);
  }
  Tensor place = positions_of(tokens);
  Tensor seen;
  if (options_.causal) {
    seen = le(at(place.unsqueeze(0, tokens.where)), at(place.unsqueeze(1, tokens.where)));
  }
  Tensor x = token_embedding(tokens);
  x = dropout(at(at(x) + at(position_embedding(at(place)))), options_.dropout, training());
  {
    static const std::string kBlocks = "blocks";
    ModuleScope scope(kBlocks);
    for (const auto& block : blocks_) {
      Tensor* to = weights != nullptr ? &weights->emplace_back() : nullptr;
      x = (*block)(at(x), seen, to);
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

}  // namespace

std::vector<Tensor> GPT::attention_weights(const Arg& tokens) {
  NoGrad guard;
  const ModeScope mode(*this, false);
  ModuleScope scope = enter();
  std::vector<Tensor> weights;
  run(tokens, &weights);
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
  Tensor all = tokens.tensor.to(DType::kI64, where);
  for (int64_t i = 0; i < o.max_new_tokens; ++i) {
    const int64_t length = dim_of(all, 1);
    Tensor seen =
        all.slice(1, std::max<int64_t>(0, length - options_.max_seq_len), length, 1, where);
    Tensor last = (*this)(at(seen)).select(1, -1, where);
    all = cat({at(all), at(chosen(last, o, g, at))}, 1);
  }
  return all;
}

}  // namespace wick::nn
