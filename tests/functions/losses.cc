// Losses, each with every reduction.
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);
constexpr Reduction kNone = Reduction::kNone, kSum = Reduction::kSum;

In signs(const Shape& s) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(s); ++i) v.push_back(i % 3 == 1 ? -1 : 1);
  return given(v, s).no_grad();
}
In probabilities(const Shape& s) { return x(s, 0.0625, 0.9375); }

void distances(Rows& row) {
  row("mse_loss", smooth, kFloats)
      .sample("F.mse_loss(x0, x1)", {x({3, 4}), x({3, 4})}, WICK_FN(mse_loss(x0, x1)))
      .sample("F.mse_loss(x0, x1, reduction='sum')", {x({3, 4}), x({3, 4})},
              WICK_FN(mse_loss(x0, x1, kSum)))
      .sample("F.mse_loss(x0, x1, reduction='none')", {x({3, 4}), x({3, 4})},
              WICK_FN(mse_loss(x0, x1, kNone)))
      .sample("F.mse_loss(x0, x1)", {x({3, 4}), x({4})}, WICK_FN(mse_loss(x0, x1)))
      .half_ulps(4);  // difference, square, mean
  row("l1_loss", piecewise, kWideFloats)
      .sample("F.l1_loss(x0, x1)", {distinct({3, 4}), x({3, 4}, 0.01, 0.04)},
              WICK_FN(l1_loss(x0, x1)))
      .sample("F.l1_loss(x0, x1, reduction='sum')", {distinct({3, 4}), x({3, 4}, 0.01, 0.04)},
              WICK_FN(l1_loss(x0, x1, kSum)))
      .sample("F.l1_loss(x0, x1, reduction='none')", {distinct({3, 4}), x({3, 4}, 0.01, 0.04)},
              WICK_FN(l1_loss(x0, x1, kNone)));
  row("smooth_l1_loss", piecewise, kWideFloats)
      .sample("F.smooth_l1_loss(x0, x1)", {x({3, 4}), x({3, 4})}, WICK_FN(smooth_l1_loss(x0, x1)))
      .sample("F.smooth_l1_loss(x0, x1, reduction='sum', beta=0.5)", {x({3, 4}), x({3, 4})},
              WICK_FN(smooth_l1_loss(x0, x1, kSum, 0.5)))
      .sample("F.smooth_l1_loss(x0, x1, reduction='none', beta=2)", {x({3, 4}), x({3, 4})},
              WICK_FN(smooth_l1_loss(x0, x1, kNone, 2)))
      .sample("F.smooth_l1_loss(x0, x1)", {given({1, -2, 0.5}), given({1, -1.75, 2})},
              WICK_FN(smooth_l1_loss(x0, x1)));
  row("huber_loss", piecewise, kWideFloats)
      .sample("F.huber_loss(x0, x1)", {x({3, 4}), x({3, 4})}, WICK_FN(huber_loss(x0, x1)))
      .sample("F.huber_loss(x0, x1, reduction='none', delta=0.5)", {x({3, 4}), x({3, 4})},
              WICK_FN(huber_loss(x0, x1, kNone, 0.5)))
      .sample("F.huber_loss(x0, x1, reduction='sum', delta=2)", {x({3, 4}), x({3, 4})},
              WICK_FN(huber_loss(x0, x1, kSum, 2)))
      .sample("F.huber_loss(x0, x1)", {given({1, -2, 0.5}), given({1, -1.75, 2})},
              WICK_FN(huber_loss(x0, x1)));
}

void classes(Rows& row) {
  row("nll_loss", smooth, kFloats)
      .sample("F.nll_loss(x0, x1)", {x({3, 4}), index({2, 0, 3})}, WICK_FN(nll_loss(x0, x1)))
      .sample("F.nll_loss(x0, x1, reduction='none')", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(nll_loss(x0, x1, kNone)))
      .sample("F.nll_loss(x0, x1, x2, ignore_index=1)",
              {x({4, 3}), index({2, 1, 0, 2}), probabilities({3}).no_grad()},
              WICK_FN(nll_loss(x0, x1, {.weight = x2, .ignore_index = 1})))
      .sample("F.nll_loss(x0, x1, x2, reduction='sum')",
              {x({2, 3, 2, 2}), index({2, 1, 0, 2, 1, 1, 0, 0}, {2, 2, 2}),
               probabilities({3}).no_grad()},
              WICK_FN(nll_loss(x0, x1, {.weight = x2, .reduction = kSum})))
      .sample("F.nll_loss(x0, x1)", {x({4}), index({2}, {})}, WICK_FN(nll_loss(x0, x1)))
      .half_ulps(4);  // a weighted sum and a quotient
  row("cross_entropy", smooth, kFloats)
      .sample("F.cross_entropy(x0, x1)", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(cross_entropy(x0, x1)))
      .sample("F.cross_entropy(x0, x1, reduction='sum')", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(cross_entropy(x0, x1, kSum)))
      .sample("F.cross_entropy(x0, x1, reduction='none')",
              {x({2, 3, 2}), index({2, 0, 1, 2}, {2, 2})}, WICK_FN(cross_entropy(x0, x1, kNone)))
      .sample("F.cross_entropy(x0, x1)",
              {given({1e4, -1e4, 0, 3, 1e4, -1e4}, {2, 3}), index({0, 1})},
              WICK_FN(cross_entropy(x0, x1)), kWideFloats)
      .sample("F.cross_entropy(x0, x1)", {x({3, 4}), index({2, -100, 3})},
              WICK_FN(cross_entropy(x0, x1)))
      .sample(
          "F.cross_entropy(x0, x1, x2, ignore_index=2, label_smoothing=0.1)",
          {x({4, 3}), index({2, 1, 0, 1}), probabilities({3}).no_grad()},
          WICK_FN(cross_entropy(x0, x1, {.weight = x2, .ignore_index = 2, .label_smoothing = 0.1})))
      .sample("F.cross_entropy(x0, x1, reduction='sum', label_smoothing=0.2)",
              {x({4, 3}), index({2, 1, 0, 1})},
              WICK_FN(cross_entropy(x0, x1, {.reduction = kSum, .label_smoothing = 0.2})))
      .sample("F.cross_entropy(x0, x1, x2, label_smoothing=0.1)",
              {x({2, 3, 2}), x({2, 3, 2}, 0, 1), probabilities({3}).no_grad()},
              WICK_FN(cross_entropy(x0, x1, {.weight = x2, .label_smoothing = 0.1})))
      .sample("F.cross_entropy(x0, x1, reduction='none')", {x({2, 3}), x({2, 3}, 0, 1)},
              WICK_FN(cross_entropy(x0, x1, kNone)))
      .sample("F.cross_entropy(x0, x1)", {x({4}), index({2}, {})}, WICK_FN(cross_entropy(x0, x1)))
      .half_ulps(8);  // log_softmax, then a sum
  row("multi_margin_loss", piecewise, kWideFloats)
      .sample("F.multi_margin_loss(x0, x1)", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(multi_margin_loss(x0, x1)))
      .sample("F.multi_margin_loss(x0, x1, margin=0.53, reduction='none')",
              {distinct({3, 4}), index({2, 0, 3})}, WICK_FN(multi_margin_loss(x0, x1, 0.53, kNone)))
      .sample("F.multi_margin_loss(x0, x1, p=2, margin=0.53, weight=x2, reduction='sum')",
              {x({3, 4}), index({2, 0, 3}), probabilities({4}).no_grad()},
              WICK_FN(multi_margin_loss(x0, x1, 2, 0.53, x2, kSum)));
}

void label_sets(Rows& row) {
  row("multilabel_margin_loss", piecewise, kFloats)
      .sample("F.multilabel_margin_loss(x0, x1)",
              {x({3, 4}), index({3, 0, -1, 1, 2, -1, 0, 3, 1, 0, 3, 2}, {3, 4})},
              WICK_FN(multilabel_margin_loss(x0, x1)))
      .sample("F.multilabel_margin_loss(x0, x1, reduction='sum')",
              {x({2, 3}), index({-1, 0, 1, 2, 2, -1}, {2, 3})},
              WICK_FN(multilabel_margin_loss(x0, x1, kSum)))
      .sample("F.multilabel_margin_loss(x0, x1, reduction='none')",
              {x({2, 3}), index({1, -1, -1, 2, 0, -1}, {2, 3})},
              WICK_FN(multilabel_margin_loss(x0, x1, kNone)))
      .sample("F.multilabel_margin_loss(x0, x1)", {x({4}), index({2, 0, -1, 3})},
              WICK_FN(multilabel_margin_loss(x0, x1)))
      .half_ulps(8);  // differences, then a sum of them and a mean
  row("multilabel_soft_margin_loss", smooth, kFloats)
      .sample("F.multilabel_soft_margin_loss(x0, x1)", {x({3, 4}), probabilities({3, 4})},
              WICK_FN(multilabel_soft_margin_loss(x0, x1)))
      .sample("F.multilabel_soft_margin_loss(x0, x1, x2, reduction='sum')",
              {x({3, 4}), probabilities({3, 4}).no_grad(), x({4}, 0.5, 2).no_grad()},
              WICK_FN(multilabel_soft_margin_loss(x0, x1, x2, kSum)))
      .sample("F.multilabel_soft_margin_loss(x0, x1, reduction='none')",
              {given({1e4, -1e4, 1e4, -1e4, 0, 3}, {2, 3}),
               given({1, 1, 0, 0, 1, 0}, {2, 3}).no_grad()},
              WICK_FN(multilabel_soft_margin_loss(x0, x1, Tensor(), kNone)), kWideFloats)
      .half_ulps(8);  // softplus, a product, a mean
}

void alignments(Rows& row) {
  // The input is log_softmax's: PyTorch's own slope is the derivative only behind it.
  row("ctc_loss", once("the backward scores have no backward of their own"), kFloats)
      .sample("F.ctc_loss(x0.log_softmax(2), x1, (5, 4), (2, 3))",
              {x({5, 2, 4}), index({1, 1, 0, 3, 2, 1}, {2, 3})},
              WICK_FN(ctc_loss(log_softmax(x0, 2), x1, std::vector<int64_t>{5, 4},
                               std::vector<int64_t>{2, 3})))
      .sample("F.ctc_loss(x0.log_softmax(2), x1, x2, x3, blank=3, reduction='none')",
              {x({5, 3, 4}), index({1, 1, 0, 2}), index({5, 3, 4}), index({2, 0, 2})},
              WICK_FN(ctc_loss(log_softmax(x0, 2), x1, x2, x3, 3, kNone)))
      .sample(
          "F.ctc_loss(x0.log_softmax(2), x1, (2, 4), (2, 1), reduction='sum', zero_infinity=True)",
          {x({4, 2, 3}), of(DType::kI32, given({1, 1, 2, 0}, {2, 2}))},
          WICK_FN(ctc_loss(log_softmax(x0, 2), x1, std::vector<int64_t>{2, 4},
                           std::vector<int64_t>{2, 1}, 0, kSum, true)))
      .sample("F.ctc_loss(x0.log_softmax(1), x1, x2, x3)",
              {x({4, 3}), index({1, 2}), index({4}, {}), index({2}, {})},
              WICK_FN(ctc_loss(log_softmax(x0, 1), x1, x2, x3)))
      .not_captured("paths depend on values")
      .half_ulps(8);  // those of log_softmax, summed along the path
}

void yes_or_no(Rows& row) {
  row("binary_cross_entropy", smooth, kWideFloats)
      .sample("F.binary_cross_entropy(x0, x1)",
              {probabilities({3, 4}), probabilities({3, 4}).no_grad()},
              WICK_FN(binary_cross_entropy(x0, x1)))
      .sample(
          "F.binary_cross_entropy(x0, x1, x2, reduction='sum')",
          {probabilities({3, 4}), probabilities({3, 4}).no_grad(), probabilities({4}).no_grad()},
          WICK_FN(binary_cross_entropy(x0, x1, x2, kSum)))
      // at 0 and 1 PyTorch's own slope is not the derivative: values, and the gradient of a factor
      .sample("F.binary_cross_entropy(x0, x1, reduction='none') * x2",
              {given({0, 1, 0, 1, 0.5}).no_grad(), given({0, 1, 1, 0, 1}).no_grad(), x({5})},
              WICK_FN(binary_cross_entropy(x0, x1, Tensor(), kNone) * x2));
  row("binary_cross_entropy_with_logits", smooth, kWideFloats)
      .sample("F.binary_cross_entropy_with_logits(x0, x1)", {x({3, 4}), probabilities({3, 4})},
              WICK_FN(binary_cross_entropy_with_logits(x0, x1)))
      .sample("F.binary_cross_entropy_with_logits(x0, x1, x2, pos_weight=x3, reduction='sum')",
              {x({3, 4}), probabilities({3, 4}), probabilities({3, 4}).no_grad(),
               x({4}, 0.5, 3).no_grad()},
              WICK_FN(binary_cross_entropy_with_logits(x0, x1, x2, kSum, x3)))
      .sample("F.binary_cross_entropy_with_logits(x0, x1, reduction='none')",
              {given({1e4, -1e4, 1e4, -1e4, 0}), given({1, 1, 0, 0, 1}).no_grad()},
              WICK_FN(binary_cross_entropy_with_logits(x0, x1, Tensor(), kNone)));
  row("soft_margin_loss", smooth, kWideFloats)
      .sample("F.soft_margin_loss(x0, x1)", {x({3, 4}), signs({3, 4})},
              WICK_FN(soft_margin_loss(x0, x1)))
      .sample("F.soft_margin_loss(x0, x1, reduction='none')", {x({3, 4}), signs({3, 4})},
              WICK_FN(soft_margin_loss(x0, x1, kNone)));
}

void distributions(Rows& row) {
  row("kl_div", smooth, kWideFloats)
      .sample("F.kl_div(x0, x1)", {x({3, 4}), probabilities({3, 4})}, WICK_FN(kl_div(x0, x1)))
      .sample("F.kl_div(x0, x1, reduction='batchmean')", {x({3, 4}), probabilities({3, 4})},
              WICK_FN(kl_div(x0, x1, KlReduction::kBatchMean)))
      .sample("F.kl_div(x0, x1, reduction='sum', log_target=True)", {x({3, 4}), x({3, 4})},
              WICK_FN(kl_div(x0, x1, KlReduction::kSum, true)))
      .sample("F.kl_div(x0, x1, reduction='none')", {x({3}), given({0, 0.5, 1}).no_grad()},
              WICK_FN(kl_div(x0, x1, KlReduction::kNone)));
  row("poisson_nll_loss", smooth, kWideFloats)
      .sample("F.poisson_nll_loss(x0, x1)", {x({3, 4}), x({3, 4}, 0, 3)},
              WICK_FN(poisson_nll_loss(x0, x1)))
      .sample("F.poisson_nll_loss(x0, x1, log_input=False, full=True, reduction='none')",
              {x({3, 4}, 0.5, 2), x({3, 4}, 1.25, 3).no_grad()},
              WICK_FN(poisson_nll_loss(x0, x1, false, true, 1e-8, kNone)));
  row("gaussian_nll_loss", smooth, kWideFloats)
      .sample("F.gaussian_nll_loss(x0, x1, x2)", {x({3, 4}), x({3, 4}), x({3, 4}, 0.5, 2)},
              WICK_FN(gaussian_nll_loss(x0, x1, x2)))
      .sample("F.gaussian_nll_loss(x0, x1, x2, full=True, reduction='none')",
              {x({3, 4}), x({3, 4}), x({3}, 0.5, 2)},
              WICK_FN(gaussian_nll_loss(x0, x1, x2, true, 1e-6, kNone)))
      .sample("F.gaussian_nll_loss(x0, x1, x2, eps=1.5, reduction='sum')",
              {x({3, 4}), x({3, 4}), x({3, 4}, 0.5, 2).no_grad()},
              WICK_FN(gaussian_nll_loss(x0, x1, x2, false, 1.5, kSum)));
}

void margins(Rows& row) {
  row("hinge_embedding_loss", piecewise, kWideFloats)
      .sample("F.hinge_embedding_loss(x0, x1)", {x({3, 4}), signs({3, 4})},
              WICK_FN(hinge_embedding_loss(x0, x1)))
      .sample("F.hinge_embedding_loss(x0, x1, margin=0.5, reduction='none')",
              {x({3, 4}), signs({3, 4})}, WICK_FN(hinge_embedding_loss(x0, x1, 0.5, kNone)));
  row("margin_ranking_loss", piecewise, kWideFloats)
      .sample("F.margin_ranking_loss(x0, x1, x2)", {x({8}), x({8}), signs({8})},
              WICK_FN(margin_ranking_loss(x0, x1, x2)))
      .sample("F.margin_ranking_loss(x0, x1, x2, margin=0.5, reduction='sum')",
              {x({8}), x({8}), signs({8})}, WICK_FN(margin_ranking_loss(x0, x1, x2, 0.5, kSum)));
  row("cosine_embedding_loss", piecewise, kWideFloats)
      .sample("F.cosine_embedding_loss(x0, x1, x2)", {x({4, 3}), x({4, 3}), signs({4})},
              WICK_FN(cosine_embedding_loss(x0, x1, x2)))
      .sample("F.cosine_embedding_loss(x0, x1, x2, margin=0.1, reduction='none')",
              {x({4, 3}), x({4, 3}), signs({4})},
              WICK_FN(cosine_embedding_loss(x0, x1, x2, 0.1, kNone)));
  row("triplet_margin_loss", piecewise, kWideFloats)
      .sample("F.triplet_margin_loss(x0, x1, x2)", {x({4, 3}), x({4, 3}), x({4, 3})},
              WICK_FN(triplet_margin_loss(x0, x1, x2)))
      .sample("F.triplet_margin_loss(x0, x1, x2, margin=2, swap=True, reduction='none')",
              {x({4, 3}), x({4, 3}), x({4, 3})},
              WICK_FN(triplet_margin_loss(x0, x1, x2, 2, 2, 1e-6, true, kNone)));
  row("triplet_margin_with_distance_loss", piecewise, kWideFloats)
      .sample("F.triplet_margin_with_distance_loss(x0, x1, x2)", {x({4, 3}), x({4, 3}), x({4, 3})},
              WICK_FN(triplet_margin_with_distance_loss(x0, x1, x2)))
      .sample(
          "F.triplet_margin_with_distance_loss(x0, x1, x2, distance_function="
          "lambda a, b: (a - b).square().sum(-1), margin=3, swap=True, reduction='none')",
          {x({4, 3}), x({4, 3}), x({4, 3})},
          WICK_FN(triplet_margin_with_distance_loss(
              x0, x1, x2, [](const Tensor& a, const Tensor& b) { return sum(square(a - b), {-1}); },
              3, true, kNone)))
      .sample(
          "F.triplet_margin_with_distance_loss(x0, x1, x2, distance_function="
          "lambda a, b: 1 - F.cosine_similarity(a, b), margin=0.5, reduction='sum')",
          {x({4, 3}), x({4, 3}), x({4, 3})},
          WICK_FN(triplet_margin_with_distance_loss(
              x0, x1, x2,
              [](const Tensor& a, const Tensor& b) { return 1 - cosine_similarity(a, b); }, 0.5,
              false, kSum)));
}

}  // namespace

std::vector<FunctionRow> losses_rows() {
  Rows row;
  distances(row);
  classes(row);
  label_sets(row);
  alignments(row);
  yes_or_no(row);
  distributions(row);
  margins(row);
  return row.all;
}

}  // namespace wick::test
