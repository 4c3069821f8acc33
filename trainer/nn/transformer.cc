#include "trainer/nn/transformer.h"

#include "trainer/nn/container.h"
#include "trainer/nn/default_init.h"
#include "trainer/nn/init.h"
#include "trainer/tensor/compose.h"

namespace wick::nn {
namespace {

MultiheadAttentionOptions attention_options(const TransformerOptions& o) {
  MultiheadAttentionOptions a;
  a.dropout = o.dropout;
  a.batch_first = o.batch_first;
  return a;
}

const TransformerOptions& checked(const char* name, const TransformerOptions& o) {
  if (o.activation != "relu" && o.activation != "gelu") {
    refuse(name, "activation must be relu or gelu, got '" + o.activation + "'");
  }
  if (o.dim_feedforward < 1) refuse(name, "dim_feedforward must be positive");
  return o;
}

Tensor activated(const std::string& activation, const Arg& x) {
  return activation == "gelu" ? gelu(x) : relu(x);
}

// The feed-forward part between two residual sums.
template <class Layer>
Tensor feed_forward(Layer& l, const std::string& activation, const Arg& x, const At& at) {
  return l.linear2(at(l.dropout(at(activated(activation, at(l.linear1(x)))))));
}

template <class Layer>
std::shared_ptr<Layer> copied(const Layer& from, std::shared_ptr<Layer> to) {
  to->to(from.norm1->weight.dtype());
  to->load_state_dict(from.state_dict());
  const std::vector<Tensor> original = from.parameters(), copy = to->parameters();
  for (size_t i = 0; i < copy.size(); ++i) copy[i].requires_grad_(original[i].requires_grad());
  to->train(from.training());
  return to;
}

// The list itself is never called, so whoever runs its layers pushes its name.
const std::string& layers_name() {
  static const std::string name = "layers";
  return name;
}

template <class Layer>
std::vector<std::shared_ptr<Layer>> add_layers(const char* name, Module* parent, const Layer& layer,
                                               int64_t count) {
  if (count < 1) refuse(name, "needs at least one layer, got " + std::to_string(count));
  auto list = std::make_shared<ModuleList>();
  std::vector<std::shared_ptr<Layer>> layers;
  for (int64_t i = 0; i < count; ++i) {
    layers.push_back(layer.copy());
    list->append(layers.back());
  }
  parent->register_module(layers_name(), list);
  return layers;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                                                 TransformerOptions options)
    : d_model_(d_model),
      options_(checked("TransformerEncoderLayer", options)),
      self_attn(this, "self_attn", d_model, nhead, attention_options(options)),
      linear1(this, "linear1", d_model, options.dim_feedforward),
      dropout(this, "dropout", options.dropout),
      linear2(this, "linear2", options.dim_feedforward, d_model),
      norm1(this, "norm1", d_model, options.layer_norm_eps),
      norm2(this, "norm2", d_model, options.layer_norm_eps),
      dropout1(this, "dropout1", options.dropout),
      dropout2(this, "dropout2", options.dropout) {}

std::shared_ptr<TransformerEncoderLayer> TransformerEncoderLayer::copy() const {
  return copied(
      *this, std::make_shared<TransformerEncoderLayer>(d_model_, self_attn->num_heads(), options_));
}

Tensor TransformerEncoderLayer::forward(const Arg& src, const Tensor& src_mask,
                                        const Tensor& padding) {
  const At at(src);
  auto attend = [&](const Tensor& t) {
    const Arg x = at(t);
    return dropout1(at((*self_attn)(x, x, x, padding, false, src_mask).output));
  };
  auto feed = [&](const Tensor& t) {
    return dropout2(at(feed_forward(*this, options_.activation, at(t), at)));
  };
  Tensor x = src.tensor;
  if (options_.norm_first) {
    x = at(x) + at(attend(norm1(at(x))));
    return at(x) + at(feed(norm2(at(x))));
  }
  x = norm1(at(at(x) + at(attend(x))));
  return norm2(at(at(x) + at(feed(x))));
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                                                 TransformerOptions options)
    : d_model_(d_model),
      options_(checked("TransformerDecoderLayer", options)),
      self_attn(this, "self_attn", d_model, nhead, attention_options(options)),
      multihead_attn(this, "multihead_attn", d_model, nhead, attention_options(options)),
      linear1(this, "linear1", d_model, options.dim_feedforward),
      dropout(this, "dropout", options.dropout),
      linear2(this, "linear2", options.dim_feedforward, d_model),
      norm1(this, "norm1", d_model, options.layer_norm_eps),
      norm2(this, "norm2", d_model, options.layer_norm_eps),
      norm3(this, "norm3", d_model, options.layer_norm_eps),
      dropout1(this, "dropout1", options.dropout),
      dropout2(this, "dropout2", options.dropout),
      dropout3(this, "dropout3", options.dropout) {}

std::shared_ptr<TransformerDecoderLayer> TransformerDecoderLayer::copy() const {
  return copied(
      *this, std::make_shared<TransformerDecoderLayer>(d_model_, self_attn->num_heads(), options_));
}

Tensor TransformerDecoderLayer::forward(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask,
                                        const Tensor& memory_mask, const Tensor& tgt_padding,
                                        const Tensor& memory_padding) {
  const At at(tgt);
  auto attend = [&](const Tensor& t) {
    const Arg x = at(t);
    return dropout1(at((*self_attn)(x, x, x, tgt_padding, false, tgt_mask).output));
  };
  auto look = [&](const Tensor& t) {
    return dropout2(
        at((*multihead_attn)(at(t), memory, memory, memory_padding, false, memory_mask).output));
  };
  auto feed = [&](const Tensor& t) {
    return dropout3(at(feed_forward(*this, options_.activation, at(t), at)));
  };
  Tensor x = tgt.tensor;
  if (options_.norm_first) {
    x = at(x) + at(attend(norm1(at(x))));
    x = at(x) + at(look(norm2(at(x))));
    return at(x) + at(feed(norm3(at(x))));
  }
  x = norm1(at(at(x) + at(attend(x))));
  x = norm2(at(at(x) + at(look(x))));
  return norm3(at(at(x) + at(feed(x))));
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       std::shared_ptr<LayerNorm> norm)
    : layers_(add_layers("TransformerEncoder", this, layer, num_layers)), norm_(std::move(norm)) {
  if (norm_) register_module("norm", norm_);
}

Tensor TransformerEncoder::forward(const Arg& src, const Tensor& mask, const Tensor& padding) {
  const At at(src);
  Tensor x = src.tensor;
  {
    ModuleScope scope(layers_name());
    for (const auto& layer : layers_) x = (*layer)(at(x), mask, padding);
  }
  return norm_ ? (*norm_)(at(x)) : x;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       std::shared_ptr<LayerNorm> norm)
    : layers_(add_layers("TransformerDecoder", this, layer, num_layers)), norm_(std::move(norm)) {
  if (norm_) register_module("norm", norm_);
}

Tensor TransformerDecoder::forward(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask,
                                   const Tensor& memory_mask, const Tensor& tgt_padding,
                                   const Tensor& memory_padding) {
  const At at(tgt);
  Tensor x = tgt.tensor;
  {
    ModuleScope scope(layers_name());
    for (const auto& layer : layers_) {
      x = (*layer)(at(x), memory, tgt_mask, memory_mask, tgt_padding, memory_padding);
    }
  }
  return norm_ ? (*norm_)(at(x)) : x;
}

Transformer::Transformer(int64_t d_model, int64_t nhead, int64_t encoder_layers,
                         int64_t decoder_layers, TransformerOptions options)
    : encoder(this, "encoder", TransformerEncoderLayer(d_model, nhead, options), encoder_layers,
              std::make_shared<LayerNorm>(d_model, options.layer_norm_eps)),
      decoder(this, "decoder", TransformerDecoderLayer(d_model, nhead, options), decoder_layers,
              std::make_shared<LayerNorm>(d_model, options.layer_norm_eps)),
      d_model_(d_model),
      batch_first_(options.batch_first) {
  for (const Tensor& p : parameters()) {
    if (p.rank() >= 2) init::xavier_uniform_(p);
  }
}

Tensor Transformer::forward(const Arg& src, const Arg& tgt, const TransformerMasks& m) {
  const int batch = batch_first_ ? 0 : 1;
  const Tensor &s = src.tensor, &t = tgt.tensor;
  const bool fits = s.rank(src.where) == t.rank(tgt.where) && s.rank() >= 2 &&
                    dim_of(s, -1) == d_model_ && dim_of(t, -1) == d_model_ &&
                    (s.rank() == 2 || dim_of(s, batch) == dim_of(t, batch));
  if (!fits) {
    bad_shape("Transformer",
              "takes src and tgt of one batch and size " + std::to_string(d_model_) + ", got " +
                  text(s) + " and " + text(t),
              src.where);
  }
  Tensor memory = (*encoder)(src, m.src_mask, m.src_key_padding_mask);
  return (*decoder)(tgt, {memory, src.where}, m.tgt_mask, m.memory_mask, m.tgt_key_padding_mask,
                    m.memory_key_padding_mask);
}

}  // namespace wick::nn
