// The adaptive max pool by sizes that do not divide the input's, as one graph node; not public.
#pragma once

#include <functional>
#include <vector>

#include "trainer/tensor/compose.h"

namespace wick::detail {

// The windows of output sizes `n` along a dim of `size`: [begin(k), end(k)).
struct AdaptiveWindows {
  int64_t size, n;
  int64_t begin(int64_t k) const { return k * size / n; }
  int64_t end(int64_t k) const { return ((k + 1) * size + n - 1) / n; }
};

// The pool in ops that are seen one by one: the results behind each spatial dim. x is one tensor,
// or one for each window of the first dim.
using AdaptiveOps = std::function<std::vector<Tensor>(const std::vector<Tensor>& x)>;

// Returns whether no window meets more than its neighbours, and nothing has to see the ops.
bool is_one_adaptive_max(const Tensor& x, const Sizes& out);
Tensor one_adaptive_max(const Arg& x, const Sizes& out, const AdaptiveOps& ops);

}  // namespace wick::detail
