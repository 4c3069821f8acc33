// The running sum of the losses is a tensor: one graph that grows with every step.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  nn::Linear net(4, 1);
  optim::SGD opt(net.parameters(), {.lr = 0.01});
  Tensor x = rand({32, 4}), y = rand({32, 1});
  Tensor total = zeros({});
  for (int step = 0; step < 50; ++step) {
    opt.zero_grad();
    Tensor loss = mse_loss(net(x), y);
    loss.backward(Tensor(), /*retain_graph=*/true);
    opt.step();
    total = total + loss;
  }
  return 0;
}
