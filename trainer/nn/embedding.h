// Tables looked up by indices.
#pragma once

#include <optional>

#include "trainer/nn/module.h"

namespace wick::nn {

// `weight` and `freeze` are PyTorch's _weight and _freeze.
struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  // its row starts at 0 and gets no gradient
  std::optional<double> max_norm = {};      // rows of a larger norm are scaled down when looked up
  double norm_type = 2;
  bool scale_grad_by_freq = false;  // a row's gradient is divided by how often the batch has it
  Tensor weight = {};               // [num_embeddings, embedding_dim]; N(0, 1) where undefined
  bool freeze = false;
};

// indices (int64 or int32, any shape s...) -> [s..., embedding_dim]. Only the rows looked up get a
// gradient. Error: an index outside [0, num_embeddings), with its value and place.
class Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options = {});
  // Of a table [n, d] there is; frozen unless told otherwise.
  static Embedding from_pretrained(const Arg& embeddings, bool freeze = true,
                                   EmbeddingOptions options = {});
  Tensor forward(const Arg& indices) override;
  std::string extra_repr() const override;

  Tensor weight;

 private:
  EmbeddingOptions options_;
};

struct EmbeddingBagOptions {
  std::string mode = "mean";  // "sum", "mean" or "max"
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  bool include_last_offset = false;         // offsets end with the number of indices
  std::optional<int64_t> padding_idx = {};  // not part of any bag
  Tensor weight = {};
  bool freeze = false;
};

// Sums, means or maxima of the rows of bags of indices. An empty bag gives 0.
class EmbeddingBag : public Module {
 public:
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, EmbeddingBagOptions options = {});
  static EmbeddingBag from_pretrained(const Arg& embeddings, bool freeze = true,
                                      EmbeddingBagOptions options = {});
  // indices[bags, n] -> [bags, embedding_dim].
  Tensor forward(const Arg& indices) override { return forward(indices, Tensor()); }
  // indices[n] with offsets[bags], where each bag starts; per_sample_weights of the indices' shape,
  // for "sum" alone.
  Tensor forward(const Arg& indices, const Tensor& offsets,
                 const Tensor& per_sample_weights = Tensor());
  using Module::operator();
  Tensor operator()(const Arg& indices, const Tensor& offsets,
                    const Tensor& per_sample_weights = Tensor()) {
    ModuleScope scope = enter();
    return forward(indices, offsets, per_sample_weights);
  }
  std::string extra_repr() const override;

  Tensor weight;

 private:
  EmbeddingBagOptions options_;
};

}  // namespace wick::nn
