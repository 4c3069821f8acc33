// torch.nn.functional: losses. All take a reduction; kMean divides by the number of elements unless
// stated otherwise.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// A loss returns a number per element, their mean, or their sum.
enum class Reduction { kNone, kMean, kSum };

// -- distances; input and target broadcast (with a warning if their shapes differ)
// (x - target)^2.
Tensor mse_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean);
// |x - target|.
Tensor l1_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean);
// (x - target)^2 / (2 beta) where |x - target| < beta, else |x - target| - beta / 2 (Girshick,
// 2015). Throws Error for beta < 0; 0 is l1_loss().
Tensor smooth_l1_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean,
                      double beta = 1);
// (x - target)^2 / 2 where |x - target| <= delta, else delta (|x - target| - delta / 2) (Huber,
// 1964). Throws Error for delta <= 0.
Tensor huber_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean,
                  double delta = 1);

// -- classes: logits[N, C] (or [C], [N, C, d...]), target[N] int64 class indices. A target outside
// of [0, C) that is not ignore_index throws an Error that names it and its position.
// Options of cross_entropy() and nll_loss().
struct ClassLossOptions {
  Tensor weight = {};                      // [C]
  int64_t ignore_index = -100;             // targets that are ignored
  Reduction reduction = Reduction::kMean;  // kMean divides by the sum of the weights of the targets
  double label_smoothing = 0;              // cross_entropy only
};
// -log of the probability that softmax(logits) gives the target. Targets may also be probabilities
// of the logits' shape and dtype.
Tensor cross_entropy(const Arg& logits, const Arg& target, const ClassLossOptions& options);
Tensor cross_entropy(const Arg& logits, const Arg& target, Reduction reduction = Reduction::kMean);
// The same for log-probabilities.
Tensor nll_loss(const Arg& log_probs, const Arg& target, const ClassLossOptions& options);
Tensor nll_loss(const Arg& log_probs, const Arg& target, Reduction reduction = Reduction::kMean);
// The mean over other classes of max(0, margin - x[target] + x[class]).
Tensor multi_margin_loss(const Arg& x, const Arg& target, double margin = 1,
                         Reduction reduction = Reduction::kMean);

// -- binary labels. The target is in [0, 1] and has the input's shape.
// -(target log(x) + (1 - target) log(1 - x)) for x in [0, 1], where each log is clamped to >= -100.
Tensor binary_cross_entropy(const Arg& x, const Arg& target, const Tensor& weight = Tensor(),
                            Reduction reduction = Reduction::kMean);
// The same of sigmoid(x), computed without overflow. pos_weight multiplies the terms of target.
Tensor binary_cross_entropy_with_logits(const Arg& x, const Arg& target,
                                        const Tensor& weight = Tensor(),
                                        Reduction reduction = Reduction::kMean,
                                        const Tensor& pos_weight = Tensor());
Tensor soft_margin_loss(const Arg& x, const Arg& target,
                        Reduction reduction = Reduction::kMean);  // target -1 or 1

// -- distributions
// kl_div() returns a number per element, their mean, their sum, or the sum divided by x's
// first size, which is the mathematical definition.
enum class KlReduction { kNone, kMean, kSum, kBatchMean };
Tensor kl_div(const Arg& x, const Arg& target, KlReduction reduction = KlReduction::kMean,
              bool log_target = false);  // x: log-probabilities
// The negative logarithm of the probability of target, for a Poisson distribution of mean x
// (log_input: e^x), without the constant log(target!) unless `full` approximates it.
Tensor poisson_nll_loss(const Arg& x, const Arg& target, bool log_input = true, bool full = false,
                        double eps = 1e-8, Reduction reduction = Reduction::kMean);
// The same for a normal distribution of mean x and this variance, which has x's shape or one number
// per row; `full` adds log(2 pi) / 2.
Tensor gaussian_nll_loss(const Arg& x, const Arg& target, const Arg& variance, bool full = false,
                         double eps = 1e-6, Reduction reduction = Reduction::kMean);

// -- margins; the target is -1 or 1
// x where target is 1, max(0, margin - x) where it is -1.
Tensor hinge_embedding_loss(const Arg& x, const Arg& target, double margin = 1,
                            Reduction reduction = Reduction::kMean);
// max(0, -target (x1 - x2) + margin).
Tensor margin_ranking_loss(const Arg& x1, const Arg& x2, const Arg& target, double margin = 0,
                           Reduction reduction = Reduction::kMean);
// 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where it is -1.
Tensor cosine_embedding_loss(const Arg& x1, const Arg& x2, const Arg& target, double margin = 0,
                             Reduction reduction = Reduction::kMean);  // x[N, D] or [D]
// max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference
// (Balntas et al., 2016); swap: uses the smaller of d(anchor, negative) and d(positive, negative).
Tensor triplet_margin_loss(const Arg& anchor, const Arg& positive, const Arg& negative,
                           double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                           Reduction reduction = Reduction::kMean);  // [N, D] or [D]

}  // namespace wick
