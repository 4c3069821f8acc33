// Losses as modules, called with (input, target). The formulas are in ops/losses.h,
// ops/label_loss.h and ops/ctc_loss.h. Weights are buffers, as in PyTorch.
#pragma once

#include "trainer/nn/module.h"
#include "trainer/tensor/ops/loss/label_loss.h"
#include "trainer/tensor/ops/loss/losses.h"

namespace wick::nn {

#define WICK_LOSS(Name)                                                              \
  class Name : public Module {                                                       \
   public:                                                                           \
    explicit Name(Reduction reduction = Reduction::kMean) : reduction_(reduction) {} \
    Tensor operator()(const Arg& x, const Arg& target);                              \
                                                                                     \
   private:                                                                          \
    Reduction reduction_;                                                            \
  }
// The mean (or sum, or no reduction) of |x - target|.
WICK_LOSS(L1Loss);
// The mean of (x - target)^2.
WICK_LOSS(MSELoss);
// The mean of log(1 + e^(-target x)), for targets of 1 and -1.
WICK_LOSS(SoftMarginLoss);
// The mean of multilabel_margin_loss(): targets are lists of classes, ended by -1.
WICK_LOSS(MultiLabelMarginLoss);
#undef WICK_LOSS

// (x - target)^2 / (2 beta) where |x - target| < beta, else |x - target| - beta / 2 (Girshick,
// 2015).
class SmoothL1Loss : public Module {
 public:
  explicit SmoothL1Loss(Reduction reduction = Reduction::kMean, double beta = 1)
      : reduction_(reduction), beta_(beta) {}
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  Reduction reduction_;
  double beta_;
};
// (x - target)^2 / 2 where |x - target| <= delta, else delta (|x - target| - delta / 2) (Huber,
// 1964).
class HuberLoss : public Module {
 public:
  explicit HuberLoss(Reduction reduction = Reduction::kMean, double delta = 1)
      : reduction_(reduction), delta_(delta) {}
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  Reduction reduction_;
  double delta_;
};

// -- classes. The buffer "weight" [C] is optional
// cross_entropy() as a module: logits[N, C] (or [C], [N, C, d...]), target int64 classes or
// probabilities.
class CrossEntropyLoss : public Module {
 public:
  explicit CrossEntropyLoss(Reduction reduction = Reduction::kMean);
  explicit CrossEntropyLoss(ClassLossOptions options);
  Tensor operator()(const Arg& logits, const Arg& target);

 private:
  ClassLossOptions options_;
};
// nll_loss() as a module: log_probs as cross_entropy()'s logits, target int64 classes.
class NLLLoss : public Module {
 public:
  explicit NLLLoss(Reduction reduction = Reduction::kMean);
  explicit NLLLoss(ClassLossOptions options);
  Tensor operator()(const Arg& log_probs, const Arg& target);

 private:
  ClassLossOptions options_;
};
// multi_margin_loss() as a module: x[N, C] or [C], target[N] or [] of int64 classes.
class MultiMarginLoss : public Module {
 public:
  explicit MultiMarginLoss(int64_t p = 1, double margin = 1, const Tensor& weight = Tensor(),
                           Reduction reduction = Reduction::kMean);
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  int64_t p_;
  double margin_;
  Tensor weight_;
  Reduction reduction_;
};
// multilabel_soft_margin_loss() as a module: x and target [..., C], target in [0, 1].
class MultiLabelSoftMarginLoss : public Module {
 public:
  explicit MultiLabelSoftMarginLoss(const Tensor& weight = Tensor(),
                                    Reduction reduction = Reduction::kMean);
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  Tensor weight_;
  Reduction reduction_;
};

// -- binary labels. The buffers "weight" and "pos_weight" are optional
// binary_cross_entropy() as a module: x and target of one shape, both in [0, 1].
class BCELoss : public Module {
 public:
  explicit BCELoss(const Tensor& weight = Tensor(), Reduction reduction = Reduction::kMean);
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  Tensor weight_;
  Reduction reduction_;
};
// binary_cross_entropy_with_logits() as a module: x is a logit, pos_weight weighs the targets of 1.
class BCEWithLogitsLoss : public Module {
 public:
  explicit BCEWithLogitsLoss(const Tensor& weight = Tensor(),
                             Reduction reduction = Reduction::kMean,
                             const Tensor& pos_weight = Tensor());
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  Tensor weight_, pos_weight_;
  Reduction reduction_;
};

// -- distributions
// target (log(target) - x) for log-probabilities x; with log_target the target is a logarithm too.
// Only KlReduction::kBatchMean is the mathematical divergence.
class KLDivLoss : public Module {
 public:
  explicit KLDivLoss(KlReduction reduction = KlReduction::kMean, bool log_target = false)
      : reduction_(reduction), log_target_(log_target) {}
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  KlReduction reduction_;
  bool log_target_;
};
// e^x - target x with log_input, else x - target log(x + eps); full adds Stirling's approximation
// of log(target!).
class PoissonNLLLoss : public Module {
 public:
  explicit PoissonNLLLoss(bool log_input = true, bool full = false, double eps = 1e-8,
                          Reduction reduction = Reduction::kMean)
      : log_input_(log_input), full_(full), eps_(eps), reduction_(reduction) {}
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  bool log_input_, full_;
  double eps_;
  Reduction reduction_;
};
// (log(variance) + (x - target)^2 / variance) / 2, with variance at least eps; full adds log(2 pi)
// / 2.
class GaussianNLLLoss : public Module {
 public:
  explicit GaussianNLLLoss(bool full = false, double eps = 1e-6,
                           Reduction reduction = Reduction::kMean)
      : full_(full), eps_(eps), reduction_(reduction) {}
  Tensor operator()(const Arg& x, const Arg& target, const Arg& variance);

 private:
  bool full_;
  double eps_;
  Reduction reduction_;
};

// -- margins and distances
// x where target is 1, max(0, margin - x) where it is -1.
class HingeEmbeddingLoss : public Module {
 public:
  explicit HingeEmbeddingLoss(double margin = 1, Reduction reduction = Reduction::kMean)
      : margin_(margin), reduction_(reduction) {}
  Tensor operator()(const Arg& x, const Arg& target);

 private:
  double margin_;
  Reduction reduction_;
};
// max(0, -target (x1 - x2) + margin), for targets of 1 and -1.
class MarginRankingLoss : public Module {
 public:
  explicit MarginRankingLoss(double margin = 0, Reduction reduction = Reduction::kMean)
      : margin_(margin), reduction_(reduction) {}
  Tensor operator()(const Arg& x1, const Arg& x2, const Arg& target);

 private:
  double margin_;
  Reduction reduction_;
};
// 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where it is -1.
class CosineEmbeddingLoss : public Module {
 public:
  explicit CosineEmbeddingLoss(double margin = 0, Reduction reduction = Reduction::kMean)
      : margin_(margin), reduction_(reduction) {}
  Tensor operator()(const Arg& x1, const Arg& x2, const Arg& target);

 private:
  double margin_;
  Reduction reduction_;
};
// max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference
// (Balntas et al., 2016).
class TripletMarginLoss : public Module {
 public:
  explicit TripletMarginLoss(double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                             Reduction reduction = Reduction::kMean)
      : margin_(margin), p_(p), eps_(eps), swap_(swap), reduction_(reduction) {}
  Tensor operator()(const Arg& anchor, const Arg& positive, const Arg& negative);

 private:
  double margin_, p_, eps_;
  bool swap_;
  Reduction reduction_;
};
// The same with a distance of your own; {}: pairwise_distance().
class TripletMarginWithDistanceLoss : public Module {
 public:
  explicit TripletMarginWithDistanceLoss(Distance distance = {}, double margin = 1,
                                         bool swap = false, Reduction reduction = Reduction::kMean)
      : distance_(std::move(distance)), margin_(margin), swap_(swap), reduction_(reduction) {}
  Tensor operator()(const Arg& anchor, const Arg& positive, const Arg& negative);

 private:
  Distance distance_;
  double margin_;
  bool swap_;
  Reduction reduction_;
};

// -- sequences
// ctc_loss() as a module, which has the shapes and errors.
class CTCLoss : public Module {
 public:
  explicit CTCLoss(int64_t blank = 0, Reduction reduction = Reduction::kMean,
                   bool zero_infinity = false)
      : blank_(blank), reduction_(reduction), zero_infinity_(zero_infinity) {}
  Tensor operator()(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths);
  Tensor operator()(const Arg& log_probs, const Arg& targets,
                    const std::vector<int64_t>& input_lengths,
                    const std::vector<int64_t>& target_lengths);

 private:
  int64_t blank_;
  Reduction reduction_;
  bool zero_infinity_;
};

}  // namespace wick::nn
