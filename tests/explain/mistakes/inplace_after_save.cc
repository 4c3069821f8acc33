// h is needed for the gradient of h * h, and is changed before backward.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  Tensor w = ones({2, 3}).named("w").requires_grad_();
  Tensor h = (w * 2.0).named("h");
  Tensor squares = h * h;
  h.add_(ones({2, 3}));
  squares.sum().backward();
  return 0;
}
