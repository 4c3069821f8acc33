// The installed trainer: computes a gradient through the public header.
#include "wick/trainer.h"

int main() {
  wick::Tensor x = wick::tensor({3.0f, -2.0f});
  x.requires_grad_();
  wick::sum(x * x).backward();
  wick::Tensor g = x.grad();
  return g.data<float>()[0] == 6.0f && g.data<float>()[1] == -4.0f ? 0 : 1;
}
