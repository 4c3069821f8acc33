// The Transformer (Vaswani et al., 2017) with PyTorch's layers and names.
#pragma once

#include "trainer/nn/attention.h"
#include "trainer/nn/layer_norm.h"

namespace wick::nn {

// Options of the layers, with PyTorch's defaults.
struct TransformerOptions {
  int64_t dim_feedforward = 2048;   // hidden size of the two Linears
  double dropout = 0.1;             // of each branch and of the attention weights
  std::string activation = "relu";  // or "gelu"
  double layer_norm_eps = 1e-5;     // eps of the norms
  bool batch_first = false;         // x is [N, L, d_model] instead of [L, N, d_model]
  bool norm_first = false;          // pre-norm (Xiong et al., 2020)
};

// The masks are MultiheadAttention's: attn_mask [L, S] and key_padding_mask [N, S], bool (true
// where attention is not allowed) or floats that are added.
class TransformerEncoderLayer : public Module {
 public:
  using Options = TransformerOptions;  // of the last argument
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerOptions options = {});
  // Maps src[L, N, d_model] ([N, L, ...] with batch_first) to the same shape.
  Tensor forward(const Arg& src) override { return forward(src, {}); }
  Tensor forward(const Arg& src, const Tensor& src_mask,
                 const Tensor& src_key_padding_mask = Tensor());
  using Module::operator();
  Tensor operator()(const Arg& src, const Tensor& src_mask,
                    const Tensor& src_key_padding_mask = Tensor()) {
    return hooked([this](const auto&... in) { return forward(in...); }, src, src_mask,
                  src_key_padding_mask);
  }
  // Returns another layer with the same sizes and values.
  std::shared_ptr<TransformerEncoderLayer> copy() const;

 private:
  int64_t d_model_;
  TransformerOptions options_;

 public:
  // Its layers, with PyTorch's names.
  Child<MultiheadAttention> self_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  Child<LayerNorm> norm1, norm2;
  Child<Dropout> dropout1, dropout2;
};

// torch.nn.TransformerDecoderLayer: attends to tgt[L, N, d_model], then to memory[S, N, d_model];
// with batch_first N is first. Returns tgt's shape. The masks are MultiheadAttention's.
class TransformerDecoderLayer : public Module {
 public:
  using Options = TransformerOptions;  // of the last argument
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerOptions options = {});
  Tensor forward(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask = Tensor(),
                 const Tensor& memory_mask = Tensor(),
                 const Tensor& tgt_key_padding_mask = Tensor(),
                 const Tensor& memory_key_padding_mask = Tensor());
  using Module::forward;
  using Module::operator();
  Tensor operator()(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask = Tensor(),
                    const Tensor& memory_mask = Tensor(),
                    const Tensor& tgt_key_padding_mask = Tensor(),
                    const Tensor& memory_key_padding_mask = Tensor()) {
    return hooked([this](const auto&... in) { return forward(in...); }, tgt, memory, tgt_mask,
                  memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }
  // Returns another layer with the same sizes and values.
  std::shared_ptr<TransformerDecoderLayer> copy() const;

 private:
  int64_t d_model_;
  TransformerOptions options_;

 public:
  // Its layers, with PyTorch's names.
  Child<MultiheadAttention> self_attn, multihead_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  Child<LayerNorm> norm1, norm2, norm3;
  Child<Dropout> dropout1, dropout2, dropout3;
};

// num_layers copies of a layer, "layers.0" ..., with equal initial values, as in PyTorch. norm:
// null for none.
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                     std::shared_ptr<LayerNorm> norm = nullptr);
  Tensor forward(const Arg& src) override { return forward(src, {}); }
  Tensor forward(const Arg& src, const Tensor& mask, const Tensor& src_key_padding_mask = Tensor());
  using Module::operator();
  Tensor operator()(const Arg& src, const Tensor& mask,
                    const Tensor& src_key_padding_mask = Tensor()) {
    return hooked([this](const auto&... in) { return forward(in...); }, src, mask,
                  src_key_padding_mask);
  }

 private:
  std::vector<std::shared_ptr<TransformerEncoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

// num_layers copies of a layer, as TransformerEncoder has them; called as its layers are.
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                     std::shared_ptr<LayerNorm> norm = nullptr);
  Tensor forward(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask = Tensor(),
                 const Tensor& memory_mask = Tensor(),
                 const Tensor& tgt_key_padding_mask = Tensor(),
                 const Tensor& memory_key_padding_mask = Tensor());
  using Module::forward;
  using Module::operator();
  Tensor operator()(const Arg& tgt, const Arg& memory, const Tensor& tgt_mask = Tensor(),
                    const Tensor& memory_mask = Tensor(),
                    const Tensor& tgt_key_padding_mask = Tensor(),
                    const Tensor& memory_key_padding_mask = Tensor()) {
    return hooked([this](const auto&... in) { return forward(in...); }, tgt, memory, tgt_mask,
                  memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }

 private:
  std::vector<std::shared_ptr<TransformerDecoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

// The masks of Transformer, each may be undefined: for the attention of src to itself, of tgt to
// itself, and of tgt to memory, then the keys that are padding.
struct TransformerMasks {
  // Added to scores, or bool, true where attention is not allowed.
  Tensor src_mask = {}, tgt_mask = {}, memory_mask = {};
  // Keys that are padding, [N, S] or [N, L]: bool, true there, or floats that are added.
  Tensor src_key_padding_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
};

// Encoder and decoder, each with a norm at its end; matrices are initialized with Xavier uniform.
class Transformer : public Module {
 public:
  explicit Transformer(int64_t d_model = 512, int64_t nhead = 8, int64_t num_encoder_layers = 6,
                       int64_t num_decoder_layers = 6, TransformerOptions options = {});
  Tensor forward(const Arg& src, const Arg& tgt, const TransformerMasks& masks = {});
  using Module::forward;
  using Module::operator();
  Tensor operator()(const Arg& src, const Arg& tgt, const TransformerMasks& masks = {}) {
    return hooked([this](const auto&... in) { return forward(in...); }, src, tgt, masks);
  }
  // The function of the same name, as PyTorch's class has it.
  static Tensor generate_square_subsequent_mask(int64_t size) {
    return nn::generate_square_subsequent_mask(size);
  }

  // Its two halves.
  Child<TransformerEncoder> encoder;
  Child<TransformerDecoder> decoder;

 private:
  int64_t d_model_;
  bool batch_first_;
};

}  // namespace wick::nn
