// Times a step of each optimizer per element: optim_bench [threads]. The parameters are float32,
// those of an MLP of 535,818, and a thousand small ones; a copy's bytes per second are shown, too.
// The best of 60 steps counts.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "wick/trainer.h"

namespace {

using namespace wick;  // NOLINT: a bench

template <class F>
double best_seconds(const F& f) {
  double best = 1e30;
  for (int round = 0; round < 60; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count());
  }
  return best;
}

// `bytes` are those that an element's update reads and writes.
template <class Opt, class O>
void measure(const char* name, const O& options, const std::vector<Shape>& shapes, int bytes) {
  std::vector<Tensor> params;
  double n = 0;
  for (const Shape& shape : shapes) {
    params.push_back(full(shape, 0.5f));
    params.back().requires_grad_();
    params.back().set_grad(full(shape, 0.01f));
    n += static_cast<double>(numel(shape));
  }
  Opt optimizer(params, options);
  const double s = best_seconds([&] { optimizer.step(); });
  std::printf("%-22s %8.1f us  %6.3f ns/element  %5.1f GB/s\n", name, s * 1e6, s * 1e9 / n,
              n * bytes / s / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const std::vector<Shape> mlp = {{512, 784}, {512}, {256, 512}, {256}, {10, 256}, {10}};
  const std::vector<Shape> small(1000, Shape{64});
  measure<optim::SGD>("SGD", optim::SgdOptions{}, mlp, 12);
  measure<optim::SGD>("SGD momentum", optim::SgdOptions{.momentum = 0.9}, mlp, 20);
  measure<optim::Adam>("Adam", optim::AdamOptions{}, mlp, 28);
  measure<optim::AdamW>("AdamW", optim::AdamWOptions{}, mlp, 28);
  measure<optim::NAdam>("NAdam", optim::NAdamOptions{}, mlp, 28);
  measure<optim::RAdam>("RAdam", optim::RAdamOptions{}, mlp, 28);
  measure<optim::Adamax>("Adamax", optim::AdamaxOptions{}, mlp, 28);
  measure<optim::Adagrad>("Adagrad", optim::AdagradOptions{}, mlp, 20);
  measure<optim::Adadelta>("Adadelta", optim::AdadeltaOptions{}, mlp, 28);
  measure<optim::RMSprop>("RMSprop", optim::RMSpropOptions{}, mlp, 20);
  measure<optim::Rprop>("Rprop", optim::RpropOptions{}, mlp, 28);
  measure<optim::ASGD>("ASGD", optim::AsgdOptions{}, mlp, 20);
  measure<optim::Lion>("Lion", optim::LionOptions{}, mlp, 20);
  measure<optim::Adam>("Adam, 1000 of 64", optim::AdamOptions{}, small, 28);
  std::vector<float> from(1 << 20, 1.0f), to(1 << 20);
  const double s = best_seconds([&] { std::memcpy(to.data(), from.data(), to.size() * 4); });
  std::printf("%-22s %8.1f us  %26.1f GB/s\n", "copy of 4 MiB", s * 1e6, 8.0 * 1048576 / s / 1e9);
  return 0;
}
