// A probability that underflows to 0, and its logarithm.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

namespace {
struct Net : nn::Module {
  struct Head : nn::Module {
    Tensor forward(const Arg& x) override { return log(softmax(x, 1)); }
  };
  nn::Child<Head> head{this, "head"};
  Tensor forward(const Arg& x) override { return head(x * 1000.0); }
};
}  // namespace

int main() {
  AnomalyMode guard;
  Net net;
  Tensor logits = tensor({{1.F, 2.F}, {0.5F, 0.5F}}).named("logits").requires_grad_();
  Tensor loss = nll_loss(net(logits), tensor<int64_t>({0, 1}));
  loss.backward();
  return 0;
}
