// Gradient checkpointing: bit-equal gradients, the random numbers of the first run, memory.
#include <gtest/gtest.h>

#include "trainer/tensor/storage.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;
using Layer = std::function<Tensor(const Tensor&)>;

std::vector<Tensor> weights(int n, int64_t width) {
  manual_seed(3);
  std::vector<Tensor> w;
  for (int i = 0; i < n; ++i) w.push_back((randn({width, width}) * 0.2).detach().requires_grad_());
  return w;
}
std::vector<Layer> layers(const std::vector<Tensor>& w, double p = 0) {
  std::vector<Layer> list;
  for (const Tensor& t : w) {
    list.push_back([t, p](const Tensor& x) { return dropout(tanh(matmul(x, t)), p, true); });
  }
  return list;
}
Tensor run_all(const std::vector<Layer>& list, Tensor x) {
  for (const Layer& f : list) x = f(x);
  return x;
}
std::vector<Floats> gradients(const std::vector<Tensor>& w) {
  std::vector<Floats> all;
  for (const Tensor& t : w) {
    all.push_back(t.grad().to_vector<float>());
    t.set_grad(Tensor());
  }
  return all;
}

TEST(GradCheckpoint, GradientsAreThePlainRunsBits) {
  std::vector<Tensor> w = weights(6, 8);
  Tensor x = randn({4, 8}).requires_grad_();
  w.push_back(x);
  auto f = layers({w.begin(), w.end() - 1}, 0.3);  // dropout: the random numbers are restored
  manual_seed(11);
  Tensor plain = run_all(f, x);
  Tensor after_plain = rand({2});
  sum(plain * plain).backward();
  std::vector<Floats> expected = gradients(w);
  manual_seed(11);
  Tensor y = checkpoint([&](const Tensor& h) { return run_all(f, h); }, x);
  EXPECT_EQ(y.to_vector<float>(), plain.to_vector<float>());
  EXPECT_EQ(rand({2}).to_vector<float>(), after_plain.to_vector<float>());
  sum(y * y).backward();
  EXPECT_EQ(gradients(w), expected);  // parameters are captured by the closure
  manual_seed(11);
  Tensor z = checkpoint_sequential(f, 3, x);
  sum(z * z).backward();
  EXPECT_EQ(gradients(w), expected);
  EXPECT_EQ(default_generator().stream, 6u);  // the second run left it as it was
}

TEST(GradCheckpoint, Nests) {
  std::vector<Tensor> w = weights(4, 6);
  auto f = layers(w, 0.2);
  Tensor x = randn({3, 6});
  manual_seed(5);
  sum(run_all(f, x)).backward();
  std::vector<Floats> expected = gradients(w);
  manual_seed(5);
  Tensor y = checkpoint(
      [&](const Tensor& a) {
        Tensor h = f[0](a);
        h = checkpoint([&](const Tensor& b) { return checkpoint(f[2], f[1](b)); }, h);
        return f[3](h);
      },
      x);
  sum(y).backward();
  EXPECT_EQ(gradients(w), expected);
}

TEST(GradCheckpoint, HigherOrdersAndChosenInputs) {
  Tensor x = tensor({0.3, -0.8}, DType::kF64).requires_grad_();
  auto f = [](const Tensor& t) { return sin(t * t) * exp(t); };
  Tensor d = grad({sum(f(x))}, {x}, {}, false, true)[0];
  Tensor d2 = grad({sum(d)}, {x})[0];
  Tensor c = grad({sum(checkpoint(f, x))}, {x}, {}, false, true)[0];
  Tensor c2 = grad({sum(c)}, {x})[0];
  EXPECT_EQ(c.to_vector<double>(), d.to_vector<double>());
  EXPECT_EQ(c2.to_vector<double>(), d2.to_vector<double>());
}

TEST(GradCheckpoint, InputsWrittenSinceAndOtherWorkAreFound) {
  Tensor x = ones({2}).requires_grad_(), h = x * 2;
  Tensor y = checkpoint([](const Tensor& t) { return sin(t) * t; }, h);
  {
    NoGrad guard;
    h.add_(1);
  }
  EXPECT_THROW(sum(y).backward(), Error);
  int calls = 0;
  Tensor z = checkpoint([&](const Tensor& t) { return calls++ == 0 ? sin(t) : sin(sin(t)); }, x);
  EXPECT_THROW(sum(z).backward(), Error);
  EXPECT_FALSE(x.grad().defined());
}

TEST(GradCheckpoint, PeakBytesGrowWithTheSquareRoot) {
  constexpr int kLayers = 64;
  constexpr int64_t kRows = 512, kWidth = 8;
  constexpr size_t kActivation = kRows * kWidth * 4;
  std::vector<Tensor> w = weights(kLayers, kWidth);
  auto f = layers(w);
  Tensor x = randn({kRows, kWidth});
  auto peak = [&](size_t segments) {
    for (const Tensor& t : w) t.set_grad(Tensor());
    size_t before = live_bytes();
    reset_peak_bytes();
    Tensor loss = sum(segments == 0 ? run_all(f, x) : checkpoint_sequential(f, segments, x));
    loss.backward();
    return (peak_bytes() - before) / kActivation;
  };
  size_t plain = peak(0), with = peak(8);
  printf("peak activations of a %d-layer step: %zu, with 8 checkpoints %zu\n", kLayers, plain,
         with);
  EXPECT_GE(plain, size_t{kLayers});
  EXPECT_LE(with, size_t{8 + 2 * 8 + 8});
}

}  // namespace
}  // namespace wick
