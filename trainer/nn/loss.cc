#include "trainer/nn/loss.h"

#include "trainer/tensor/ops/loss/ctc_loss.h"

namespace wick::nn {

#define WICK_LOSS(Name, function)                                                                \
  Tensor Name::operator()(const Arg& x, const Arg& target) {                                     \
    return hooked([this](const auto&... in) { return function(in..., reduction_); }, x, target); \
  }                                                                                              \
  static_assert(true)
WICK_LOSS(L1Loss, l1_loss);
WICK_LOSS(MSELoss, mse_loss);
WICK_LOSS(SoftMarginLoss, soft_margin_loss);
WICK_LOSS(MultiLabelMarginLoss, multilabel_margin_loss);
#undef WICK_LOSS

Tensor SmoothL1Loss::operator()(const Arg& x, const Arg& target) {
  return hooked([this](const auto&... in) { return smooth_l1_loss(in..., reduction_, beta_); }, x,
                target);
}
Tensor HuberLoss::operator()(const Arg& x, const Arg& target) {
  return hooked([this](const auto&... in) { return huber_loss(in..., reduction_, delta_); }, x,
                target);
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
  return hooked([this](const auto&... in) { return cross_entropy(in..., options_); }, logits,
                target);
}
NLLLoss::NLLLoss(Reduction reduction) : NLLLoss(reducing(reduction)) {}
NLLLoss::NLLLoss(ClassLossOptions options) : options_(std::move(options)) {
  register_buffer("weight", options_.weight);
}
Tensor NLLLoss::operator()(const Arg& log_probs, const Arg& target) {
  return hooked([this](const auto&... in) { return nll_loss(in..., options_); }, log_probs, target);
}

MultiMarginLoss::MultiMarginLoss(int64_t p, double margin, const Tensor& weight,
                                 Reduction reduction)
    : p_(p), margin_(margin), weight_(register_buffer("weight", weight)), reduction_(reduction) {
  if (p == 1 || p == 2) return;
  throw Error("[MultiMarginLoss] p must be 1 or 2, got " + std::to_string(p));
}
Tensor MultiMarginLoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) {
        return multi_margin_loss(in..., p_, margin_, weight_, reduction_);
      },
      x, target);
}
MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(const Tensor& weight, Reduction reduction)
    : weight_(register_buffer("weight", weight)), reduction_(reduction) {}
Tensor MultiLabelSoftMarginLoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) { return multilabel_soft_margin_loss(in..., weight_, reduction_); },
      x, target);
}

BCELoss::BCELoss(const Tensor& weight, Reduction reduction)
    : weight_(register_buffer("weight", weight)), reduction_(reduction) {}
Tensor BCELoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) { return binary_cross_entropy(in..., weight_, reduction_); }, x,
      target);
}
BCEWithLogitsLoss::BCEWithLogitsLoss(const Tensor& weight, Reduction reduction,
                                     const Tensor& pos_weight)
    : weight_(register_buffer("weight", weight)),
      pos_weight_(register_buffer("pos_weight", pos_weight)),
      reduction_(reduction) {}
Tensor BCEWithLogitsLoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) {
        return binary_cross_entropy_with_logits(in..., weight_, reduction_, pos_weight_);
      },
      x, target);
}

Tensor KLDivLoss::operator()(const Arg& x, const Arg& target) {
  return hooked([this](const auto&... in) { return kl_div(in..., reduction_, log_target_); }, x,
                target);
}
Tensor PoissonNLLLoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) {
        return poisson_nll_loss(in..., log_input_, full_, eps_, reduction_);
      },
      x, target);
}
Tensor GaussianNLLLoss::operator()(const Arg& x, const Arg& target, const Arg& variance) {
  return hooked(
      [this](const auto&... in) { return gaussian_nll_loss(in..., full_, eps_, reduction_); }, x,
      target, variance);
}

Tensor HingeEmbeddingLoss::operator()(const Arg& x, const Arg& target) {
  return hooked(
      [this](const auto&... in) { return hinge_embedding_loss(in..., margin_, reduction_); }, x,
      target);
}
Tensor MarginRankingLoss::operator()(const Arg& x1, const Arg& x2, const Arg& target) {
  return hooked(
      [this](const auto&... in) { return margin_ranking_loss(in..., margin_, reduction_); }, x1, x2,
      target);
}
Tensor CosineEmbeddingLoss::operator()(const Arg& x1, const Arg& x2, const Arg& target) {
  return hooked(
      [this](const auto&... in) { return cosine_embedding_loss(in..., margin_, reduction_); }, x1,
      x2, target);
}
Tensor TripletMarginLoss::operator()(const Arg& anchor, const Arg& positive, const Arg& negative) {
  return hooked(
      [this](const auto&... in) {
        return triplet_margin_loss(in..., margin_, p_, eps_, swap_, reduction_);
      },
      anchor, positive, negative);
}
Tensor TripletMarginWithDistanceLoss::operator()(const Arg& anchor, const Arg& positive,
                                                 const Arg& negative) {
  return hooked(
      [this](const auto&... in) {
        return triplet_margin_with_distance_loss(in..., distance_, margin_, swap_, reduction_);
      },
      anchor, positive, negative);
}

Tensor CTCLoss::operator()(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths) {
  return hooked(
      [this](const auto&... in) { return ctc_loss(in..., blank_, reduction_, zero_infinity_); },
      log_probs, targets, input_lengths, target_lengths);
}
Tensor CTCLoss::operator()(const Arg& log_probs, const Arg& targets,
                           const std::vector<int64_t>& input_lengths,
                           const std::vector<int64_t>& target_lengths) {
  return hooked(
      [this](const auto&... in) { return ctc_loss(in..., blank_, reduction_, zero_infinity_); },
      log_probs, targets, input_lengths, target_lengths);
}

}  // namespace wick::nn
