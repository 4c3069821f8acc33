// Labels [N, 1] against predictions [N]: the accuracy counts all pairs.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  BroadcastCheck check;
  Tensor logits = rand({6, 3});
  Tensor labels = zeros({6, 1}, DType::kI64).named("labels");
  Tensor predicted = argmax(logits, 1).named("predicted");
  Tensor right = eq(predicted, labels);
  return 0;
}
