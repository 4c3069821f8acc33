#include "trainer/nn/positional.h"

#include <cmath>

#include "trainer/nn/default_init.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/philox.h"

namespace wick::nn {

Tensor create_sinusoidal_embeddings(int64_t max_seq_len, int64_t embed_dim, DType dtype,
                                    Where where) {
  if (max_seq_len < 1 || embed_dim < 2 || embed_dim % 2 != 0) {
    throw_error("create_sinusoidal_embeddings",
                "needs max_seq_len >= 1 and an even embed_dim, got " + std::to_string(max_seq_len) +
                    " and " + std::to_string(embed_dim),
                where);
  }
  std::vector<double> v(static_cast<size_t>(max_seq_len * embed_dim));
  for (int64_t i = 0; i < embed_dim; i += 2) {
    const double rate =
        std::exp(-std::log(10000.0) * static_cast<double>(i) / static_cast<double>(embed_dim));
    for (int64_t t = 0; t < max_seq_len; ++t) {
      double* at = v.data() + t * embed_dim + i;
      at[0] = std::sin(static_cast<double>(t) * rate);
      at[1] = std::cos(static_cast<double>(t) * rate);
    }
  }
  return from_blob(v.data(), {max_seq_len, embed_dim}, DType::kF64).to(dtype);
}

Tensor positions_of(const Arg& tokens) {
  const At at(tokens);
  const Tensor& t = tokens.tensor;
  if (t.rank(tokens.where) != 2 || dim_of(t, 0) < 1) {
    bad_shape("positions_of", "takes tokens [B, T] with B >= 1, got " + text(t), tokens.where);
  }
  Tensor row = t.select(0, 0, tokens.where);
  if (row.dtype() != DType::kI64) row = row.to(DType::kI64, tokens.where);
  Tensor ones = at(at(row) * 0) + 1;
  return at(cumsum(at(ones), 0)) - 1;
}

namespace {

// Returns rows start .. start + count - 1 of a table. A capture follows `count`, so the range check
// limits that size to the number of rows.
Tensor rows_at(const char* name, const Tensor& table, int64_t start, Dim count,
               const Where& where) {
  if (start < 0 || start + count > table.raw_shape()[0]) {
    throw_error(name,
                "positions " + std::to_string(start) + " to " +
                    std::to_string((start + count - 1).peek()) + " are out of range for " +
                    std::to_string(table.raw_shape()[0]) + " rows",
                where);
  }
  return table.slice(0, start, start + count, 1, where);
}

}  // namespace

PositionalEncoding::PositionalEncoding(int64_t max_seq_len, int64_t embed_dim,
                                       PositionalEncodingOptions options)
    : dropout_(options.dropout) {
  if (max_seq_len < 1 || embed_dim < 1) {
    refuse("PositionalEncoding", "max_seq_len and embed_dim must be positive");
  }
  if (!(dropout_ >= 0 && dropout_ <= 1)) {
    refuse("PositionalEncoding", "dropout must be in [0, 1]");
  }
  if (options.learned) {
    const double bound = std::sqrt(2.0 / static_cast<double>(embed_dim));
    position_embeddings =
        register_parameter("position_embeddings", uniform({max_seq_len, embed_dim}, -bound, bound));
  } else {
    position_embeddings = register_buffer(
        "pe", create_sinusoidal_embeddings(max_seq_len, embed_dim), /*persistent=*/false);
  }
}

Tensor PositionalEncoding::forward(const Arg& x, int64_t start_pos) {
  const At at(x);
  const int rank = x.tensor.rank(x.where);
  if (rank < 2 || dim_of(x.tensor, -1) != position_embeddings.raw_shape()[1]) {
    bad_shape("PositionalEncoding",
              "takes [..., T, " + std::to_string(position_embeddings.raw_shape()[1]) + "], got " +
                  text(x.tensor),
              x.where);
  }
  Tensor rows = rows_at("PositionalEncoding", position_embeddings, start_pos,
                        x.tensor.size(-2, x.where), x.where);
  return dropout(at(add(x, at(rows))), dropout_, training());
}

std::string PositionalEncoding::extra_repr() const {
  return "max_seq_len=" + std::to_string(position_embeddings.raw_shape()[0]) +
         ", embed_dim=" + std::to_string(position_embeddings.raw_shape()[1]);
}

EmbeddingLayer::EmbeddingLayer(int64_t vocab_size, int64_t embed_dim, EmbeddingLayerOptions options)
    : token_embedding(this, "token_embedding", vocab_size, embed_dim) {
  const std::string& how = options.pos_encoding;
  if (how != "learned" && how != "sinusoidal" && how != "none") {
    refuse("EmbeddingLayer", "pos_encoding must be learned, sinusoidal or none, got '" + how + "'");
  }
  if (options.scale_embeddings) scale_ = std::sqrt(static_cast<double>(embed_dim));
  if (how == "none") return;
  PositionalEncodingOptions o;
  o.learned = how == "learned";
  pos_encoding_ = std::make_shared<PositionalEncoding>(options.max_seq_len, embed_dim, o);
  register_module("pos_encoding", pos_encoding_);
}

Tensor EmbeddingLayer::forward(const Arg& tokens, int64_t start_pos) {
  const At at(tokens);
  const bool batched = tokens.tensor.rank(tokens.where) != 1;
  Tensor in = batched ? tokens.tensor : tokens.tensor.unsqueeze(0, tokens.where);
  Tensor x = token_embedding(at(in));
  if (scale_ != 1) x = at(x) * scale_;
  if (pos_encoding_) x = (*pos_encoding_)(at(x), start_pos);
  return batched ? x : x.squeeze(0, tokens.where);
}

}  // namespace wick::nn
