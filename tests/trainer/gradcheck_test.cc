// Every differentiable row against central differences in float64, first and second order, on one
// small sample a row; a row of ops.def without a sample here fails.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/trainer/gradcheck_samples.h"
#include "trainer/autograd/grad_table.h"

namespace wick::gradchecks {
namespace {

TEST(Gradcheck, EveryDifferentiableRow) {
  set_num_threads(1);
  std::set<std::string> seen;
  std::map<Second, int> without;
  double first = 0, second = 0;
  Samples samples;
  add_elementwise_samples(samples);
  add_layer_samples(samples);
  add_index_samples(samples);
  add_linalg_samples(samples);
  add_zero_samples(samples);
  add_image_samples(samples);
  for (const Sample& s : samples) {
    seen.insert(s.name.substr(0, s.name.find(' ')));
    SCOPED_TRACE(s.name);
    GradcheckOptions o;
    if (s.name == "Cast") {  // through float32: its step and its rounding
      o.eps = 1e-2;
      o.atol = 1e-4;
    }
    GradcheckResult r = gradcheck(s.f, s.inputs, o);
    EXPECT_TRUE(r.ok) << r.message;
    if (s.second != Second::kThroughFloat32) first = std::max(first, r.worst_relative);
    if (s.second != Second::kYes) {
      ++without[s.second];
      continue;
    }
    o.second_order = true;
    r = gradcheck(s.f, s.inputs, o);
    EXPECT_TRUE(r.ok) << r.message;
    second = std::max(second, r.worst_relative);
  }
  std::map<NonDiff, int> marked;
  for (const OpInfo& op : all_ops()) {
    const GradRow& row = grad_row(op.id);
    if (row.formula == nullptr) {
      EXPECT_NE(row.why, NonDiff::kUnmarked) << op.name << " has neither a gradient nor a reason";
      ++marked[row.why];
    } else {
      EXPECT_TRUE(seen.count(op.name)) << op.name << " has a gradient and no sample";
    }
  }
  printf(
      "COUNT: ops: %zu differentiable, worst gradcheck error %.2g, worst gradgradcheck error %.2g; "
      "no gradient: %d integer output, %d piecewise constant, %d random, %d of a size that depends "
      "on data, %d for inference only; first order only: %d piecewise constant, %d through "
      "float32, %d non-smooth points, "
      "%d train helper\n",
      seen.size(), first, second, marked[NonDiff::kIntegerOutput],
      marked[NonDiff::kPiecewiseConstant], marked[NonDiff::kRandom], marked[NonDiff::kSizeFromData],
      marked[NonDiff::kInferenceOnly], without[Second::kPiecewiseConstant],
      without[Second::kThroughFloat32], without[Second::kNonSmooth], without[Second::kTrainHelper]);
}

TEST(Gradcheck, SeesAWrongGradient) {
  // |x| with its value's history cut: the gradient misses a factor.
  auto wrong = [](const List& in) { return List{in[0].detach() * in[0]}; };
  GradcheckResult r = gradcheck(wrong, {random({3}, 0.5, 1)});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("finite difference"), std::string::npos);
}

// x0 x1. Its first derivative is right and its history cut at zeros, so that the second lacks what
// goes through a factor of 0.
struct CutAtZeros : Function<CutAtZeros> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return prod(x);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    Tensor other = flip(ctx.get_saved_variables()[0], {0});
    return {g[0] * where(eq(other, 0), other.detach(), other)};
  }
};

TEST(Gradcheck, SeesAWrongSecondDerivativeWhereTheOutputIsZero) {
  auto wrong = [](const List& in) { return List{CutAtZeros::apply(in[0])}; };
  for (const Tensor& x : {tensor({0.0, 2.0}, DType::kF64), tensor({2.0, 0.0}, DType::kF64),
                          tensor({0.0, 0.0}, DType::kF64)}) {
    EXPECT_TRUE(gradcheck(wrong, {x}).ok);
    GradcheckResult r = gradgradcheck(wrong, {x});
    EXPECT_FALSE(r.ok);
    EXPECT_NE(r.message.find("second order"), std::string::npos) << r.message;
    auto right = [](const List& in) { return List{prod(in[0])}; };
    r = gradgradcheck(right, {x});
    EXPECT_TRUE(r.ok) << r.message;
  }
}

// Right as it is and wrong where it will be differentiated, where it is twice the gradient.
struct DoubledInAGraph : Function<DoubledInAGraph> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    return {g[0] * ctx.get_saved_variables()[0] * (grad_enabled() ? 4 : 2)};
  }
};

TEST(Gradcheck, SeesAGradientThatIsWrongInAGraphOnly) {
  auto wrong = [](const List& in) { return List{DoubledInAGraph::apply(in[0])}; };
  const Tensor x = random({3}, 0.5, 1);
  EXPECT_TRUE(gradcheck(wrong, {x}).ok);
  GradcheckResult r = gradgradcheck(wrong, {x});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("with create_graph"), std::string::npos) << r.message;
}

TEST(Gradcheck, LeNetInFloat64) {
  manual_seed(3);
  auto model = nn::lenet();
  model->to(kD);
  // Few pixels are varied: the parameters' gradients are compared along one random direction each.
  Tensor x = random({2, 1, 28, 28});
  Tensor target = tensor<int64_t>({3, 7});
  auto loss = [&] { return cross_entropy((*model)(x), target); };
  loss().backward();
  for (auto& [name, p] : model->named_parameters()) {
    Tensor direction = random(p.raw_shape());
    double slope = (p.grad() * direction).sum().item();
    NoGrad guard;
    constexpr double kStep = 1e-7;
    Tensor before = p.clone();
    p.copy_(before + direction * kStep);
    double up = loss().item();
    p.copy_(before - direction * kStep);
    double down = loss().item();
    p.copy_(before);
    EXPECT_NEAR(slope, (up - down) / (2 * kStep), 1e-6 + 1e-5 * std::abs(slope)) << name;
  }
}

}  // namespace
}  // namespace wick::gradchecks
