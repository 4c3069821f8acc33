#include "trainer/nn/loss.h"

#include "trainer/tensor/ops/loss/ctc_loss.h"

namespace wick::nn {

#define WICK_LOSS(Name, function)                            \
  Tensor Name::operator()(const Arg& x, const Arg& target) { \
    ModuleScope scope = enter();                             \
    return function(x, target, reduction_);                  \
  }                                                          \
  static_assert(true)
WICK_LOSS(L1Loss, l1_loss);
WICK_LOSS(MSELoss, mse_loss);
WICK_LOSS(SoftMarginLoss, soft_margin_loss);
WICK_LOSS(MultiLabelMarginLoss, multilabel_margin_loss);
#undef WICK_LOSS

Tensor SmoothL1Loss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return smooth_l1_loss(x, target, reduction_, beta_);
}
Tensor HuberLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return huber_loss(x, target, reduction_, delta_);
}

static ClassLossOptions reducing(Reduction reduction) {
  ClassLossOptions o;
  o.reduction = reduction;
  return o;
}
CrossEntropyLoss::CrossEntropyLoss(Reduction reduction) : CrossEntropyLoss(reducing(reduction)) {}
CrossEntropyLoss::CrossEntropyLoss(ClassLossOptions options) : options_(std::move(options)) {
  register_buffer("weight", options_.weight);
}
Tensor CrossEntropyLoss::operator()(const Arg& logits, const Arg& target) {
  ModuleScope scope = enter();
  return cross_entropy(logits, target, options_);
}
NLLLoss::NLLLoss(Reduction reduction) : NLLLoss(reducing(reduction)) {}
NLLLoss::NLLLoss(ClassLossOptions options) : options_(std::move(options)) {
  register_buffer("weight", options_.weight);
}
Tensor NLLLoss::operator()(const Arg& log_probs, const Arg& target) {
  ModuleScope scope = enter();
  return nll_loss(log_probs, target, options_);
}

MultiMarginLoss::MultiMarginLoss(int64_t p, double margin, const Tensor& weight,
                                 Reduction reduction)
    : p_(p), margin_(margin), weight_(register_buffer("weight", weight)), reduction_(reduction) {
  if (p == 1 || p == 2) return;
  throw Error("[MultiMarginLoss] p must be 1 or 2, got " + std::to_string(p));
}
Tensor MultiMarginLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return multi_margin_loss(x, target, p_, margin_, weight_, reduction_);
}
MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(const Tensor& weight, Reduction reduction)
    : weight_(register_buffer("weight", weight)), reduction_(reduction) {}
Tensor MultiLabelSoftMarginLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return multilabel_soft_margin_loss(x, target, weight_, reduction_);
}

BCELoss::BCELoss(const Tensor& weight, Reduction reduction)
    : weight_(register_buffer("weight", weight)), reduction_(reduction) {}
Tensor BCELoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return binary_cross_entropy(x, target, weight_, reduction_);
}
BCEWithLogitsLoss::BCEWithLogitsLoss(const Tensor& weight, Reduction reduction,
                                     const Tensor& pos_weight)
    : weight_(register_buffer("weight", weight)),
      pos_weight_(register_buffer("pos_weight", pos_weight)),
      reduction_(reduction) {}
Tensor BCEWithLogitsLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return binary_cross_entropy_with_logits(x, target, weight_, reduction_, pos_weight_);
}

Tensor KLDivLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return kl_div(x, target, reduction_, log_target_);
}
Tensor PoissonNLLLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return poisson_nll_loss(x, target, log_input_, full_, eps_, reduction_);
}
Tensor GaussianNLLLoss::operator()(const Arg& x, const Arg& target, const Arg& variance) {
  ModuleScope scope = enter();
  return gaussian_nll_loss(x, target, variance, full_, eps_, reduction_);
}

Tensor HingeEmbeddingLoss::operator()(const Arg& x, const Arg& target) {
  ModuleScope scope = enter();
  return hinge_embedding_loss(x, target, margin_, reduction_);
}
Tensor MarginRankingLoss::operator()(const Arg& x1, const Arg& x2, const Arg& target) {
  ModuleScope scope = enter();
  return margin_ranking_loss(x1, x2, target, margin_, reduction_);
}
Tensor CosineEmbeddingLoss::operator()(const Arg& x1, const Arg& x2, const Arg& target) {
  ModuleScope scope = enter();
  return cosine_embedding_loss(x1, x2, target, margin_, reduction_);
}
Tensor TripletMarginLoss::operator()(const Arg& anchor, const Arg& positive, const Arg& negative) {
  ModuleScope scope = enter();
  return triplet_margin_loss(anchor, positive, negative, margin_, p_, eps_, swap_, reduction_);
}
Tensor TripletMarginWithDistanceLoss::operator()(const Arg& anchor, const Arg& positive,
                                                 const Arg& negative) {
  ModuleScope scope = enter();
  return triplet_margin_with_distance_loss(anchor, positive, negative, distance_, margin_, swap_,
                                           reduction_);
}

Tensor CTCLoss::operator()(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths) {
  ModuleScope scope = enter();
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_, reduction_,
                  zero_infinity_);
}
Tensor CTCLoss::operator()(const Arg& log_probs, const Arg& targets,
                           const std::vector<int64_t>& input_lengths,
                           const std::vector<int64_t>& target_lengths) {
  ModuleScope scope = enter();
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_, reduction_,
                  zero_infinity_);
}

}  // namespace wick::nn
