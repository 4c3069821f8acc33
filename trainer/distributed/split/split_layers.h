// Layers of which each rank has the parameters of its shards. Internal to tensor_parallel().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "trainer/distributed/split/split_group.h"
#include "trainer/nn/attention.h"
#include "trainer/nn/embedding.h"
#include "trainer/nn/linear.h"

namespace wick::distributed {

// What a layer is told of its place.
struct SplitPlace {
  std::shared_ptr<const SplitGroup> split;
  std::string path;       // of the layer in the net
  bool sequence = false;  // activations between layers are cut along the sequence, dimension 1
  SplitSite site(const Where& where) const { return {split, path, where}; }
};

// For each parameter by its full name: makes the whole one of all ranks' shards.
using WholeTensors = std::map<std::string, std::function<Tensor(const Where&)>>;

// [out / T, in] of a weight for each own shard: weight [own, out / T, in], bias [own, out / T].
// With `whole` all ranks get all outputs.
class ColumnLinear : public nn::Module {
 public:
  ColumnLinear(const nn::Linear& layer, SplitPlace place, bool whole, WholeTensors* tensors);
  Tensor forward(const Arg& x) override;
  Tensor weight, bias;
  const SplitPlace& place() const { return place_; }

 private:
  SplitPlace place_;
  bool whole_;
};

// [out, in / T] for each own shard: weight [own, out, in / T], bias [out] on all ranks. With
// `whole` the input is whole on all ranks, else it is what a ColumnLinear gives.
class RowLinear : public nn::Module {
 public:
  RowLinear(const nn::Linear& layer, SplitPlace place, bool whole, WholeTensors* tensors);
  Tensor forward(const Arg& x) override;
  Tensor weight, bias;
  const SplitPlace& place() const { return place_; }

 private:
  SplitPlace place_;
  bool whole_;
};

// The rows of a table, cut by the index: weight [own, n / T, dim].
class SplitEmbedding : public nn::Module {
 public:
  SplitEmbedding(const nn::Embedding& layer, SplitPlace place, WholeTensors* tensors);
  Tensor forward(const Arg& indices) override;
  Tensor weight;
  const SplitPlace& place() const { return place_; }

 private:
  SplitPlace place_;
};

// A LayerNorm or RMSNorm of activations that are cut along the sequence. Parameters are whole.
class SequenceNorm : public nn::Module {
 public:
  // `layer` is one of both; throws Error for another module.
  SequenceNorm(const nn::Module& layer, SplitPlace place);
  Tensor forward(const Arg& x) override;
  Tensor weight, bias;

 private:
  SplitPlace place_;
  std::function<Tensor(const Arg& x, const Tensor& weight, const Tensor& bias)> norm_;
};

// Gives a MultiheadAttention the heads of the own shards: in_proj_weight [own, 3, E / T, E],
// in_proj_bias [own, 3, E / T], out_proj.weight [own, E, E / T]. It takes self-attention with at
// most an attn_mask [L, S].
void split_heads(nn::MultiheadAttention& layer, const SplitPlace& place, WholeTensors* tensors,
                 const Where& where);

// Throws Error unless split_heads() takes the layer.
void check_heads(const nn::MultiheadAttention& layer, const SplitPlace& place, const Where& where);

// Cut and gather the activations of a region of the net.
Tensor enter_sequence(const Tensor& x, const SplitPlace& place, const Where& where);
Tensor leave_sequence(const Tensor& x, const SplitPlace& place, const Where& where);

// Returns whether a layer of the net has the parameters of this rank's shards alone, of several
// ranks: ranks of the axis then differ in parameters of one name.
bool split_over_ranks(nn::Module& net);

// Throws Error unless the shards divide `size`.
void check_divides(const SplitPlace& place, const char* what, int64_t size, const Where& where);

}  // namespace wick::distributed
