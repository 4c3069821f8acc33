// 1986: hidden layers learn by backpropagation. 64-32-10 on TinyDigits (1000 images of 8x8), with
// SGD and with Adam, which gets much further in the same steps. The twin has random labels.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

template <class Optimizer, class Options>
double train(nn::Module& net, Options options, const std::shared_ptr<const data::Dataset>& digits,
             int epochs, uint64_t seed) {
  Optimizer optimizer(net.parameters(), options);
  data::DataLoader loader(digits, {.batch_size = 32, .shuffle = true, .seed = seed});
  double last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (data::Batch& b : loader) {
      Tensor loss = cross_entropy(net(b[0]), b[1]);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      last = loss.item();
    }
  }
  return last;
}

nn::Sequential mlp() {
  return nn::Sequential(nn::Flatten(), nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10));
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("mlp_digits", argc, argv, [](const milestone::Options& o) {
    const data::ImageData digits = milestone::open_images("tinydigits");
    std::shared_ptr<const data::Dataset> images = digits.train;
    if (o.broken()) images = std::make_shared<milestone::RandomLabels>(images, 10);
    nn::Sequential by_sgd = mlp(), by_adam = mlp();
    train<optim::SGD>(by_sgd, optim::SgdOptions{.lr = 0.01}, images, 20, o.seed);
    train<optim::Adam>(by_adam, optim::AdamOptions{.lr = 0.01}, images, 20, o.seed);
    return milestone::Result{{{"SGD: accuracy", milestone::accuracy(by_sgd, digits.test), 0.85},
                              {"Adam: accuracy", milestone::accuracy(by_adam, digits.test), 0.94}},
                             by_adam.state_dict()};
  });
}
