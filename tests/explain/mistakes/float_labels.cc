// Class labels that were read as floats.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  nn::Linear net(3, 5);
  Tensor x = rand({4, 3});
  Tensor labels = tensor({0.F, 3.F, 1.F, 4.F});
  cross_entropy(net(x), labels).backward();
  return 0;
}
