// 1998: convolutions on MNIST. Three epochs of SGD with momentum and a cosine schedule; on
// Fashion-MNIST with --data fashion-mnist, and in the short form where MNIST is not there. The
// twin's images have the labels of their neighbours.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  return milestone::run("lenet_mnist", argc, argv, [](const milestone::Options& o) {
    const std::string name = milestone::mnist(o);
    const data::ImageData images = milestone::open_images(name);
    std::shared_ptr<const data::Dataset> train = images.train, test = images.test;
    if (o.short_form) train = milestone::head(train, 2000), test = milestone::head(test, 1000);
    auto net = nn::lenet();
    const int64_t epochs = o.short_form ? 2 : 3;
    data::DataLoader loader(
        train, {.batch_size = o.short_form ? 32 : 64, .shuffle = true, .seed = o.seed});
    const int64_t steps = epochs * loader.batches();
    optim::SGD sgd(net->parameters(),
                   {.lr = 0.05, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true});
    optim::CosineAnnealingLR schedule(sgd, steps, 0, steps / 12);
    double accuracy = 0;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      for (data::Batch& b : loader) {
        Tensor label = o.broken() ? roll(b[1], {1}, {0}) : b[1];
        Tensor loss = cross_entropy((*net)(b[0]), label);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        schedule.step();
      }
      accuracy = milestone::accuracy(*net, test);
      std::fprintf(stderr, "epoch %ld  accuracy %.4f\n", epoch + 1, accuracy);
    }
    const double gate =
        name == "fashion-mnist" ? (o.short_form ? 0.75 : 0.87) : (o.short_form ? 0.90 : 0.988);
    return milestone::Result{{{"accuracy", accuracy, gate}}, net->state_dict()};
  });
}
