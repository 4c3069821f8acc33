// The state of optimizers between steps: none for SGD, as much as the parameters with momentum,
// twice that for Adam.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;  // NOLINT: an example

template <class Optimizer, class Options>
static void measure(const char* name, Options options) {
  manual_seed(0);
  nn::Linear layer(1000, 250);
  size_t parameters = 0;
  for (const Tensor& p : layer.parameters()) parameters += p.raw().nbytes();
  Optimizer optimizer(layer.parameters(), options);
  sum(layer(ones({1, 1000}))).backward();
  size_t before = live_bytes();
  optimizer.step();  // the first step allocates the state
  size_t state = live_bytes() - before;
  std::printf("%-14s parameters %zu bytes, state %7zu bytes = %.0f x\n", name, parameters, state,
              static_cast<double>(state) / static_cast<double>(parameters));
  std::printf("  memory_footprint(): %s\n", optimizer.memory_footprint().text().c_str());
}

int main() {
  measure<optim::SGD>("SGD", optim::SgdOptions{});
  measure<optim::SGD>("SGD momentum", optim::SgdOptions{.momentum = 0.9});
  measure<optim::Adam>("Adam", optim::AdamOptions{});
  measure<optim::AdamW>("AdamW", optim::AdamWOptions{});
}
