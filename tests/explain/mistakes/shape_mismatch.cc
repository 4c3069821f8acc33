// The images are flattened to 784 numbers, the first layer expects 768.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

namespace {
struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 768, 10};
  Tensor forward(const Arg& x) override { return fc1(x.tensor.flatten(1)); }
};
}  // namespace

int main() {
  Net net;
  Tensor images = zeros({16, 1, 28, 28});
  Tensor logits = net(images);
  cross_entropy(logits, zeros({16}, DType::kI64)).backward();
  return 0;
}
