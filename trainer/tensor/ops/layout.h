// Joining, splitting, padding; gather and scatter by index tensors.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- layout
Tensor cat(std::initializer_list<Arg> tensors, int dim = 0);  // dtypes promote; only dim may differ
// The same for a list.
Tensor cat(const std::vector<Tensor>& tensors, int dim = 0, Where where = Where::current());
// Joins tensors of one shape along a new dimension.
Tensor stack(const std::vector<Tensor>& tensors, int dim = 0, Where where = Where::current());
std::vector<Tensor> split(const Arg& x, SizeArg split_size, int dim = 0);  // views
// Parts of these sizes, as split_with_sizes() gives them: split(x, {2, 3}, 1).
std::vector<Tensor> split(const Arg& x, std::initializer_list<SizeArg> sizes, int dim = 0);
std::vector<Tensor> split(const Arg& x, const Shape& sizes, int dim = 0);
// pads: in PyTorch's order, last dimension first: {left, right, top, bottom ...}
Tensor pad(const Arg& x, std::initializer_list<SizeArg> pads, double value = 0);
// Returns the elements of x that index, an int32 or int64 tensor of x's rank, selects along dim
// (ONNX GatherElements); the result has index's shape.
Tensor gather(const Arg& x, int dim, const Arg& index);
// Returns the slices of dim that index, int32 or int64 of any rank, selects (ONNX Gather): index's
// dimensions stand where dim was.
Tensor index_select(const Arg& x, int dim, const Arg& index);
// Returns x with src added at the elements that index selects along dim; an index that occurs twice
// adds twice.
Tensor scatter_add(const Arg& x, int dim, const Arg& index, const Arg& source);

}  // namespace wick
