// Trains with int8 using <wick/quantize.h> and Wick::quantize alone: prints the loss before and
// after.
#include <cstdio>

#include "wick/quantize.h"
#include "wick/trainer.h"

using namespace wick;

int main() {
  manual_seed(1);
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 1));
  net.eval();
  quantize::QatModule small(capture(net, {{"x", zeros({4, 8}), {{0, "batch"}}, {}}}));
  const Tensor x = randn({64, 8}), y = sum(x, {1}, true);
  optim::Adam adam(small.parameters(), {.lr = 0.01});
  float first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    small.train();
    adam.zero_grad();
    const Tensor loss = mse_loss(small(x), y);
    loss.backward();
    adam.step();
    last = static_cast<float>(loss.item());
    if (step == 0) first = last;
  }
  small.freeze();
  const float error = static_cast<float>(mse_loss(small(x), y).item());
  std::printf("%.4f -> %.4f, as integers %.4f\n", static_cast<double>(first),
              static_cast<double>(last), static_cast<double>(error));
  return last < first / 2 && error < first / 2 ? 0 : 1;
}
