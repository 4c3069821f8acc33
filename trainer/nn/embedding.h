// Embedding and EmbeddingBag: tables whose rows are selected by indices.
#pragma once

#include <optional>

#include "trainer/nn/module.h"

namespace wick::nn {

// `weight` and `freeze` are PyTorch's _weight and _freeze.
struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  // this row is initialized with 0 and gets no gradient
  std::optional<double> max_norm = {};      // rows of a larger norm are scaled down when used
  double norm_type = 2;                     // p of the norm
  bool scale_grad_by_freq = false;  // divides a row's gradient by its number of uses in the batch
  Tensor weight = {};               // [num_embeddings, embedding_dim]; N(0, 1) if undefined
  bool freeze = false;
  bool sparse = false;  // the table's gradient is a SparseGrad; not with scale_grad_by_freq
};

// Maps indices (int64 or int32, any shape s...) to [s..., embedding_dim]. Only the selected rows
// get a gradient; with the option sparse it is kept as those rows (trainer/autograd/sparse_grad.h),
// for a table that is a leaf on the CPU; one that is computed has a dense one. Throws Error for an
// index outside of [0, num_embeddings), with its value and position.
class Embedding : public Module {
 public:
  using Options = EmbeddingOptions;  // of the last argument
  Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options = {});
  // Makes one from a given table [n, d], which is frozen by default.
  static Embedding from_pretrained(const Arg& embeddings, bool freeze = true,
                                   EmbeddingOptions options = {});
  Tensor forward(const Arg& indices) override;
  std::string extra_repr() const override;
  // Returns the options of the constructor.
  const EmbeddingOptions& options() const { return options_; }

  // [num_embeddings, embedding_dim]
  Tensor weight;

 private:
  EmbeddingOptions options_;
};

// Options of EmbeddingBag, with the meanings of EmbeddingOptions.
struct EmbeddingBagOptions {
  std::string mode = "mean";                // "sum", "mean" or "max"
  std::optional<double> max_norm = {};      // rows of a larger norm are scaled down when used
  double norm_type = 2;                     // p of the norm
  bool scale_grad_by_freq = false;          // divides a row's gradient by its number of uses
  bool include_last_offset = false;         // the last offset is the number of indices
  std::optional<int64_t> padding_idx = {};  // these indices are ignored
  Tensor weight = {};                       // the table, or undefined
  bool freeze = false;                      // the table gets no gradient
  bool sparse = false;  // the table's gradient is a SparseGrad; not with max, scale_grad_by_freq
};

// Returns the sums, means or maxima of the rows that each bag of indices selects. An empty bag
// gives 0.
class EmbeddingBag : public Module {
 public:
  using Options = EmbeddingBagOptions;  // of the last argument
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options = {});
  // Makes one from a given table [n, d], which is frozen by default.
  static EmbeddingBag from_pretrained(const Arg& embeddings, bool freeze = true,
                                      EmbeddingBagOptions options = {});
  // Maps indices[bags, n] to [bags, embedding_dim].
  Tensor forward(const Arg& indices) override { return forward(indices, Tensor()); }
  // Takes indices[n] with offsets[bags], the start of each bag; per_sample_weights, of the indices'
  // shape, are only for "sum".
  Tensor forward(const Arg& indices, const Tensor& offsets,
                 const Tensor& per_sample_weights = Tensor());
  using Module::operator();
  Tensor operator()(const Arg& indices, const Tensor& offsets,
                    const Tensor& per_sample_weights = Tensor()) {
    return hooked([this](const auto&... in) { return forward(in...); }, indices, offsets,
                  per_sample_weights);
  }
  std::string extra_repr() const override;

  // [num_embeddings, embedding_dim]
  Tensor weight;

 private:
  EmbeddingBagOptions options_;
};

}  // namespace wick::nn
