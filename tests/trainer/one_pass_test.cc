// Gradient formulas in one pass (trainer/autograd/grad/one_pass.h): they have the bits of their
// ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "trainer/autograd/grad/one_pass.h"
#include "wick/trainer.h"

namespace wick {
namespace {

struct Kernels : TraceHook {
  std::set<std::string> seen;
  void on_op(const TraceEvent& e) override { seen.insert(e.op); }
};

Tensor sample(int64_t n) {
  manual_seed(7);
  Tensor x = randn({n}) * 3;
  auto* p = x.mutable_data<float>();
  const float inf = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f, -0.0f, inf, -inf, std::nanf(""), 3.0f, -3.0f, 1e-40f, 88.7f};
  for (size_t i = 0; i < std::size(special); ++i) p[i] = special[i];
  return x;
}

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
};

const Case kCases[] = {
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }},
    {"reciprocal", [](const Tensor& x) { return reciprocal(x); }},
    {"expm1", [](const Tensor& x) { return expm1(x); }},
    {"log1p", [](const Tensor& x) { return log1p(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }},
    {"abs", [](const Tensor& x) { return abs(x); }},
    {"atan", [](const Tensor& x) { return atan(x); }},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.3); }},
    {"elu", [](const Tensor& x) { return elu(x, 0.7); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"hardswish", [](const Tensor& x) { return hardswish(x); }},
    {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"gelu tanh", [](const Tensor& x) { return gelu(x, true); }},
};

TEST(OnePass, GivesTheBitsOfTheOps) {
  const int64_t n = 10007;
  const Tensor x = sample(n), g = flip(sample(n), {0});
  for (const Case& c : kCases) {
    Tensor gradient[2];
    for (bool create_graph : {false, true}) {
      Tensor leaf = x.clone();
      leaf.requires_grad_();
      Tensor y = c.f(leaf);
      Kernels kernels;
      set_trace_hook(&kernels);
      gradient[create_graph] = grad({y}, {leaf}, {g}, create_graph, create_graph)[0].detach();
      set_trace_hook(nullptr);
      EXPECT_EQ(kernels.seen.count("FusedElementwise"), create_graph ? 0U : 1U) << c.name;
      if (create_graph) continue;
      EXPECT_EQ(kernels.seen.size(), 1U) << c.name;
    }
    EXPECT_EQ(memcmp(gradient[0].data<float>(), gradient[1].data<float>(), sizeof(float) * n), 0)
        << c.name;
  }
}

// Only a row's own gradient gives its bytes away: what a formula reads otherwise stays.
TEST(OnePass, LeavesWhatItReads) {
  NoGrad guard;
  const Tensor x = sample(5000), before = x.clone();
  const Tensor y = formula::in_one_pass([](const auto& v) { return 1 - v * v; }, x);
  EXPECT_EQ(memcmp(x.data<float>(), before.data<float>(), sizeof(float) * 5000), 0);
  EXPECT_NE(x.data<float>(), y.data<float>());
}

// float32 takes one node with a gradient of its own, float64 the parts.
TEST(OnePass, LayerNormsGradientIsThatOfItsParts) {
  manual_seed(3);
  const Tensor x = randn({3, 5, 7}), w = randn({5, 7}), b = randn({5, 7}), g = randn({3, 5, 7});
  const auto gradients = [&](DType dtype, bool scales, bool shifts, bool create_graph) {
    std::vector<Tensor> in = {x.to(dtype).clone()};
    if (scales) in.push_back(w.to(dtype).clone());
    if (shifts) in.push_back(b.to(dtype).clone());
    for (Tensor& t : in) t.requires_grad_();
    Tensor y = layer_norm(in[0], {5, 7}, scales ? in[1] : Tensor(), shifts ? in.back() : Tensor());
    return grad({y}, in, {g.to(dtype)}, create_graph, create_graph);
  };
  for (int form = 0; form < 8; ++form) {
    const bool scales = (form & 1) != 0, shifts = (form & 2) != 0, recorded = (form & 4) != 0;
    const auto got = gradients(DType::kF32, scales, shifts, recorded);
    const auto want = gradients(DType::kF64, scales, shifts, recorded);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double off = max(abs(got[i].detach().to(DType::kF64) - want[i].detach())).item();
      EXPECT_LT(off, 1e-5) << "form " << form << ", gradient " << i;
    }
  }
}

// Formulas that must be seen op by op are not fused; the size does not decide, so that a step of
// any batch is alike.
TEST(OnePass, StandsBackWhereOpsAreSeen) {
  const auto fused = [](int64_t n, DType dtype) {
    Tensor leaf = randn({n}).to(dtype);
    leaf.requires_grad_();
    Tensor y = gelu(leaf);
    Kernels kernels;
    set_trace_hook(&kernels);
    sum(y).backward();
    set_trace_hook(nullptr);
    return kernels.seen.count("FusedElementwise") == 1;
  };
  EXPECT_TRUE(fused(8192, DType::kF32));
  EXPECT_TRUE(fused(1, DType::kF32));
  EXPECT_FALSE(fused(8192, DType::kF64));
  AnomalyMode anomaly;
  EXPECT_FALSE(fused(8192, DType::kF32));
}

}  // namespace
}  // namespace wick
