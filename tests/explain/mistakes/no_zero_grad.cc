// The gradients are never cleared, so every step also applies all earlier ones.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

namespace {
struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 2, 8};
  nn::Child<nn::Linear> fc2{this, "fc2", 8, 1};
  Tensor forward(const Arg& x) override { return fc2(tanh(fc1(x))); }
};
}  // namespace

int main() {
  manual_seed(1);
  Net net;
  optim::SGD opt(net.parameters(), {.lr = 0.1});
  Tensor x = rand({16, 2}), y = sum(x, {1}, true);
  for (int step = 0; step < 10; ++step) {
    mse_loss(net(x), y).backward();
    opt.step();
  }
  return 0;
}
