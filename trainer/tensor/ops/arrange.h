// Reordering, repeating and joining; triangles and diagonals; grids.
#pragma once

#include <string>

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- order of elements; copies
// Reverses the order along dims. Throws Error for a dim that is given twice.
Tensor flip(const Arg& x, Dims dims);
Tensor fliplr(const Arg& x);  // dim 1
Tensor flipud(const Arg& x);  // dim 0
// Moves elements by `shifts` along `dims`, wrapping around; without dims, those of the flattened
// tensor.
Tensor roll(const Arg& x, Dims shifts, Dims dims = {});
// Rotates by k quarter turns, from the first of dims to the second.
Tensor rot90(const Arg& x, int64_t k = 1, Dims dims = {0, 1});

// -- repetition
Tensor repeat(const Arg& x, const SizeList& repeats);  // at least one per dim of x
Tensor tile(const Arg& x, const SizeList& repeats);    // missing ones are 1
// Repeats each element; dim {}: of the flattened tensor. A tensor `repeats` has one number per
// element.
Tensor repeat_interleave(const Arg& x, SizeArg repeats, std::optional<int> dim = {});
Tensor repeat_interleave(const Arg& x, const Arg& repeats, std::optional<int> dim = {});

// -- triangles and diagonals; a positive `diagonal` is above the main one
Tensor tril(const Arg& x, SizeArg diagonal = 0);  // for x[..., m, n]; the other elements are 0
// x[..., m, n] on and above the diagonal; the other elements are 0.
Tensor triu(const Arg& x, SizeArg diagonal = 0);
// int64 [2, n]: the rows and columns of a triangle
Tensor tril_indices(SizeArg rows, SizeArg columns, SizeArg offset = 0, DType dtype = DType::kI64);
Tensor triu_indices(SizeArg rows, SizeArg columns, SizeArg offset = 0, DType dtype = DType::kI64);
Tensor diag(const Arg& x, SizeArg diagonal = 0);  // a vector gives a matrix, a matrix a vector
// Puts x's last dim on the diagonal of two new dims.
Tensor diag_embed(const Arg& x, SizeArg offset = 0, int dim1 = -2, int dim2 = -1);
// Puts the elements of x, flattened, on a diagonal of a square matrix.
Tensor diagflat(const Arg& x, SizeArg offset = 0);

// -- joining; dtypes promote
// cat(): joins along dim; only that size may differ. Throws Error for an empty list and for shapes
// that do not fit.
Tensor concat(const std::vector<Tensor>& tensors, int dim = 0, Where where = Where::current());
// Join along dim 1 (0 for vectors), 0 after atleast_2d(), and 2 after atleast_3d().
Tensor hstack(const std::vector<Tensor>& tensors, Where where = Where::current());
Tensor vstack(const std::vector<Tensor>& tensors, Where where = Where::current());
Tensor dstack(const std::vector<Tensor>& tensors, Where where = Where::current());
// Joins columns: vectors [n] count as [n, 1].
Tensor column_stack(const std::vector<Tensor>& tensors, Where where = Where::current());
// Puts matrices on the diagonal of one, with zeros elsewhere.
Tensor block_diag(const std::vector<Tensor>& tensors, Where where = Where::current());

// -- grids of vectors
// indexing "ij": dim i of every grid belongs to tensor i; "xy": the first two are swapped
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing = "ij",
                             Where where = Where::current());
// All combinations of one element of each vector: [n1 n2 ..., number of vectors].
Tensor cartesian_prod(const std::vector<Tensor>& tensors, Where where = Where::current());
// All combinations of r elements of the vector x, in order: [number, r].
Tensor combinations(const Arg& x, int64_t r = 2, bool with_replacement = false);

}  // namespace wick
