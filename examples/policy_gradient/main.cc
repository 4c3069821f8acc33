// REINFORCE (Williams, 1992): a policy learns which of four levers pays best from the payments
// alone. A draw from a categorical distribution has no gradient; the logarithm of its probability,
// times what it earned above the average, has the gradient of the mean payment.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;                 // NOLINT: an example
using namespace wick::distributions;  // NOLINT

int main() {
  manual_seed(1);
  const Tensor pays = tensor({1.0, 2.0, 4.0, 3.0});  // on average; each payment is off by N(0, 1)
  const Tensor logits = zeros({4}).requires_grad_();
  optim::Adam adam({logits}, {.lr = 0.05});
  for (int step = 0; step <= 200; ++step) {
    const Categorical policy = Categorical::from_logits(logits);
    const Tensor lever = policy.sample({64});
    const Tensor paid = index_select(pays, 0, lever) + Normal(0, 1).sample({64});
    const Tensor loss = neg(mean(policy.log_prob(lever) * (paid - mean(paid))));
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 100 == 0) {
      std::printf("step %3d: lever 2 with probability %.2f, entropy %.2f\n", step,
                  policy.probs().index({2}).item(), policy.entropy().item());
    }
  }
}
