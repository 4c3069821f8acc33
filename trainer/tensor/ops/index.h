// Functions that read or write by index tensors or masks. Indices are int64 or int32; negative ones
// count from the end, as in indexing. Duplicates in a sum are added in input order. Indexing itself
// (x.index({...}), x[i], x.at({...}) = v) is in trainer/tensor/indexing.h.
#pragma once

#include <string>

#include "trainer/tensor/indexing.h"
#include "trainer/tensor/ops/common.h"

namespace wick {

// -- positions of elements that are not 0
Tensor nonzero(const Arg& x);  // int64 [count, rank], row-major
// The same as nonzero().
Tensor argwhere(const Arg& x);
std::vector<Tensor> where(const Arg& condition);  // int64 [count], one per dimension

// -- by a bool mask that broadcasts to x
Tensor masked_select(const Arg& x, const Arg& mask);              // [count]
Tensor masked_fill(const Arg& x, const Arg& mask, Scalar value);  // value where the mask is true
Tensor masked_fill(const Arg& x, const Arg& mask, const Arg& value);  // value must have rank 0
// Puts source's elements, in order, where the mask is true; there must be enough.
Tensor masked_scatter(const Arg& x, const Arg& mask, const Arg& source);

// -- by element: index has x's rank; gather, index_select, scatter_add are in layout.h
Tensor take(const Arg& x, const Arg& index);  // index into the flattened x
// Like gather, after broadcasting; dim {}: both are flattened.
Tensor take_along_dim(const Arg& x, const Arg& index, std::optional<int> dim = {});
// out[.., index[i, j, ..], ..] = src[i, j, ..]; reduce: "", "add" or "multiply"
Tensor scatter(const Arg& x, int dim, const Arg& index, const Arg& src,
               const std::string& reduce = "");
Tensor scatter(const Arg& x, int dim, const Arg& index, Scalar value,
               const std::string& reduce = "");
// reduce: sum, prod, mean, amax, amin. Without include_self the old elements are not included.
Tensor scatter_reduce(const Arg& x, int dim, const Arg& index, const Arg& src,
                      const std::string& reduce, bool include_self = true);

// -- by slice: index is a vector
// Returns x with the slices at `index` along dim increased by alpha times those of source, which
// has as many.
Tensor index_add(const Arg& x, int dim, const Arg& index, const Arg& source, Scalar alpha = 1);
// Returns x with the slices at `index` along dim replaced by those of source, which has as many.
Tensor index_copy(const Arg& x, int dim, const Arg& index, const Arg& source);
// Returns x with the slices at `index` along dim filled with value.
Tensor index_fill(const Arg& x, int dim, const Arg& index, Scalar value);

// -- copies of x with a part replaced by src
// The part that select, slice or diagonal would return is src, which must have its shape.
Tensor select_scatter(const Arg& x, const Arg& src, int dim, SizeArg index);
Tensor slice_scatter(const Arg& x, const Arg& src, int dim = 0, std::optional<SizeArg> start = {},
                     std::optional<SizeArg> end = {}, int64_t step = 1);
Tensor diagonal_scatter(const Arg& x, const Arg& src, SizeArg offset = 0, int dim1 = 0,
                        int dim2 = 1);

// -- classes
// x: integers >= 0; returns int64 [..., num_classes]; -1: the largest plus one
Tensor one_hot(const Arg& x, SizeArg num_classes = -1);
// Returns rows of weight[n, d...] by indices of any shape. Row padding_idx gets no gradient.
Tensor embedding(const Arg& indices, const Arg& weight, std::optional<int64_t> padding_idx = {});

// Options of embedding_bag(); max_norm and scale_grad_by_freq are nn::EmbeddingBag's.
struct BagOptions {
  std::string mode = "mean";                // "sum", "mean" or "max"
  bool include_last_offset = false;         // the last offset is the number of indices
  std::optional<int64_t> padding_idx = {};  // these indices are ignored
};
// Returns the sums, means or maxima of the rows of weight[n, d] that each bag of indices selects:
// [bags, d]. Indices are [bags, n], or [n] with offsets[bags], the start of each bag, which are
// read on the host. per_sample_weights, of the indices' shape, multiply the rows of a sum. An empty
// bag gives 0. Throws Error for an index outside of the table, and for offsets that do not ascend.
Tensor embedding_bag(const Arg& indices, const Arg& weight, const Tensor& offsets = Tensor(),
                     const BagOptions& options = {}, const Tensor& per_sample_weights = Tensor());

}  // namespace wick
