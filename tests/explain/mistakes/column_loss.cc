// The model answers [N, 1], the targets are [N]: the loss compares all with all.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  nn::Linear net(3, 1);
  Tensor x = rand({8, 3});
  Tensor y = sum(x, {1});
  mse_loss(net(x), y).backward();
  return 0;
}
