#include <cstdio>

#include "wick/compile.h"
#include "wick/trainer.h"

using namespace wick;

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
  nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
  Tensor forward(const Arg& x) override { return fc2(relu(fc1(x.tensor.flatten(1)))); }
};

int main() {
  data::ImageData images = data::open_images("fashion-mnist");
  data::DataLoader train(images.train, {.batch_size = 64, .shuffle = true});
  data::DataLoader test(images.test, {.batch_size = 250});
  Net net;
  optim::Adam adam(net.parameters());
  loop::Trainer trainer(net, adam, [](auto& y, auto& target) { return cross_entropy(y, target); });
  loop::FitOptions options;
  options.progress = stderr;
  loop::FitResult result = trainer.fit(train, &test, options);
  std::printf("test accuracy %.1f %%\n", 100 * result.validation.accuracy);
  net.eval();
  export_wick(capture(net, {{"image", zeros({1, 1, 28, 28}), {{0, "batch"}}, {}}}), "net.wick");
}
