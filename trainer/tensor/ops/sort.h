// Functions by order: sorting, selection, medians and quantiles, unique, searching in sorted data.
// The order is total: -0 < +0, and NaN is the largest. Every sort is stable.
#pragma once

#include <string>

#include "trainer/tensor/ops/common.h"

namespace wick {

// auto [values, indices] = topk(x, 3);   indices are int64
struct ValuesIndices {
  Tensor values, indices;
};

// dims may be negative; x of rank 0 is one element. Gradients go to the selected elements.
ValuesIndices sort(const Arg& x, int dim = -1, bool descending = false, bool stable = true);
Tensor argsort(const Arg& x, int dim = -1, bool descending = false, bool stable = true);
Tensor msort(const Arg& x);  // along dim 0
ValuesIndices topk(const Arg& x, SizeArg k, int dim = -1, bool largest = true, bool sorted = true);
// The k-th smallest element, with k from 1.
ValuesIndices kthvalue(const Arg& x, SizeArg k, int dim = -1, bool keepdim = false);
// The lower of two middle elements; NaN if there is one. nanmedian ignores NaNs.
Tensor median(const Arg& x);
ValuesIndices median(const Arg& x, int dim, bool keepdim = false);
Tensor nanmedian(const Arg& x);
ValuesIndices nanmedian(const Arg& x, int dim, bool keepdim = false);
// The most frequent element, the smallest of equally frequent ones, and the index of its last
// occurrence.
ValuesIndices mode(const Arg& x, int dim = -1, bool keepdim = false);
// x float, 0 <= q <= 1; dim {}: over all elements. A tensor q [m] gives a leading dimension m.
// interpolation: linear, lower, higher, midpoint, nearest. NaN if there is one; nanquantile ignores
// NaNs.
Tensor quantile(const Arg& x, double q, std::optional<int> dim = {}, bool keepdim = false,
                const std::string& interpolation = "linear");
Tensor quantile(const Arg& x, const Arg& q, std::optional<int> dim = {}, bool keepdim = false,
                const std::string& interpolation = "linear");
Tensor nanquantile(const Arg& x, double q, std::optional<int> dim = {}, bool keepdim = false,
                   const std::string& interpolation = "linear");
Tensor nanquantile(const Arg& x, const Arg& q, std::optional<int> dim = {}, bool keepdim = false,
                   const std::string& interpolation = "linear");

// Extrema along one dimension: values, and the index of the first one, which alone gets the
// gradient.
ValuesIndices max(const Arg& x, int dim, bool keepdim = false);
ValuesIndices min(const Arg& x, int dim, bool keepdim = false);
// The smallest and the largest elements, `min` and `max`.
struct MinMax {
  Tensor min, max;
};
// Returns both, along dim or (dim {}) of all elements. An empty tensor is an Error.
MinMax aminmax(const Arg& x, std::optional<int> dim = {}, bool keepdim = false);
Tensor argmax(const Arg& x);  // index in the flattened tensor
// The index of the smallest element of the flattened tensor.
Tensor argmin(const Arg& x);

// inverse: the index in values of each element; counts: the number of occurrences of each value.
// Both are undefined unless requested.
struct UniqueResult {
  Tensor values, inverse, counts;
};
// The distinct elements (dim {}), or the distinct slices of a dimension. sorted = false: in the
// order of occurrence. A capture refuses it.
UniqueResult unique(const Arg& x, bool sorted = true, bool return_inverse = false,
                    bool return_counts = false, std::optional<int> dim = {});
// Compares only neighbours.
UniqueResult unique_consecutive(const Arg& x, bool return_inverse = false,
                                bool return_counts = false, std::optional<int> dim = {});

// Returns where values would be inserted into sorted_sequence's last dimension: before equal
// elements, or after them (right). A sequence of rank 1 is used for values of any shape; otherwise
// the leading dims must be equal.
Tensor searchsorted(const Arg& sorted_sequence, const Arg& values, bool out_int32 = false,
                    bool right = false, const Tensor& sorter = Tensor());
Tensor searchsorted(const Arg& sorted_sequence, Scalar value, bool out_int32 = false,
                    bool right = false);
// The same with the arguments the other way round; boundaries have rank 1.
Tensor bucketize(const Arg& x, const Arg& boundaries, bool out_int32 = false, bool right = false);
// Returns which elements of x are among test_elements.
Tensor isin(const Arg& x, const Arg& test_elements, bool assume_unique = false,
            bool invert = false);
// x[n], non-negative integers: counts the occurrences of each, or sums its weights[n].
Tensor bincount(const Arg& x, const Tensor& weights = Tensor(), int64_t minlength = 0);
// Counts x's elements in `bins` equal parts of [min, max]; if both are 0, of x's own range.
Tensor histc(const Arg& x, int64_t bins = 100, double min = 0, double max = 0);

}  // namespace wick
