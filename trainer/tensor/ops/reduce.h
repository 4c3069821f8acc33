// Reductions over dimensions: a list, one number, or none for all; negative ones count from the
// end. With keepdim each keeps a size of 1.
#pragma once

#include <utility>

#include "trainer/tensor/ops/common.h"

namespace wick {

// Integers and bools are summed and multiplied in int64, unless a dtype is given.
Tensor sum(const Arg& x, Dims dims = {}, bool keepdim = false, OptDType dtype = {});
Tensor prod(const Arg& x, Dims dims = {}, bool keepdim = false, OptDType dtype = {});
Tensor mean(const Arg& x, Dims dims = {}, bool keepdim = false, OptDType dtype = {});  // floats
Tensor nansum(const Arg& x, Dims dims = {}, bool keepdim = false);  // NaN counts as 0
// The mean of the numbers; NaN where all are NaN.
Tensor nanmean(const Arg& x, Dims dims = {}, bool keepdim = false);
// Divided by n - correction: 1 for the unbiased estimate, 0 for a whole population. NaN if that is
// not positive.
Tensor var(const Arg& x, Dims dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor std(const Arg& x, Dims dims = {}, int64_t correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Arg& x, Dims dims = {}, int64_t correction = 1,
                                   bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Arg& x, Dims dims = {}, int64_t correction = 1,
                                   bool keepdim = false);
// Extrema. NaN takes precedence, +0 > -0; equal elements share the gradient. Throw for a dimension
// of size 0.
Tensor amax(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor amin(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor max(const Arg& x);
Tensor min(const Arg& x);
// Those along one dimension, with indices, are in sort.h.
// The larger and the smaller of two tensors, element by element.
inline Tensor max(const Arg& a, const Arg& b);  // maximum
inline Tensor min(const Arg& a, const Arg& b);
Tensor argmax(const Arg& x, int dim, bool keepdim = false);  // int64; the first of equal elements
// The index of the smallest element along dim, int64; the first of equal ones.
Tensor argmin(const Arg& x, int dim, bool keepdim = false);
// Return bools; uint8 for uint8. Anything but 0 is true.
Tensor all(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor any(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor count_nonzero(const Arg& x, Dims dims = {});  // int64
// log(sum(e^x)) over dims, without overflow.
Tensor logsumexp(const Arg& x, Dims dims, bool keepdim = false);
// (sum |x|^p)^(1/p); p = 0 counts the nonzeros, +-inf gives the largest or smallest |x|. The
// gradient of the 2-norm at 0 is 0.
Tensor norm(const Arg& x, double p = 2, Dims dims = {}, bool keepdim = false);

}  // namespace wick

#include "trainer/tensor/ops/elementwise.h"

namespace wick {
inline Tensor max(const Arg& a, const Arg& b) { return maximum(a, b); }
inline Tensor min(const Arg& a, const Arg& b) { return minimum(a, b); }
}  // namespace wick
