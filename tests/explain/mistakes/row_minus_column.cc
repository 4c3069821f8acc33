// An own loss: the difference of [N, 1] and [N] is [N, N], and its mean hides it.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  BroadcastCheck check;
  nn::Linear net(3, 1);
  Tensor x = rand({8, 3});
  Tensor y = sum(x, {1}).named("y");
  Tensor error = net(x) - y;
  (error * error).mean().backward();
  return 0;
}
