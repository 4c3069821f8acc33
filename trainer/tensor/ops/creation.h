// Functions that make tensors, in addition to zeros, ones, full and arange of tensor.h.
#pragma once

#include "trainer/tensor/literal.h"
#include "trainer/tensor/ops/common.h"

namespace wick {

// Makes a 0-dim tensor of that dtype.
Tensor scalar_tensor(Scalar value, DType dtype = DType::kF32, Where where = Where::current());

// -- like another tensor: its shape and device, but with another dtype.
// t's shape and device, and this dtype.
Tensor zeros_like(const Arg& t, DType dtype);
Tensor ones_like(const Arg& t, DType dtype);
Tensor empty_like(const Arg& t, DType dtype);
Tensor full_like(const Arg& t, Scalar value, DType dtype);

// -- with the dtype and the device of another tensor
// Make a tensor of this shape with t's dtype, unless another is given, on t's device: undefined
// bytes, zeros, ones, or all of one value.
Tensor new_empty(const Arg& t, const SizeList& shape, OptDType dtype = {});
Tensor new_zeros(const Arg& t, const SizeList& shape, OptDType dtype = {});
Tensor new_ones(const Arg& t, const SizeList& shape, OptDType dtype = {});
Tensor new_full(const Arg& t, const SizeList& shape, Scalar value, OptDType dtype = {});
// Returns t in the dtype and on the device of another tensor; t itself if it has both.
Tensor type_as(const Arg& t, const Arg& other);

// -- ranges. If one argument is a float, the result is float32: arange(1, 5, .5)
// start, start + step ... below end. Throws Error for a step of 0 or of the wrong sign.
Tensor arange_float(double start, double end, double step, DType dtype, const Where& where);
template <class A, class B, class C = int>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && std::is_arithmetic_v<C> &&
           (std::is_floating_point_v<A> || std::is_floating_point_v<B> ||
            std::is_floating_point_v<C>))
Tensor arange(A start, B end, C step = 1, DType dtype = DType::kF32,
              Where where = Where::current()) {
  return arange_float(static_cast<double>(start), static_cast<double>(end),
                      static_cast<double>(step), dtype, where);
}
// Returns `steps` numbers from start to end, both included; for one step only start.
Tensor linspace(double start, double end, SizeArg steps, DType dtype = DType::kF32,
                Where where = Where::current());
// Returns base to the power of these numbers.
Tensor logspace(double start, double end, SizeArg steps, double base = 10,
                DType dtype = DType::kF32, Where where = Where::current());

// -- matrices
// n rows and m columns (n for identity) of zeros, with ones on the main diagonal.
Tensor eye(SizeArg n, SizeArg m, DType dtype = DType::kF32, Where where = Where::current());
Tensor identity(SizeArg n, DType dtype = DType::kF32, Where where = Where::current());
// Returns ones on and below diagonal k.
Tensor tri(SizeArg n, SizeArg m, SizeArg k = 0, DType dtype = DType::kF32,
           Where where = Where::current());

}  // namespace wick
