// Every loss against PyTorch in float64, values and gradients (goldens by make_modules.py); the
// extremes; targets that are refused.
#include <functional>

#include "tests/nn/goldens.h"

namespace wick {
namespace {

const Goldens& goldens() {
  static const Goldens all = read_goldens("losses.txt");
  return all;
}

Tensor x(const Shape& shape, int64_t seed = 0, double scale = 4) {
  return (number(shape, seed) * scale).requires_grad_();
}
Tensor prob(const Shape& shape, int64_t seed = 1) { return number(shape, seed) / 2 + 0.5; }
Tensor sign_of(const Shape& shape, int64_t seed = 1) {
  return sign(number(shape, seed) + 1.0 / 256);
}
Tensor three() { return tensor({0.5, 2.0, 0.25}, DType::kF64); }
Tensor labels() { return tensor<int64_t>({2, 0, 1, 2}); }

struct Case {
  std::string name;
  Tensor out;
  std::vector<Tensor> inputs;
};

void check(const Case& c) {
  auto found = goldens().find(c.name);
  ASSERT_TRUE(found != goldens().end()) << c.name;
  EXPECT_LE(difference(found->second.at("out"), c.out), 1e-12) << c.name << c.out.to_string();
  sum(c.out * number(c.out.raw_shape(), 7)).backward();
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    EXPECT_LE(difference(found->second.at("x" + std::to_string(i)), c.inputs[i].grad()), 1e-12)
        << c.name << " gradient " << i << ": " << c.inputs[i].grad().to_string();
  }
}

template <class M>
void check(const std::string& name, M&& loss, const Tensor& a, const Tensor& target) {
  check({name, loss(a, target), {a}});
}

std::string word(Reduction r) {
  return r == Reduction::kNone ? "none" : r == Reduction::kMean ? "mean" : "sum";
}
constexpr Reduction kAll[] = {Reduction::kNone, Reduction::kMean, Reduction::kSum};

TEST(Losses, DistancesMatchPyTorch) {
  for (Reduction r : kAll) {
    const std::string w = "_" + word(r);
    check("L1" + w, nn::L1Loss(r), x({2, 5}), number({2, 5}, 1));
    check("MSE" + w, nn::MSELoss(r), x({2, 5}), number({2, 5}, 1));
    check("SmoothL1" + w, nn::SmoothL1Loss(r, 0.5), x({2, 5}), number({2, 5}, 1));
    check("Huber" + w, nn::HuberLoss(r, 1.5), x({2, 5}), number({2, 5}, 1));
  }
}

TEST(Losses, ClassesMatchPyTorch) {
  for (Reduction r : kAll) {
    const std::string w = "_" + word(r);
    nn::CrossEntropyLoss smooth({three(), 1, r, 0.1});
    EXPECT_EQ(smooth.state_dict().at(0).first, "weight");
    check("CrossEntropy" + w, smooth, x({4, 3}), labels());
    check("CrossEntropy_soft" + w, nn::CrossEntropyLoss({three(), -100, r, 0.2}), x({4, 3}),
          softmax(number({4, 3}, 1), 1));
    check("NLL" + w, nn::NLLLoss({three(), -100, r, 0}), x({4, 3}),
          tensor<int64_t>({2, -100, 1, 2}));
    check("MultiMargin" + w, nn::MultiMarginLoss(2, 0.75, three(), r), x({4, 3}, 0, 1), labels());
    check("MultiLabelMargin" + w, nn::MultiLabelMarginLoss(r), x({2, 4}, 0, 1),
          tensor<int64_t>({{3, 0, -1, 1}, {2, -1, -1, -1}}));
    check("MultiLabelSoftMargin" + w, nn::MultiLabelSoftMarginLoss(prob({5}, 4), r), x({2, 5}),
          (sign_of({2, 5}) + 1) / 2);
  }
  check("CrossEntropy_plain", nn::CrossEntropyLoss(), x({4, 3}), labels());
  check("CrossEntropy_plane", nn::CrossEntropyLoss({three(), -100, Reduction::kMean, 0}),
        x({1, 3, 2, 2}), tensor<int64_t>({{0, 1}, {2, 1}}).unsqueeze(0));
  check("CrossEntropy_1d", nn::CrossEntropyLoss(), x({3}), tensor<int64_t>(1));
  check("MultiMargin_plain", nn::MultiMarginLoss(), x({3}, 0, 1), tensor<int64_t>(1));
  check("MultiLabelMargin_1d", nn::MultiLabelMarginLoss(), x({4}, 0, 1),
        tensor<int64_t>({3, 0, -1, 1}));
}

TEST(Losses, YesOrNoMatchPyTorch) {
  for (Reduction r : kAll) {
    const std::string w = "_" + word(r);
    Tensor p = (number({2, 5}, 0) / 2 + 0.5).requires_grad_();
    check("BCE" + w, nn::BCELoss(prob({5}, 4), r), p, prob({2, 5}));
    check("BCEWithLogits" + w, nn::BCEWithLogitsLoss(prob({5}, 4), r, prob({5}, 5) * 3),
          x({2, 5}, 0, 8), prob({2, 5}));
    check("SoftMargin" + w, nn::SoftMarginLoss(r), x({2, 5}), sign_of({2, 5}));
    check("HingeEmbedding" + w, nn::HingeEmbeddingLoss(0.75, r), x({2, 5}, 0, 1), sign_of({2, 5}));
  }
}

TEST(Losses, DistributionsMatchPyTorch) {
  for (Reduction r : kAll) {
    const std::string w = "_" + word(r);
    check("PoissonNLL" + w, nn::PoissonNLLLoss(true, true, 1e-8, r), x({2, 5}, 0, 1),
          round(abs(number({2, 5}, 1) * 4)));
    Tensor mean = x({2, 5}), variance = abs(x({2, 5}, 3, 1).detach()).requires_grad_();
    check({"GaussianNLL" + w,
           nn::GaussianNLLLoss(true, 1e-6, r)(mean, number({2, 5}, 1), variance),
           {mean, variance}});
  }
  Tensor q = prob({2, 5}) * gt(number({2, 5}, 1), -0.5).to(kD);
  check("KLDiv_none", nn::KLDivLoss(KlReduction::kNone), x({2, 5}), q);
  check("KLDiv_mean", nn::KLDivLoss(KlReduction::kMean), x({2, 5}), q);
  check("KLDiv_sum", nn::KLDivLoss(KlReduction::kSum), x({2, 5}), q);
  check("KLDiv_batchmean", nn::KLDivLoss(KlReduction::kBatchMean), x({2, 5}), q);
  check("KLDiv_log", nn::KLDivLoss(KlReduction::kMean, true), x({2, 5}), number({2, 5}, 1));
  check("PoissonNLL_raw", nn::PoissonNLLLoss(false), prob({2, 5}).requires_grad_(),
        abs(number({2, 5}, 1)));
}

TEST(Losses, MarginsMatchPyTorch) {
  for (Reduction r : kAll) {
    const std::string w = "_" + word(r);
    Tensor a = x({4, 3}), b = x({4, 3}, 2), c = x({4, 3}, 3);
    check({"CosineEmbedding" + w, nn::CosineEmbeddingLoss(-0.5, r)(a, b, sign_of({4})), {a, b}});
    Tensor u = x({5}), v = x({5}, 2);
    check({"MarginRanking" + w, nn::MarginRankingLoss(0.25, r)(u, v, sign_of({5})), {u, v}});
    a = x({4, 3}), b = x({4, 3}, 2);
    check({"TripletMargin" + w, nn::TripletMarginLoss(1.5, 3, 1e-6, true, r)(a, b, c), {a, b, c}});
    a = x({4, 3}), b = x({4, 3}, 2), c = x({4, 3}, 3);
    auto manhattan = [](const Tensor& s, const Tensor& t) { return sum(abs(s - t), {-1}); };
    nn::TripletMarginWithDistanceLoss own(manhattan, 2, true, r);
    check({"TripletDistance" + w, own(a, b, c), {a, b, c}});
  }
  Tensor a = x({4, 3}), b = x({4, 3}, 2), c = x({4, 3}, 3);
  check({"TripletDistance_plain", nn::TripletMarginWithDistanceLoss()(a, b, c), {a, b, c}});
}

TEST(Losses, ExtremesAreFinite) {
  // Logits of +-1e4, in both widths.
  check("CrossEntropy_far", nn::CrossEntropyLoss(), x({4, 3}, 0, 12800), labels());
  for (DType t : {DType::kF32, DType::kF64}) {
    Tensor far = tensor({{1e4, -1e4, 0.0}, {-1e4, 1e4, 1e4}}, DType::kF64).to(t).requires_grad_();
    Tensor loss = nn::CrossEntropyLoss()(far, tensor<int64_t>({1, 2}));
    EXPECT_NEAR(loss.item(), (2e4 + std::log(2)) / 2, 1e-3);
    loss.backward();
    for (double g : far.grad().to(kD).to_vector<double>()) EXPECT_TRUE(std::isfinite(g));
  }
  // Probabilities 0 and 1: log is kept >= -100, right and wrong.
  Tensor p = tensor({0.0, 1.0, 0.0, 1.0}, DType::kF64).requires_grad_();
  check("BCE_edges", nn::BCELoss(), p, tensor({0.0, 1.0, 1.0, 0.0}, DType::kF64));
  EXPECT_EQ(nn::BCELoss()(p, tensor({0.0, 1.0, 1.0, 0.0}, DType::kF64)).item(), 50);
}

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
void expect_text(const std::string& got, const std::string& part) {
  EXPECT_NE(got.find(part), std::string::npos) << got;
}

TEST(Losses, BadTargetsAreNamed) {
  Tensor a = number({2, 4}, 0);
  expect_text(message([&] {
                nn::MultiLabelMarginLoss()(a, tensor<int64_t>({{0, 4, -1, -1}, {1, -1, -1, -1}}));
              }),
              "[multilabel_margin_loss] target 4 at [0,1] is no class: there are 4, -1 to 3");
  expect_text(message([&] {
                nn::MultiMarginLoss()(a, tensor<int64_t>({0, 7}));
              }),
              "[multi_margin_loss] target 7 at [1] is no class: there are 4, 0 to 3");
  expect_text(message([&] {
                nn::MultiMarginLoss()(a, tensor<int64_t>({0, 1, 2}));
              }),
              "needs [N, C] and targets [N], got [2,4] and [3]");
  expect_text(message([&] { nn::MultiMarginLoss(3); }), "p must be 1 or 2, got 3");
  expect_text(message([&] {
                nn::MultiLabelSoftMarginLoss()(a, number({2, 3}, 0));
              }),
              "target must have the input's shape, got [2,4] and [2,3]");
  expect_text(message([&] { nn::BCELoss()(a, a); }), "must be probabilities in [0, 1]");
  expect_text(message([&] {
                nn::CrossEntropyLoss()(a, tensor<int64_t>({0, 4}));
              }),
              "target 4 at [1] is no class");
  expect_text(message([&] { nn::HuberLoss(Reduction::kMean, -1)(a, a); }), "delta must be > 0");
}

}  // namespace
}  // namespace wick
