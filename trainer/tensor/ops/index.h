// Functions that read or write by tensors of indices or by masks. Indices are int64 or int32;
// negative ones count from the end, as in indexing. Duplicates in a sum apply in input order.
// Indexing itself (x.index({...}), x[i], x.at({...}) = v) is in trainer/tensor/indexing.h.
#pragma once

#include <string>

#include "trainer/tensor/indexing.h"
#include "trainer/tensor/ops/common.h"

namespace wick {

// -- where elements are not 0
Tensor nonzero(const Arg& x);  // int64 [count, rank], row-major
Tensor argwhere(const Arg& x);
std::vector<Tensor> where(const Arg& condition);  // int64 [count], one a dimension

// -- by a bool mask that broadcasts with x
Tensor masked_select(const Arg& x, const Arg& mask);  // [count]
Tensor masked_fill(const Arg& x, const Arg& mask, Scalar value);
Tensor masked_fill(const Arg& x, const Arg& mask, const Arg& value);  // value of rank 0
// source's elements, in order, to where the mask is true; it must have as many
Tensor masked_scatter(const Arg& x, const Arg& mask, const Arg& source);

// -- one element each: index has x's rank; gather, index_select, scatter_add are in layout.h
Tensor take(const Arg& x, const Arg& index);  // index into the flattened x
// Like gather, after broadcasting; dim {}: both flattened.
Tensor take_along_dim(const Arg& x, const Arg& index, std::optional<int> dim = {});
// out[.., index[i, j, ..], ..] = src[i, j, ..]; reduce: "", "add" or "multiply"
Tensor scatter(const Arg& x, int dim, const Arg& index, const Arg& src,
               const std::string& reduce = "");
Tensor scatter(const Arg& x, int dim, const Arg& index, Scalar value,
               const std::string& reduce = "");
// reduce: sum, prod, mean, amax, amin. Without include_self the old elements do not count.
Tensor scatter_reduce(const Arg& x, int dim, const Arg& index, const Arg& src,
                      const std::string& reduce, bool include_self = true);

// -- whole slices: index is a vector
Tensor index_add(const Arg& x, int dim, const Arg& index, const Arg& source, Scalar alpha = 1);
Tensor index_copy(const Arg& x, int dim, const Arg& index, const Arg& source);
Tensor index_fill(const Arg& x, int dim, const Arg& index, Scalar value);

// -- x with a part replaced by src
Tensor select_scatter(const Arg& x, const Arg& src, int dim, SizeArg index);
Tensor slice_scatter(const Arg& x, const Arg& src, int dim = 0, std::optional<SizeArg> start = {},
                     std::optional<SizeArg> end = {}, int64_t step = 1);
Tensor diagonal_scatter(const Arg& x, const Arg& src, SizeArg offset = 0, int dim1 = 0,
                        int dim2 = 1);

// -- classes
// x of integers >= 0 -> int64 [..., num_classes]; -1: the largest plus one
Tensor one_hot(const Arg& x, SizeArg num_classes = -1);
// weight[n, d...] by indices of any shape. Row padding_idx gets no gradient.
Tensor embedding(const Arg& indices, const Arg& weight, std::optional<int64_t> padding_idx = {});

}  // namespace wick
