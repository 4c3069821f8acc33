// 784-128-64-10 on MNIST with Adam, five epochs; on Fashion-MNIST with --data fashion-mnist, and in
// the short form where MNIST is not there. The twin omits zero_grad, so that the gradients of all
// steps are summed.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  return milestone::run("mlp_mnist", argc, argv, [](const milestone::Options& o) {
    const std::string name = milestone::mnist(o);
    const data::ImageData images = milestone::open_images(name);
    std::shared_ptr<const data::Dataset> train = images.train;
    if (o.short_form) train = milestone::head(train, 6000);
    nn::Sequential net(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 64),
                       nn::ReLU(), nn::Linear(64, 10));
    const int64_t epochs = o.short_form ? 2 : 5;
    data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .seed = o.seed});
    optim::Adam adam(net.parameters(), {.lr = 2e-3});
    optim::CosineAnnealingLR schedule(adam, epochs * loader.batches());
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      for (data::Batch& b : loader) {
        Tensor loss = cross_entropy(net(b[0]), b[1]);
        if (!o.broken()) adam.zero_grad();
        loss.backward();
        adam.step();
        schedule.step();
      }
      std::fprintf(stderr, "epoch %ld  accuracy %.4f\n", epoch + 1,
                   milestone::accuracy(net, images.test));
    }
    const double gate =
        name == "fashion-mnist" ? (o.short_form ? 0.78 : 0.87) : (o.short_form ? 0.90 : 0.97);
    return milestone::Result{{{"accuracy", milestone::accuracy(net, images.test), gate}},
                             net.state_dict()};
  });
}
