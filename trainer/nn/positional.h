// Encodings of a token's position: sinusoids (Vaswani et al., 2017) or a learned table.
#pragma once

#include "trainer/nn/embedding.h"
#include "trainer/nn/layers.h"

namespace wick::nn {

// Returns [max_seq_len, embed_dim]: column 2i is sin(t / 10000^(2i / embed_dim)), column 2i + 1 its
// cos. embed_dim must be even. Computed in float64 and rounded once.
Tensor create_sinusoidal_embeddings(int64_t max_seq_len, int64_t embed_dim,
                                    DType dtype = DType::kF32, Where where = Where::current());

// Returns 0, 1, ... T - 1 (int64 [T]) for tokens[B, T] with B >= 1, computed from them by ops:
// under capture T may be dynamic.
Tensor positions_of(const Arg& tokens);

// Options of PositionalEncoding.
struct PositionalEncodingOptions {
  bool learned = true;  // a parameter "position_embeddings", else sinusoids
  double dropout = 0;   // of the sum, in training mode
};

// Returns x[B, T, embed_dim] plus the rows from start_pos on. T + start_pos must be <= max_seq_len.
class PositionalEncoding : public Module {
 public:
  using Options = PositionalEncodingOptions;  // of the last argument
  PositionalEncoding(int64_t max_seq_len, int64_t embed_dim,
                     PositionalEncodingOptions options = {});
  Tensor forward(const Arg& x) override { return forward(x, 0); }
  Tensor forward(const Arg& x, int64_t start_pos);
  using Module::operator();
  Tensor operator()(const Arg& x, int64_t start_pos) {
    return hooked([this](const auto&... in) { return forward(in...); }, x, start_pos);
  }
  std::string extra_repr() const override;

  Tensor position_embeddings;  // [max_seq_len, embed_dim]

 private:
  double dropout_;
};

// Options of EmbeddingLayer.
struct EmbeddingLayerOptions {
  int64_t max_seq_len = 512;             // rows of the position table
  std::string pos_encoding = "learned";  // "sinusoidal" or "none"
  bool scale_embeddings = false;         // multiplies the token rows by sqrt(embed_dim)
};

// Maps tokens[T] or [B, T] to the sum of token and position rows, [..., embed_dim]. start_pos: the
// position of the first token, for a text that is processed in pieces.
class EmbeddingLayer : public Module {
 public:
  using Options = EmbeddingLayerOptions;  // of the last argument
  EmbeddingLayer(int64_t vocab_size, int64_t embed_dim, EmbeddingLayerOptions options = {});
  Tensor forward(const Arg& tokens) override { return forward(tokens, 0); }
  Tensor forward(const Arg& tokens, int64_t start_pos);
  using Module::operator();
  Tensor operator()(const Arg& tokens, int64_t start_pos) {
    return hooked([this](const auto&... in) { return forward(in...); }, tokens, start_pos);
  }

  // [vocab_size, embed_dim]
  Child<Embedding> token_embedding;

 private:
  std::shared_ptr<PositionalEncoding> pos_encoding_;
  double scale_ = 1;
};

}  // namespace wick::nn
