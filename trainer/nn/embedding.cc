#include "trainer/nn/embedding.h"

#include <algorithm>
#include <limits>

#include "trainer/autograd/function.h"
#include "trainer/autograd/leaf_grad.h"
#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/bags.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/philox.h"

namespace wick::nn {
namespace {

// Returns the table: the given one, or a normal one with 0 in the padding row. Makes padding_idx
// count from 0.
Tensor table(const char* name, int64_t rows, int64_t columns, const Tensor& given,
             std::optional<int64_t>* padding) {
  if (rows < 1 || columns < 1) {
    refuse(name, "needs at least one row and one column, got " + std::to_string(rows) + " x " +
                     std::to_string(columns));
  }
  if (*padding) {
    const int64_t p = **padding;
    if (p < -rows || p >= rows) {
      refuse(name, "padding_idx " + std::to_string(p) + " is out of range for " +
                       std::to_string(rows) + " rows");
    }
    *padding = p < 0 ? p + rows : p;
  }
  if (given.defined()) {
    if (!(given.raw_shape() == Shape{rows, columns})) {
      refuse(name, "weight must be " + std::string(to_text(Shape{rows, columns}).text) + ", got " +
                       text(given));
    }
    return given;
  }
  NoGrad guard;
  Tensor w = randn({rows, columns});
  if (*padding) w.select(0, **padding).zero_();
  return w;
}

void need_norm(const char* name, std::optional<double> max_norm, double norm_type) {
  if ((!max_norm || *max_norm > 0) && norm_type > 0) return;
  refuse(name, "needs max_norm > 0 and norm_type > 0");
}

// Scales rows whose norm exceeds max_norm to it, as PyTorch does; the other rows keep their bits.
Tensor within_norm(const Tensor& rows, double max_norm, double type, const At& at) {
  Tensor size = norm(at(rows), type, {-1}, true);
  Tensor factor = div(max_norm, at(at(size) + 1e-7));
  return where(at(gt(at(size), max_norm)), at(at(rows) * at(factor)), at(rows));
}

// Scales the selected rows of the table in place. A captured graph has no writes to parameters:
// there the results are scaled instead, to the same bits.
void renormalize(const Tensor& weight, const Tensor& indices, double max_norm, double type,
                 const At& at) {
  NoGrad guard;
  UniqueResult found = unique(at(indices.to(DType::kI64, at.where)));
  Tensor rows = index_select(at(weight), 0, at(found.values));
  weight.index_copy_(0, found.values, within_norm(rows, max_norm, type, at), at.where);
}

// Returns x, and multiplies its gradient by `scale`.
struct ScaleGradient : Function<ScaleGradient> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Tensor& scale) {
    ctx.save_for_backward({scale});
    return x.clone();
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    return {g[0] * ctx.get_saved_variables()[0], Tensor()};
  }
};

// Returns 1 / (number of occurrences) of each index, [indices..., 1].
Tensor inverse_counts(const Tensor& indices, int64_t rows, DType dtype, const At& at) {
  NoGrad guard;
  Tensor flat = indices.to(DType::kI64, at.where).reshape({-1}, at.where);
  Tensor counts = bincount(at(flat), Tensor(), rows);
  Tensor own = index_select(at(counts), 0, at(indices)).to(dtype, at.where);
  return div(1.0, at(own.unsqueeze(-1, at.where)));
}

// The rows of a leaf, whose gradient is kept as rows. The function has no saved table:
// renormalize() may write to it before backward.
struct SparseRows : Function<SparseRows> {
  static Tensor forward(AutogradContext& ctx, const Tensor& weight, const Tensor& indices,
                        std::optional<int64_t> padding_idx, const Where& line) {
    ctx.save_for_backward({indices});
    ctx.saved_data["weight"] = weight;
    ctx.saved_data["padding"] = padding_idx;
    ctx.saved_data["line"] = line;
    return embedding({indices, line}, {weight.detach(line), line}, padding_idx);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const Tensor weight = std::any_cast<Tensor>(ctx.saved_data["weight"]);
    const auto line = std::any_cast<Where>(ctx.saved_data["line"]);
    const auto padding = std::any_cast<std::optional<int64_t>>(ctx.saved_data["padding"]);
    const Tensor at = ctx.get_saved_variables()[0];
    const Shape table = weight.raw_shape();
    variable_list none(4);
    if (!ctx.needs_input_grad(0)) return none;
    Tensor rows = at.to(DType::kI64, line).reshape({-1}, line);
    Shape each = table;
    each[0] = rows.raw_shape()[0];
    Tensor values = g[0].detach(line).reshape(each, line);
    if (padding) {
      const Tensor kept = nonzero(ne(rows, *padding)).reshape({-1}, line);
      rows = index_select(rows, 0, kept);
      values = index_select(values, 0, kept);
    }
    // Other handles: the engine may add into a gradient that it passed on.
    deliver_rows(weight, {table, rows.clone(line), values.clone(line), false, line}, line);
    return none;
  }
};

// The common part of Embedding and EmbeddingBag: selects the rows of `indices`.
struct Lookup {
  std::optional<int64_t> padding_idx;
  std::optional<double> max_norm;
  double norm_type;
  bool scale_grad_by_freq, sparse;

  Tensor rows(const Tensor& weight, const Arg& indices) const {
    const At at(indices);
    const bool traced = active_tracer() != nullptr;
    if (!max_norm || traced || indices.tensor.layout().numel() == 0) {
      Tensor y = selected(weight, indices);
      if (max_norm) y = within_norm(y, *max_norm, norm_type, at);
      return scaled(y, weight, indices);
    }
    embedding(indices, at(weight.detach(at.where)));  // checks the indices
    renormalize(weight, indices.tensor, *max_norm, norm_type, at);
    return scaled(selected(weight, indices), weight, indices);
  }

 private:
  Tensor selected(const Tensor& weight, const Arg& indices) const {
    const bool recorded = grad_enabled() && weight.requires_grad() && weight.is_leaf();
    if (!sparse || !recorded || active_tracer() != nullptr || modes().forward != 0) {
      return embedding(indices, {weight, indices.where}, padding_idx);
    }
    if (weight.is_vulkan()) {
      throw_error("Embedding",
                  "a table on " + weight.device().to_string() +
                      " has no sparse gradient: make it without sparse, or keep it on the CPU",
                  indices.where, Code::kUnsupported);
    }
    return SparseRows::apply({weight, indices.where}, indices.tensor, padding_idx, indices.where);
  }
  Tensor scaled(const Tensor& y, const Tensor& weight, const Arg& indices) const {
    if (!scale_grad_by_freq || !grad_enabled() || !weight.requires_grad()) return y;
    return ScaleGradient::apply(
        y, inverse_counts(indices.tensor, weight.raw_shape()[0], y.dtype(), At(indices)));
  }
};

template <class Options>
Lookup lookup_of(const Options& o) {
  return {o.padding_idx, o.max_norm, o.norm_type, o.scale_grad_by_freq, o.sparse};
}

// Prints num, dim and the options that differ from their defaults, as PyTorch does.
template <class Options>
std::string table_repr(const Tensor& weight, const Options& o, bool is_bag) {
  std::string s =
      std::to_string(weight.raw_shape()[0]) + ", " + std::to_string(weight.raw_shape()[1]);
  if (!is_bag && o.padding_idx) s += ", padding_idx=" + std::to_string(*o.padding_idx);
  if (o.max_norm) s += ", max_norm=" + repr_float(*o.max_norm);
  if (o.norm_type != 2) s += ", norm_type=" + repr_float(o.norm_type);
  if (o.scale_grad_by_freq) s += ", scale_grad_by_freq=True";
  if (!is_bag && o.sparse) s += ", sparse=True";
  return s;
}

const Tensor& pretrained(const char* name, const Arg& t) {
  if (t.tensor.rank(t.where) != 2 || !is_float(t.tensor.dtype())) {
    throw_error(name, "embeddings must be floats [rows, columns], got " + text(t.tensor), t.where,
                Code::kShapeMismatch);
  }
  return t.tensor;
}

}  // namespace

Embedding::Embedding(int64_t rows, int64_t columns, EmbeddingOptions options)
    : options_(std::move(options)) {
  need_norm("Embedding", options_.max_norm, options_.norm_type);
  if (options_.sparse && options_.scale_grad_by_freq) {
    refuse("Embedding", "sparse does not go with scale_grad_by_freq");
  }
  weight = register_parameter(
      "weight", table("Embedding", rows, columns, options_.weight, &options_.padding_idx));
  options_.weight = Tensor();
  if (options_.freeze) weight.requires_grad_(false);
}

Embedding Embedding::from_pretrained(const Arg& embeddings, bool freeze, EmbeddingOptions options) {
  const Tensor& t = pretrained("Embedding", embeddings);
  options.weight = t;
  options.freeze = freeze;
  return Embedding(t.raw_shape()[0], t.raw_shape()[1], std::move(options));
}

Tensor Embedding::forward(const Arg& indices) { return lookup_of(options_).rows(weight, indices); }

std::string Embedding::extra_repr() const { return table_repr(weight, options_, false); }

EmbeddingBag::EmbeddingBag(int64_t rows, int64_t columns, EmbeddingBagOptions options)
    : options_(std::move(options)) {
  need_norm("EmbeddingBag", options_.max_norm, options_.norm_type);
  if (options_.mode != "sum" && options_.mode != "mean" && options_.mode != "max") {
    refuse("EmbeddingBag", "mode must be sum, mean or max, got '" + options_.mode + "'");
  }
  if (options_.mode == "max" && options_.scale_grad_by_freq) {
    refuse("EmbeddingBag", "scale_grad_by_freq does not go with max");
  }
  if (options_.sparse && (options_.mode == "max" || options_.scale_grad_by_freq)) {
    refuse("EmbeddingBag", "sparse goes neither with max nor with scale_grad_by_freq");
  }
  weight = register_parameter(
      "weight", table("EmbeddingBag", rows, columns, options_.weight, &options_.padding_idx));
  options_.weight = Tensor();
  if (options_.freeze) weight.requires_grad_(false);
}

EmbeddingBag EmbeddingBag::from_pretrained(const Arg& embeddings, bool freeze,
                                           EmbeddingBagOptions options) {
  const Tensor& t = pretrained("EmbeddingBag", embeddings);
  options.weight = t;
  options.freeze = freeze;
  return EmbeddingBag(t.raw_shape()[0], t.raw_shape()[1], std::move(options));
}

Tensor EmbeddingBag::forward(const Arg& indices, const Tensor& offsets,
                             const Tensor& per_sample_weights) {
  const BagOptions bag{options_.mode, options_.include_last_offset, options_.padding_idx};
  need_bags("EmbeddingBag", indices, offsets, bag, per_sample_weights);
  return pool_bags("EmbeddingBag", indices, lookup_of(options_).rows(weight, indices), offsets, bag,
                   per_sample_weights);
}

std::string EmbeddingBag::extra_repr() const {
  std::string s = table_repr(weight, options_, true) + ", mode=" + options_.mode;
  if (options_.padding_idx) s += ", padding_idx=" + std::to_string(*options_.padding_idx);
  return s;
}

}  // namespace wick::nn
