// The net of examples/in_action: 8-16-32-16-8-1, tanh, six rows, SGD with momentum.
#include <gtest/gtest.h>

#include "wick/trainer.h"

namespace wick {
namespace {

struct Loss {
  int epoch;
  double value;
};
constexpr Loss kPyTorch[] = {
    // make_in_action.py
    {1, 2.4554762763441465e-01},   {100, 6.7149162427118256e-02}, {200, 3.3324900186879246e-02},
    {300, 3.8672603509894637e-04}, {400, 4.2080468976409511e-06}, {500, 4.8971453582781032e-08},
};

Tensor number(const Shape& shape, int64_t seed, double scale) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  Tensor i = arange(n);
  return ((remainder(i * 37 + seed * 23, 101) - 50).to(DType::kF64) / 64 * scale).view(shape);
}

nn::Sequential make_net() {
  return nn::Sequential(nn::Linear(8, 16), nn::Tanh(), nn::Linear(16, 32), nn::Tanh(),
                        nn::Linear(32, 16), nn::Tanh(), nn::Linear(16, 8), nn::Tanh(),
                        nn::Linear(8, 1), nn::Tanh());
}

// f(epoch, loss) of 500 epochs.
template <class F>
void train(nn::Sequential& net, const Tensor& x, const Tensor& y, F f) {
  optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.1});
  for (int epoch = 1; epoch <= 500; ++epoch) {
    sgd.zero_grad();
    Tensor loss = mse_loss(net(x), y);
    loss.backward();
    sgd.step();
    f(epoch, loss.item());
  }
}

TEST(InAction, EveryLossIsPyTorchs) {
  nn::Sequential net = make_net();
  net.to(DType::kF64);
  int64_t count = 0, seed = 0;
  {
    NoGrad guard;
    for (const Tensor& p : net.parameters()) {
      p.copy_(number(p.raw_shape(), seed, p.rank() == 2 ? 0.75 : 0.25));
      count += p.numel();
      ++seed;
    }
  }
  EXPECT_EQ(count, 1361);
  const Loss* next = kPyTorch;
  train(net, number({6, 8}, 20, 1), number({6, 1}, 21, 1), [&](int epoch, double loss) {
    if (next == std::end(kPyTorch) || epoch != next->epoch) return;
    EXPECT_NEAR(loss / next->value, 1, 1e-9) << "epoch " << epoch;
    ++next;
  });
  EXPECT_EQ(next, std::end(kPyTorch));
}

TEST(InAction, SixRowsByHeart) {
  manual_seed(23);
  Tensor x = randn({6, 8}), y = uniform({6, 1}, -0.8, 0.8);
  nn::Sequential net = make_net();
  double last = 1;
  train(net, x, y, [&](int, double loss) { last = loss; });
  EXPECT_LT(last, 1e-6);
}

}  // namespace
}  // namespace wick
