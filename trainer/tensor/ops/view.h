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
Tensor unfold(const Arg& x, int dim, SizeArg size, SizeArg step);
Tensor diagonal(const Arg& x, SizeArg offset = 0, int dim1 = 0, int dim2 = 1);

Tensor reshape(const Arg& x, const SizeList& shape);
Tensor view_as(const Arg& x, const Arg& other);
Tensor reshape_as(const Arg& x, const Arg& other);
Tensor expand_as(const Arg& x, const Arg& other);
Tensor broadcast_to(const Arg& x, const SizeList& shape);
// Expands all of them to the shape that they broadcast to.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors,
                                      Where where = Where::current());
Tensor permute(const Arg& x, const Shape& axes);
Tensor transpose(const Arg& x, int dim0, int dim1);
Tensor swapaxes(const Arg& x, int dim0, int dim1);
Tensor swapdims(const Arg& x, int dim0, int dim1);
Tensor t(const Arg& x);
Tensor adjoint(const Arg& x);  // the last two dims swapped
Tensor movedim(const Arg& x, int from, int to);
Tensor movedim(const Arg& x, const Shape& from, const Shape& to);
Tensor moveaxis(const Arg& x, int from, int to);
Tensor moveaxis(const Arg& x, const Shape& from, const Shape& to);
Tensor narrow(const Arg& x, int dim, SizeArg start, SizeArg length);
Tensor select(const Arg& x, int dim, SizeArg index);
Tensor squeeze(const Arg& x);
Tensor squeeze(const Arg& x, int dim);            // returned as it is if dim is not 1
Tensor squeeze(const Arg& x, const Shape& dims);  // those of them that are 1
Tensor unsqueeze(const Arg& x, int dim);
Tensor flatten(const Arg& x, int start_dim = 0, int end_dim = -1);
Tensor ravel(const Arg& x);
Tensor unflatten(const Arg& x, int dim, const SizeList& sizes);  // one size may be -1
Tensor atleast_1d(const Arg& x);
Tensor atleast_2d(const Arg& x);
Tensor atleast_3d(const Arg& x);

std::vector<Tensor> split_with_sizes(const Arg& x, const SizeList& sizes, int dim = 0);
std::vector<Tensor> chunk(const Arg& x, SizeArg chunks, int dim = 0);  // at most that many
std::vector<Tensor> tensor_split(const Arg& x, int64_t sections, int dim = 0);
std::vector<Tensor> tensor_split(const Arg& x, const Shape& indices, int dim = 0);
std::vector<Tensor> unbind(const Arg& x, int dim = 0);
std::vector<Tensor> hsplit(const Arg& x, int64_t sections);
std::vector<Tensor> hsplit(const Arg& x, const Shape& indices);
std::vector<Tensor> vsplit(const Arg& x, int64_t sections);
std::vector<Tensor> vsplit(const Arg& x, const Shape& indices);
std::vector<Tensor> dsplit(const Arg& x, int64_t sections);
std::vector<Tensor> dsplit(const Arg& x, const Shape& indices);

}  // namespace wick
