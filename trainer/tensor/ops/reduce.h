// Reductions over dimensions.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- reductions; empty dims: all. Negative dims count from the end, as everywhere
Tensor sum(const Arg& x, Dims dims = {}, bool keepdim = false);   // integers: in int64
Tensor mean(const Arg& x, Dims dims = {}, bool keepdim = false);  // floats
Tensor amax(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor amin(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor prod(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor max(const Arg& x);
Tensor min(const Arg& x);
Tensor argmax(const Arg& x, int dim, bool keepdim = false);  // int64; the first of equal ones
Tensor argmin(const Arg& x, int dim, bool keepdim = false);

}  // namespace wick
