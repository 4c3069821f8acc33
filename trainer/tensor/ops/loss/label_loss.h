// torch.nn.functional: losses over sets of labels, and those with a user's function or weights.
#pragma once

#include <functional>

#include "trainer/tensor/ops/loss/losses.h"

namespace wick {

// x[N, C] or [C]; target of x's shape, int64: the labels of each row, then -1 (what follows is
// ignored). Returns the mean over C of max(0, 1 - (x[label] - x[other])) for each label and each
// class that is not a label. A target outside of [-1, C) throws an Error that names it and its
// position.
Tensor multilabel_margin_loss(const Arg& x, const Arg& target,
                              Reduction reduction = Reduction::kMean);
// Independent binary labels per class: the mean over the last dimension of the binary cross
// entropies. target has x's shape, in [0, 1]; weight[C].
Tensor multilabel_soft_margin_loss(const Arg& x, const Arg& target, const Tensor& weight = Tensor(),
                                   Reduction reduction = Reduction::kMean);
// sum over i != target of max(0, margin - x[target] + x[i])^p / C, times weight[target]; p is 1 or
// 2. x[N, C] or [C], target[N] or []: int64.
Tensor multi_margin_loss(const Arg& x, const Arg& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction = Reduction::kMean);

// A distance of two batches: one number per item.
using Distance = std::function<Tensor(const Tensor&, const Tensor&)>;
// max(0, d(anchor, positive) - d(anchor, negative) + margin); without a distance, d is
// pairwise_distance. swap: uses the smaller of d(anchor, negative) and d(positive, negative).
Tensor triplet_margin_with_distance_loss(const Arg& anchor, const Arg& positive,
                                         const Arg& negative, const Distance& distance = {},
                                         double margin = 1, bool swap = false,
                                         Reduction reduction = Reduction::kMean);

}  // namespace wick
