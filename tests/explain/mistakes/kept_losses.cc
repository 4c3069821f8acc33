// The losses are kept as tensors to average them later; each keeps its whole graph.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  nn::Sequential net(nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 1));
  optim::SGD opt(net.parameters(), {.lr = 0.01});
  Tensor x = rand({32, 4}), y = rand({32, 1});
  std::vector<Tensor> validation_losses;
  for (int step = 0; step < 50; ++step) {
    opt.zero_grad();
    mse_loss(net(x), y).backward();
    opt.step();
    validation_losses.push_back(mse_loss(net(x), y));
  }
  return 0;
}
