// torch.nn.functional: losses over sets of labels, and those with a function or weights of yours.
#pragma once

#include <functional>

#include "trainer/tensor/ops/losses.h"

namespace wick {

// x[N, C] or [C]; target of x's shape, int64: the labels of each row, then -1 (what follows does
// not count). Mean over C of max(0, 1 - (x[label] - x[other])) for each label beside each class
// that is none. A target outside [-1, C) is an error that names it and where it is.
Tensor multilabel_margin_loss(const Arg& x, const Arg& target,
                              Reduction reduction = Reduction::kMean);
// One yes or no a class: the mean over the last dimension of the binary cross entropies. target of
// x's shape, in [0, 1]; weight[C].
Tensor multilabel_soft_margin_loss(const Arg& x, const Arg& target, const Tensor& weight = Tensor(),
                                   Reduction reduction = Reduction::kMean);
// sum over i != target of max(0, margin - x[target] + x[i])^p / C, times weight[target]; p is 1 or
// 2. x[N, C] or [C], target[N] or []: int64.
Tensor multi_margin_loss(const Arg& x, const Arg& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction = Reduction::kMean);

// max(0, d(anchor, positive) - d(anchor, negative) + margin); an empty distance is
// pairwise_distance. swap: the nearer of d(anchor, negative) and d(positive, negative).
using Distance = std::function<Tensor(const Tensor&, const Tensor&)>;
Tensor triplet_margin_with_distance_loss(const Arg& anchor, const Arg& positive,
                                         const Arg& negative, const Distance& distance = {},
                                         double margin = 1, bool swap = false,
                                         Reduction reduction = Reduction::kMean);

}  // namespace wick
