// 1957, the perceptron: one neuron separates two clouds of points. Its twin goes uphill instead.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  return milestone::run("perceptron", argc, argv, [](const milestone::Options& o) {
    auto cloud = [](int64_t n, double at) { return randn({n, 2}) * 0.7 + at; };
    auto points = [&](int64_t n) { return cat({cloud(n, 1), cloud(n, -1)}); };
    auto labels = [](int64_t n) { return cat({ones({n, 1}), zeros({n, 1})}); };
    Tensor x = points(100), y = labels(100), x_test = points(500), y_test = labels(500);

    nn::Sequential neuron(nn::Linear(2, 1), nn::Sigmoid());
    optim::SGD sgd(neuron.parameters(), {.lr = 0.1, .maximize = o.broken()});
    for (int epoch = 0; epoch < 100; ++epoch) {
      Tensor loss = binary_cross_entropy(neuron(x), y);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    NoGrad guard;
    const double right = mean(eq(round(neuron(x_test)), y_test).to(DType::kF32)).item();
    return milestone::Result{{{"accuracy", right, 0.95}}, neuron.state_dict()};
  });
}
