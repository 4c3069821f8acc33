// Views: other shapes of the same bytes, differentiable; writing to a view writes to its base. None
// of them copies, except reshape, flatten and ravel where the strides require it.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// Returns the number of tensors that this thread's ops have copied so far: layout ops that could
// not be views, clone(), and operands that a kernel needs contiguous.
int64_t copies_made();

// Sizes and strides refer to the memory of x's base, from element `offset` of the storage (-1:
// where x starts). Strides must not be negative.
Tensor as_strided(const Arg& x, const Shape& size, const Shape& stride, int64_t offset = -1);
// Returns all windows of `size` along dim, `step` apart, as a new last dimension.
// It is written as the method, x.unfold(dim, size, step): four plain numbers would also fit the
// kernel_size, dilation and padding of the unfold() in conv.h, F.unfold.
Tensor unfold(const Arg& x, int dim, SizeArg size, SizeArg step);
template <std::integral A, std::integral B, std::integral C>
Tensor unfold(const Arg& x, A, B, C) = delete;  // x.unfold(dim, size, step), or a Pair
// Returns the diagonal of dim1 and dim2 as a new last dimension.
Tensor diagonal(const Arg& x, SizeArg offset = 0, int dim1 = 0, int dim2 = 1);

// Another shape of the same elements, in the same order; one size may be -1. A copy if the strides
// require it. Throws Error for another number of elements.
Tensor reshape(const Arg& x, const SizeList& shape);
// The same with the shape of another tensor; view_as() refuses what would need a copy.
Tensor view_as(const Arg& x, const Arg& other);
Tensor reshape_as(const Arg& x, const Arg& other);
// Repeats dimensions of size 1, without copying, up to the shape given or that of the other tensor.
// Throws Error if the shapes do not fit.
Tensor expand_as(const Arg& x, const Arg& other);
Tensor broadcast_to(const Arg& x, const SizeList& shape);
// Expands all of them to the shape that they broadcast to.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors,
                                      Where where = Where::current());
// The dimensions in another order. axes has each dimension once.
Tensor permute(const Arg& x, const Shape& axes);
// Two dimensions swapped.
Tensor transpose(const Arg& x, int dim0, int dim1);
Tensor swapaxes(const Arg& x, int dim0, int dim1);
Tensor swapdims(const Arg& x, int dim0, int dim1);
// The transpose of a matrix; a vector or number as it is. Throws Error for a higher rank.
Tensor t(const Arg& x);
Tensor adjoint(const Arg& x);  // the last two dims swapped
// Move dimensions `from` to the places `to`; the others keep their order.
Tensor movedim(const Arg& x, int from, int to);
Tensor movedim(const Arg& x, const Shape& from, const Shape& to);
Tensor moveaxis(const Arg& x, int from, int to);
Tensor moveaxis(const Arg& x, const Shape& from, const Shape& to);
// Elements start .. start + length - 1 of a dimension. Throws Error for elements outside.
Tensor narrow(const Arg& x, int dim, SizeArg start, SizeArg length);
// One element of a dimension, which is removed; a negative index counts from the end.
Tensor select(const Arg& x, int dim, SizeArg index);
// Without the dimensions of size 1: all of them, or
Tensor squeeze(const Arg& x);
Tensor squeeze(const Arg& x, int dim);            // returned as it is if dim is not 1
Tensor squeeze(const Arg& x, const Shape& dims);  // those of them that are 1
// With a new dimension of size 1 before `dim`.
Tensor unsqueeze(const Arg& x, int dim);
// Dimensions start_dim to end_dim (all of them for ravel) joined into one.
Tensor flatten(const Arg& x, int start_dim = 0, int end_dim = -1);
Tensor ravel(const Arg& x);
Tensor unflatten(const Arg& x, int dim, const SizeList& sizes);  // one size may be -1
// With dimensions of size 1 added until the rank is at least that; PyTorch's order.
Tensor atleast_1d(const Arg& x);
Tensor atleast_2d(const Arg& x);
Tensor atleast_3d(const Arg& x);

// Consecutive parts of these sizes, which must sum up to that of the dimension.
std::vector<Tensor> split_with_sizes(const Arg& x, const SizeList& sizes, int dim = 0);
std::vector<Tensor> chunk(const Arg& x, SizeArg chunks, int dim = 0);  // at most that many
// `sections` parts whose sizes differ by at most 1, the longer ones first; or the parts between the
// indices.
std::vector<Tensor> tensor_split(const Arg& x, int64_t sections, int dim = 0);
std::vector<Tensor> tensor_split(const Arg& x, const Shape& indices, int dim = 0);
// All elements of a dimension, which is removed.
std::vector<Tensor> unbind(const Arg& x, int dim = 0);
// tensor_split() along dim 1 (0 for a vector), 0 and 2. `sections` must divide the size. Throws
// Error for a rank that is too small.
std::vector<Tensor> hsplit(const Arg& x, int64_t sections);
std::vector<Tensor> hsplit(const Arg& x, const Shape& indices);
std::vector<Tensor> vsplit(const Arg& x, int64_t sections);
std::vector<Tensor> vsplit(const Arg& x, const Shape& indices);
std::vector<Tensor> dsplit(const Arg& x, int64_t sections);
std::vector<Tensor> dsplit(const Arg& x, const Shape& indices);

}  // namespace wick
