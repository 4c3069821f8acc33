// Gradient checkpointing: a deep net in segments, of which only the ends are saved; backward runs
// each segment again. Peak bytes fall to about two square roots of the depth, for one more forward.
// Bytes are exact; seconds, which depend on the machine, go to stderr.
#include <wick/trainer.h>

#include <chrono>
#include <cstdio>

using namespace wick;  // NOLINT: an example

constexpr int kLayers = 64;
constexpr int64_t kRows = 1024, kWidth = 32;
constexpr double kActivation = kRows * kWidth * 4;

struct Step {
  double activations, seconds;
  std::vector<std::vector<float>> gradients;
};

static Step run(const std::vector<std::function<Tensor(const Tensor&)>>& layers,
                const std::vector<Tensor>& weights, const Tensor& x, size_t segments) {
  for (const Tensor& w : weights) w.set_grad(Tensor());
  size_t before = live_bytes();
  reset_peak_bytes();
  auto begin = std::chrono::steady_clock::now();
  Tensor h = x;
  if (segments == 0) {
    for (const auto& f : layers) h = f(h);
  } else {
    h = checkpoint_sequential(layers, segments, x);
  }
  sum(h).backward();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Step step{static_cast<double>(peak_bytes() - before) / kActivation, took.count(), {}};
  for (const Tensor& w : weights) step.gradients.push_back(w.grad().to_vector<float>());
  return step;
}

int main() {
  manual_seed(3);
  std::vector<Tensor> weights;
  std::vector<std::function<Tensor(const Tensor&)>> layers;
  for (int i = 0; i < kLayers; ++i) {
    Tensor w = (randn({kWidth, kWidth}) * 0.2).detach().requires_grad_();
    weights.push_back(w);
    layers.emplace_back([w](const Tensor& x) { return tanh(matmul(x, w)); });
  }
  Tensor x = randn({kRows, kWidth});
  run(layers, weights, x, 0);  // the first one warms up

  Step plain = run(layers, weights, x, 0);
  std::printf("%d layers, %.0f bytes an activation\n", kLayers, kActivation);
  std::printf("segments  peak, in activations  same gradients\n");
  std::printf("    none  %20.1f\n", plain.activations);
  std::fprintf(stderr, "segments  seconds  times the plain step's\n    none  %7.4f\n",
               plain.seconds);
  double least = plain.activations;
  bool same = true;
  for (size_t segments : {1, 2, 4, 8, 16, 32, 64}) {
    Step step = run(layers, weights, x, segments);
    bool equal = step.gradients == plain.gradients;
    same = same && equal;
    least = std::min(least, step.activations);
    std::printf("%8zu  %20.1f  %14s\n", segments, step.activations, equal ? "to the bit" : "NO");
    std::fprintf(stderr, "%8zu  %7.4f  %.2f\n", segments, step.seconds,
                 step.seconds / plain.seconds);
  }
  return same && least < plain.activations / 3 ? 0 : 1;
}
