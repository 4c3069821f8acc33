// nn.init: bounds and moments over large tensors, exact ones exactly; how layers start.
#include "tests/nn/goldens.h"

namespace wick {
namespace {

namespace init = nn::init;

struct Moments {
  double mean = 0, std = 0, min = HUGE_VAL, max = -HUGE_VAL, fourth = 0;
};
Moments moments(const Tensor& t) {
  Moments m;
  const std::vector<double> v = t.detach().to(kD).to_vector<double>();
  const auto n = static_cast<double>(v.size());
  for (double x : v) {
    m.mean += x / n;
    m.min = std::min(m.min, x);
    m.max = std::max(m.max, x);
  }
  for (double x : v) m.std += (x - m.mean) * (x - m.mean) / n;
  for (double x : v) m.fourth += std::pow(x - m.mean, 4) / n / (m.std * m.std);
  m.std = std::sqrt(m.std);
  return m;
}
// U(-bound, bound): mean, deviation and both ends.
void expect_uniform(const Tensor& t, double bound) {
  const Moments m = moments(t);
  EXPECT_NEAR(m.mean, 0, 0.01 * bound);
  EXPECT_NEAR(m.std, bound / std::sqrt(3.0), 0.01 * bound);
  EXPECT_NEAR(m.fourth, 1.8, 0.05);
  EXPECT_LE(m.max, bound);
  EXPECT_GE(m.min, -bound);
  EXPECT_GT(m.max, 0.99 * bound);
  EXPECT_LT(m.min, -0.99 * bound);
}
void expect_normal(const Tensor& t, double mean, double std) {
  const Moments m = moments(t);
  EXPECT_NEAR(m.mean, mean, 0.02 * std);
  EXPECT_NEAR(m.std, std, 0.02 * std);
  EXPECT_NEAR(m.fourth, 3, 0.15);
}

TEST(Init, Gains) {
  EXPECT_EQ(init::calculate_gain("linear"), 1);
  EXPECT_EQ(init::calculate_gain("conv_transpose3d"), 1);
  EXPECT_EQ(init::calculate_gain("sigmoid"), 1);
  EXPECT_EQ(init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_EQ(init::calculate_gain("relu"), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain("leaky_relu"), std::sqrt(2 / 1.0001));
  EXPECT_EQ(init::calculate_gain("leaky_relu", 0.2), std::sqrt(2 / 1.04));
  EXPECT_EQ(init::calculate_gain("selu"), 0.75);
  EXPECT_THROW(init::calculate_gain("mish"), Error);
}

TEST(Init, UniformAndNormal) {
  manual_seed(1);
  Tensor t = empty({200, 250});
  expect_uniform(init::uniform_(t, -3, 3), 3);
  expect_normal(init::normal_(t, 2, 0.5), 2, 0.5);
  Tensor w = zeros({3}).requires_grad_();  // a leaf, and no history after
  init::uniform_(w);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_TRUE(w.requires_grad());
  EXPECT_THROW(init::uniform_(t, 1, 0), Error);
  EXPECT_THROW(init::normal_(t, 0, -1), Error);
  EXPECT_THROW(init::normal_(t, std::nan("")), Error);
}

TEST(Init, XavierAndKaiming) {
  manual_seed(2);
  Tensor t = empty({150, 40, 3, 3});  // fan_in 360, fan_out 1350
  expect_uniform(init::xavier_uniform_(t), std::sqrt(6.0 / 1710));
  expect_uniform(init::xavier_uniform_(t, 2), 2 * std::sqrt(6.0 / 1710));
  expect_normal(init::xavier_normal_(t, 5.0 / 3), 0, 5.0 / 3 * std::sqrt(2.0 / 1710));
  expect_uniform(init::kaiming_uniform_(t), std::sqrt(6.0 / 360));
  expect_uniform(init::kaiming_uniform_(t, 0.5, "fan_out"), std::sqrt(6.0 / 1.25 / 1350));
  expect_normal(init::kaiming_normal_(t, 0, "fan_in", "relu"), 0, std::sqrt(2.0 / 360));
  expect_normal(init::kaiming_normal_(t, 0, "fan_out", "tanh"), 0, 5.0 / 3 / std::sqrt(1350.0));
  EXPECT_THROW(init::kaiming_uniform_(t, 0, "fan"), Error);
  Tensor line = empty({4});
  EXPECT_THROW(init::xavier_uniform_(line), Error);
}

TEST(Init, TruncatedNormal) {
  manual_seed(3);
  Tensor t = empty({300, 300}, kD);
  Moments m = moments(init::trunc_normal_(t, 0, 1, -1, 2));
  EXPECT_GE(m.min, -1);
  EXPECT_LE(m.max, 2);
  EXPECT_GT(m.max, 1.99);
  // phi(-1) - phi(2) over the mass between; the textbook's mean and variance.
  const double mass = 0.8185946141, low = 0.2419707245, high = 0.0539909665;
  const double mean = (low - high) / mass;
  EXPECT_NEAR(m.mean, mean, 0.01);
  EXPECT_NEAR(m.std, std::sqrt(1 + (-low - 2 * high) / mass - mean * mean), 0.01);
  m = moments(init::trunc_normal_(t, 5, 0.1));  // the far tail: all of it close below b
  EXPECT_LE(m.max, 2);
  EXPECT_GT(m.min, 1.9);
  EXPECT_NEAR(m.mean, 2 - 0.1 / 30, 1e-4);
  expect_normal(init::trunc_normal_(t, 0, 0.02, -2, 2), 0, 0.02);
  EXPECT_THROW(init::trunc_normal_(t, 0, 1, 2, -2), Error);
  EXPECT_THROW(init::trunc_normal_(t, 0, 0), Error);
}

TEST(Init, Constants) {
  Tensor t = empty({3, 4});
  EXPECT_EQ(moments(init::constant_(t, 2.5)).min, 2.5);
  EXPECT_EQ(moments(init::ones_(t)).max, 1);
  EXPECT_EQ(moments(init::zeros_(t)).max, 0);
  EXPECT_TRUE(equal(init::eye_(t), eye(3, 4)));
  // A convolution that passes its channels on, in each group.
  nn::Conv2d conv(4, 4, 3, {.padding = 1, .groups = 2, .bias = false});
  init::dirac_(conv.weight, 2);
  Tensor x = rand({1, 4, 5, 5});
  EXPECT_TRUE(equal(conv(x), x));
  Tensor even = empty({2, 3, 4});
  init::dirac_(even);
  EXPECT_EQ(sum(even).item(), 2);
  EXPECT_EQ(even.index({1, 1, 2}).item(), 1);
  EXPECT_THROW(init::dirac_(t), Error);
  EXPECT_THROW(init::eye_(even), Error);
}

TEST(Init, OrthogonalIsExact) {
  manual_seed(5);
  for (const Shape& s : {Shape{40, 40}, Shape{64, 20}, Shape{10, 6, 3, 3}}) {
    Tensor t = init::orthogonal_(empty(s, kD), 1.5).reshape({s[0], -1});
    Tensor gram = s[0] <= t.size(1) ? matmul(t, t.t()) : matmul(t.t(), t);
    Tensor off = abs(gram / 2.25 - identity(gram.size(0), kD));
    EXPECT_LE(max(off).item(), 1e-12) << to_text(s).text;
  }
  // Uniform among the orthogonal matrices: no preferred sign.
  double trace_sum = 0;
  for (int i = 0; i < 400; ++i) trace_sum += trace(init::orthogonal_(empty({3, 3}, kD))).item();
  EXPECT_NEAR(trace_sum / 400, 0, 0.2);
  Tensor line = empty({4});
  EXPECT_THROW(init::orthogonal_(line), Error);
}

TEST(Init, SparseColumns) {
  manual_seed(6);
  Tensor t = init::sparse_(empty({50, 400}), 0.31, 0.1);
  const std::vector<int64_t> zeros = sum(eq(t, 0).to(DType::kI64), {0}).to_vector<int64_t>();
  for (int64_t z : zeros) EXPECT_EQ(z, 16);  // 15.5, rounded up
  EXPECT_NEAR(moments(t).std, 0.1 * std::sqrt(34.0 / 50), 0.005);
  EXPECT_GT(moments(sum(eq(t, 0).to(kD), {1})).std, 0);  // not the same rows everywhere
  EXPECT_THROW(init::sparse_(t, 1.5), Error);
}

TEST(Init, SeedDecides) {
  Tensor a = empty({64}), b = empty({64});
  manual_seed(9);
  init::trunc_normal_(a);
  set_num_threads(2);
  manual_seed(9);
  init::trunc_normal_(b);
  set_num_threads(1);
  EXPECT_TRUE(equal(a, b));
}

// PyTorch's defaults: U(+-1/sqrt(fan_in)) for weights and biases.
TEST(Init, LayersStartAsPyTorchs) {
  manual_seed(7);
  nn::Linear fc(400, 3000);
  expect_uniform(fc.weight, 0.05);
  expect_uniform(fc.bias, 0.05);
  nn::Conv2d conv(16, 300, {3, 4}, {.groups = 4});  // fan_in 4 * 12
  expect_uniform(conv.weight, 1 / std::sqrt(48.0));
  nn::ConvTranspose2d up(300, 32, 3, {.groups = 4});  // as PyTorch counts: 32 / 4 * 9
  expect_uniform(up.weight, 1 / std::sqrt(72.0));
  nn::Bilinear both(100, 20, 30);
  expect_uniform(both.weight, 0.1);
  nn::BatchNorm2d bn(5);
  EXPECT_EQ(moments(bn.weight).min, 1);
  EXPECT_EQ(moments(bn.bias).max, 0);
  EXPECT_EQ(moments(bn.running_var).min, 1);
  EXPECT_EQ(nn::PReLU(3).weight.to_vector<float>(), (std::vector<float>{.25F, .25F, .25F}));
}

}  // namespace
}  // namespace wick
