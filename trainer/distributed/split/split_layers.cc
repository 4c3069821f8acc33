#include "trainer/distributed/split/split_layers.h"

#include "trainer/distributed/split/split_draws.h"
#include "trainer/nn/layer_norm.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick::distributed {
namespace {

int last_dim(const Tensor& x) { return x.rank() - 1; }

// The own shards of a parameter along `dim`, stacked, as a leaf.
Tensor own_leaf(const Tensor& whole, int dim, const SplitPlace& place) {
  NoGrad guard;
  const Tensor own = stack(place.split->pieces_of_own(whole, dim), 0);
  return own.requires_grad_(whole.requires_grad());
}

// Shard i of a parameter [own, ...] as [...].
variable_list shards_of_leaf(const Tensor& leaf, const SplitPlace& place) {
  if (!leaf.defined()) return variable_list(static_cast<size_t>(place.split->own.size()));
  variable_list shards;
  for (const Tensor& t : take_apart(leaf, 0, static_cast<size_t>(place.split->own.size())))
    shards.push_back(t.squeeze(0));
  return shards;
}

// Remembers how the whole parameter is made again.
void note_whole(WholeTensors* tensors, const std::string& name, const Tensor& leaf, int dim,
                const SplitPlace& place) {
  const std::string full = place.path.empty() ? name : place.path + "." + name;
  (*tensors)[full] = [=](const Where& where) {
    NoGrad guard;
    return place.split->gather(shards_of_leaf(leaf, place), dim, "whole " + full, where);
  };
}

variable_list inputs_of(const Tensor& x, const SplitPlace& place, const SplitSite& site) {
  if (!place.sequence) return fan_out(x, site);
  return gather_and_fan_out(take_apart(x, 1, static_cast<size_t>(place.split->own.size())), 1,
                            site);
}

// The sum over shards, plus what all of it gets once.
Tensor sum_of_products(const variable_list& products, const Tensor& bias, const SplitPlace& place,
                       const SplitSite& site) {
  if (!place.sequence) {
    const Tensor y = sum_shards(products, site);
    return bias.defined() ? y + bias : y;
  }
  variable_list pieces = sum_and_cut(products, 1, site);
  if (bias.defined()) {
    const variable_list biases = fan_out(bias, {site.split, site.name + ".bias", site.where});
    for (size_t i = 0; i < pieces.size(); ++i) pieces[i] = pieces[i] + biases[i];
  }
  return put_together(pieces, 1);
}

// Every shard takes an index that is not a row of its own for one of another shard: what is a row
// of none would be zeros.
void check_in_table(const Tensor& indices, int64_t rows, const Where& where) {
  if (indices.dtype() != DType::kI64 && indices.dtype() != DType::kI32) {
    throw_error("embedding",
                std::string("needs int64 or int32 indices, got ") + dtype_name(indices.dtype()),
                where, Code::kTypeMismatch);
  }
  if (indices.numel() == 0) return;
  NoGrad guard;
  const int64_t low = amin({indices, where}).item_int(where),
                high = amax({indices, where}).item_int(where);
  if (low >= 0 && high < rows) return;
  throw_error("embedding",
              "index " + std::to_string(low < 0 ? low : high) +
                  " is out of range for a weight of " + std::to_string(rows) + " rows",
              where);
}

}  // namespace

void check_divides(const SplitPlace& place, const char* what, int64_t size, const Where& where) {
  if (size % place.split->shards == 0) return;
  throw_error("tensor_parallel",
              "'" + place.path + "' has " + std::to_string(size) + " " + what + ", which " +
                  std::to_string(place.split->shards) + " shards do not divide",
              where);
}

ColumnLinear::ColumnLinear(const nn::Linear& layer, SplitPlace place, bool whole,
                           WholeTensors* tensors)
    : place_(std::move(place)), whole_(whole) {
  weight = register_parameter("weight", own_leaf(layer.weight, 0, place_));
  note_whole(tensors, "weight", weight, 0, place_);
  if (!layer.bias.defined()) return;
  bias = register_parameter("bias", own_leaf(layer.bias, 0, place_));
  note_whole(tensors, "bias", bias, 0, place_);
}

Tensor ColumnLinear::forward(const Arg& x) {
  const SplitSite site = place_.site(x.where);
  const variable_list in = inputs_of(x.tensor, place_, site);
  const variable_list w = shards_of_leaf(weight, place_), b = shards_of_leaf(bias, place_);
  variable_list out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(linear({in[i], x.where}, w[i], b[i]));
  if (whole_) return gather_shards(out, last_dim(out[0]), site);
  SplitDraws::begin();
  return put_together(out, last_dim(out[0]));
}

RowLinear::RowLinear(const nn::Linear& layer, SplitPlace place, bool whole, WholeTensors* tensors)
    : place_(std::move(place)), whole_(whole) {
  weight = register_parameter("weight", own_leaf(layer.weight, 1, place_));
  note_whole(tensors, "weight", weight, 1, place_);
  bias = register_parameter("bias", layer.bias);
}

Tensor RowLinear::forward(const Arg& x) {
  const SplitSite site = place_.site(x.where);
  const variable_list w = shards_of_leaf(weight, place_);
  const int dim = last_dim(x.tensor);
  if (!whole_) SplitDraws::check(place_.path, x.where);
  const variable_list in =
      whole_ ? cut_shards(x.tensor, dim, site) : take_apart(x.tensor, dim, w.size());
  variable_list products;
  for (size_t i = 0; i < in.size(); ++i) products.push_back(linear({in[i], x.where}, w[i]));
  return sum_of_products(products, bias, place_, site);
}

SplitEmbedding::SplitEmbedding(const nn::Embedding& layer, SplitPlace place, WholeTensors* tensors)
    : place_(std::move(place)) {
  weight = register_parameter("weight", own_leaf(layer.weight, 0, place_));
  note_whole(tensors, "weight", weight, 0, place_);
}

Tensor SplitEmbedding::forward(const Arg& indices) {
  const variable_list tables = shards_of_leaf(weight, place_);
  const int64_t rows = tables[0].raw_shape()[0];
  check_in_table(indices.tensor, rows * place_.split->shards, indices.where);
  const Tensor at = indices.tensor.to(DType::kI64, indices.where);
  variable_list found;
  for (size_t i = 0; i < tables.size(); ++i) {
    const int64_t first = (place_.split->own.begin + static_cast<int64_t>(i)) * rows;
    const Tensor local = at - first;
    const Tensor mine = logical_and(ge(local, 0), lt(local, rows));
    const Tensor rows_found = embedding({clamp(local, 0, rows - 1), indices.where}, tables[i]);
    found.push_back(where(mine.unsqueeze(-1), rows_found, 0.0));
  }
  return sum_of_products(found, Tensor(), place_, place_.site(indices.where));
}

SequenceNorm::SequenceNorm(const nn::Module& layer, SplitPlace place) : place_(std::move(place)) {
  if (const auto* norm = dynamic_cast<const nn::LayerNorm*>(&layer)) {
    weight = register_parameter("weight", norm->weight);
    bias = register_parameter("bias", norm->bias);
    norm_ = [shape = norm->normalized_shape(), eps = norm->eps()](const Arg& x, const Tensor& w,
                                                                  const Tensor& b) {
      return layer_norm(x, shape, w, b, eps);
    };
  } else {
    const auto& rms = dynamic_cast<const nn::RMSNorm&>(layer);
    weight = register_parameter("weight", rms.weight);
    norm_ = [shape = rms.normalized_shape(), eps = rms.eps()](const Arg& x, const Tensor& w,
                                                              const Tensor&) {
      return rms_norm(x, shape, w, eps);
    };
  }
}

Tensor SequenceNorm::forward(const Arg& x) {
  const auto own = static_cast<size_t>(place_.split->own.size());
  auto copies = [&](const Tensor& t, const char* name) {
    if (!t.defined()) return variable_list(own);
    return fan_out(t, {place_.split, place_.path + name, x.where});
  };
  const variable_list in = take_apart(x.tensor, 1, own);
  const variable_list w = copies(weight, ".weight"), b = copies(bias, ".bias");
  variable_list out;
  for (size_t i = 0; i < own; ++i) out.push_back(norm_({in[i], x.where}, w[i], b[i]));
  return put_together(out, 1);
}

void check_heads(const nn::MultiheadAttention& layer, const SplitPlace& place, const Where& where) {
  const nn::MultiheadAttentionOptions& options = layer.options();
  if (!layer.in_proj_weight.defined() || options.add_bias_kv || options.add_zero_attn ||
      !options.batch_first) {
    throw_error("tensor_parallel",
                "'" + place.path +
                    "': heads are split of attention with batch_first, one in_proj_weight, and "
                    "neither add_bias_kv nor add_zero_attn",
                where, Code::kUnsupported);
  }
  check_divides(place, "heads", layer.num_heads(), where);
}

void split_heads(nn::MultiheadAttention& layer, const SplitPlace& place, WholeTensors* tensors,
                 const Where& where) {
  const nn::MultiheadAttentionOptions options = layer.options();
  const int64_t embed = layer.embed_dim(), heads = layer.num_heads() / place.split->shards;
  // A weight [3 E, E] as [3, E, E], of which a shard has the middle.
  auto in_proj = [&](const char* name, const Tensor& whole) {
    if (!whole.defined()) return Tensor();
    NoGrad guard;
    std::vector<int64_t> dims{3, embed};
    if (whole.rank() == 2) dims.push_back(embed);
    const Shape shape = to_shape(Span<const int64_t>(dims.data(), dims.size()));
    Tensor leaf = own_leaf(whole.view(shape), 1, place);
    leaf.requires_grad_(whole.requires_grad());
    layer.unregister(name, where);
    leaf = layer.register_parameter(name, leaf);
    const std::string full = place.path + "." + name;
    (*tensors)[full] = [=, rank = whole.rank()](const Where& at) {
      NoGrad off;
      const Tensor all = place.split->gather(shards_of_leaf(leaf, place), 1, "whole " + full, at);
      return rank == 2 ? all.reshape({3 * embed, embed}) : all.reshape({3 * embed});
    };
    return leaf;
  };
  const Tensor in_weight = layer.in_proj_weight = in_proj("in_proj_weight", layer.in_proj_weight);
  const Tensor in_bias = layer.in_proj_bias = in_proj("in_proj_bias", layer.in_proj_bias);
  nn::Module& out_proj = *layer.out_proj;
  const Tensor out_leaf = own_leaf(layer.out_proj->weight, 1, place);
  out_proj.unregister("weight", where);
  const Tensor out_weight = layer.out_proj->weight =
      out_proj.register_parameter("weight", out_leaf);
  note_whole(tensors, "out_proj.weight", out_weight, 1, place);
  const Tensor out_bias = layer.out_proj->bias;

  layer.set_forward([=, &layer](const Arg& query, const Arg& key, const Arg& value,
                                const Tensor& padding, bool need_weights, const Tensor& mask,
                                bool) -> nn::AttentionResult {
    const bool self = query.tensor.is_same(key.tensor) && key.tensor.is_same(value.tensor);
    if (!self || padding.defined() || need_weights || query.tensor.rank() != 3 ||
        (mask.defined() && mask.rank() != 2)) {
      throw_error("tensor_parallel",
                  "'" + place.path +
                      "': split heads take self-attention of [N, L, E], an attn_mask [L, S], and "
                      "return no weights",
                  query.where, Code::kUnsupported);
    }
    const SplitSite site = place.site(query.where);
    const Tensor seen = mask.defined() && mask.dtype() == DType::kBool ? logical_not(mask) : mask;
    const double p = layer.training() ? options.dropout : 0;
    const variable_list in = inputs_of(query.tensor, place, site);
    const variable_list wi = shards_of_leaf(in_weight, place), bi = shards_of_leaf(in_bias, place),
                        wo = shards_of_leaf(out_weight, place);
    SplitDraws draws(place.split->own.begin, place.split->shards, p > 0);
    const int64_t width = embed / place.split->shards;
    variable_list products;
    for (size_t i = 0; i < in.size(); ++i) {
      const auto scope = draws.of_shard(i);
      const Tensor bias = bi[i].defined() ? bi[i].reshape({3 * width}) : Tensor();
      const std::vector<Tensor> qkv =
          chunk(linear({in[i], query.where}, wi[i].reshape({3 * width, embed}), bias), 3, -1);
      const int64_t n = in[i].raw_shape()[0], length = in[i].raw_shape()[1];
      auto split = [&](const Tensor& t) {
        return t.reshape({n, length, heads, width / heads}).permute({0, 2, 1, 3});
      };
      const Tensor y =
          scaled_dot_product_attention(split(qkv[0]), split(qkv[1]), split(qkv[2]), seen, p);
      products.push_back(
          linear({y.permute({0, 2, 1, 3}).reshape({n, length, width}), query.where}, wo[i]));
    }
    return {sum_of_products(products, out_bias, place, site), Tensor()};
  });
}

bool split_over_ranks(nn::Module& net) {
  auto several = [](const SplitPlace& place) { return place.split->group.size() > 1; };
  for (const auto& [path, module] : net.named_modules()) {
    if (const auto* c = dynamic_cast<const ColumnLinear*>(module)) {
      if (several(c->place())) return true;
    } else if (const auto* r = dynamic_cast<const RowLinear*>(module)) {
      if (several(r->place())) return true;
    } else if (const auto* e = dynamic_cast<const SplitEmbedding*>(module)) {
      if (several(e->place())) return true;
    } else if (const auto* heads = dynamic_cast<const nn::MultiheadAttention*>(module)) {
      // [own, 3, E / T, E] where split_heads() has been.
      if (!heads->in_proj_weight.defined() || heads->in_proj_weight.rank() != 4) continue;
      const Shape& shape = heads->in_proj_weight.raw_shape();
      if (shape[0] * shape[2] < heads->embed_dim()) return true;
    }
  }
  return false;
}

Tensor enter_sequence(const Tensor& x, const SplitPlace& place, const Where& where) {
  if (x.rank() < 2) {
    throw_error("tensor_parallel", "'" + place.path + "': the sequence is dimension 1 of its input",
                where, Code::kShapeMismatch);
  }
  check_divides(place, "positions", x.raw_shape()[1], where);
  SplitDraws::begin_region();
  return put_together(cut_shards(x, 1, place.site(where)), 1);
}

Tensor leave_sequence(const Tensor& x, const SplitPlace& place, const Where& where) {
  SplitDraws::end_region(place.path, where);
  return gather_shards(take_apart(x, 1, static_cast<size_t>(place.split->own.size())), 1,
                       place.site(where));
}

}  // namespace wick::distributed
