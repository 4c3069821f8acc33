// Cumulative sums, products and extrema along a dimension.
#pragma once

#include "trainer/tensor/ops/sort.h"

namespace wick {

// Integers and bools accumulate in int64 unless a dtype is given.
Tensor cumsum(const Arg& x, int dim, std::optional<DType> dtype = {});
Tensor cumprod(const Arg& x, int dim, std::optional<DType> dtype = {});
// The largest (smallest) element so far and its index: the last of equal ones, as in PyTorch. NaN
// is kept.
ValuesIndices cummax(const Arg& x, int dim);
ValuesIndices cummin(const Arg& x, int dim);
Tensor logcumsumexp(const Arg& x, int dim);  // floats
// x[i + 1] - x[i] along dim, n times; for bools, whether they differ. First prepend and append are
// put before and after x.
Tensor diff(const Arg& x, int64_t n = 1, int dim = -1, const Tensor& prepend = Tensor(),
            const Tensor& append = Tensor());

}  // namespace wick
