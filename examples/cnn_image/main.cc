// Images, with what made deep networks trainable: batch norm, shortcuts, flipped (photos: also
// shifted) images, a one-cycle schedule. A small ResNet on Fashion-MNIST; on CIFAR-10 if --data is
// the folder of its binary files. Its twin trains on images that are upside down, as a faulty
// reader would give them.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example
namespace tf = data::transforms;

namespace {

nn::Conv2dOptions plain(int64_t stride) {
  nn::Conv2dOptions o;
  o.stride = stride, o.padding = 1, o.bias = false;
  return o;
}

// Two convolutions with a shortcut, which is a 1x1 convolution if the shape changes.
struct Block : nn::Module {
  Block(int64_t in, int64_t out, int64_t stride)
      : conv1(this, "conv1", in, out, 3, plain(stride)),
        bn1(this, "bn1", out),
        conv2(this, "conv2", out, out, 3, plain(1)),
        bn2(this, "bn2", out) {
    if (in == out && stride == 1) return;
    nn::Conv2dOptions o;
    o.stride = stride, o.bias = false;
    shortcut = std::make_shared<nn::Sequential>(nn::Conv2d(in, out, 1, o), nn::BatchNorm2d(out));
    register_module("shortcut", shortcut);
  }
  Tensor forward(const Arg& x) override {
    Tensor h = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(h + (shortcut ? (*shortcut)(x) : x.tensor));
  }

  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  std::shared_ptr<nn::Sequential> shortcut;
};

std::shared_ptr<nn::Sequential> resnet(int64_t channels, int64_t width) {
  return std::make_shared<nn::Sequential>(
      nn::Conv2d(channels, width, 3, plain(1)), nn::BatchNorm2d(width), nn::ReLU(),
      Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2),
      nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(4 * width, 10));
}

struct Images {
  std::shared_ptr<const data::Dataset> train, test;
  int64_t channels, size;
};

Images open(const milestone::Options& o) {
  if (o.data.empty() || o.data == "mnist") {
    data::ImageData d = milestone::open_images(o.data.empty() ? "fashion-mnist" : o.data);
    return {d.train, d.test, 1, d.height};
  }
  tf::Compose scale{tf::ToTensor(), tf::Normalize({.4914, .4822, .4465}, {.247, .2435, .2616})};
  auto part = [&](bool train) {
    return std::make_shared<data::TransformedDataset>(
        data::open_cifar(o.data, data::Cifar::k10, train), scale);
  };
  return {part(true), part(false), 3, 32};
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("cnn_image", argc, argv, [](const milestone::Options& o) {
    Images images = open(o);
    if (o.short_form) {
      images.train = milestone::head(images.train, 3000);
      images.test = milestone::head(images.test, 1000);
    }
    // Clothes are centered: flips vary them, shifts only slow down the learning.
    const bool photos = images.channels == 3;
    tf::Compose vary{tf::RandomCrop(images.size, photos ? 4 : 0), tf::RandomHorizontalFlip()};
    tf::Compose wrong{tf::RandomVerticalFlip(1.0), tf::RandomHorizontalFlip()};
    auto varied = std::make_shared<data::TransformedDataset>(
        images.train, o.broken() ? data::Transform(wrong) : data::Transform(vary), o.seed);
    data::DataLoader loader(varied, {.batch_size = o.short_form ? 32 : 128,
                                     .shuffle = true,
                                     .seed = o.seed,
                                     .drop_last = true,
                                     .workers = 1});

    auto net = resnet(images.channels, o.short_form ? 8 : 16);
    const int64_t epochs = o.short_form ? 2 : 15;
    optim::SGD sgd(net->parameters(),
                   {.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true});
    optim::OneCycleOptions cycle;
    cycle.epochs = epochs, cycle.steps_per_epoch = loader.batches();
    cycle.cycle_momentum = false;
    optim::OneCycleLR schedule(sgd, 0.1, cycle);
    double accuracy = 0;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      double sum = 0;
      for (data::Batch& b : loader) {
        Tensor loss = cross_entropy((*net)(b[0]), b[1]);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        if (schedule.last_step() + 1 < epochs * loader.batches()) schedule.step();
        sum += loss.item();
      }
      accuracy = milestone::accuracy(*net, images.test);
      std::fprintf(stderr, "epoch %2ld  loss %.4f  accuracy %.4f\n", epoch + 1,
                   sum / static_cast<double>(loader.batches()), accuracy);
    }
    const double gate = o.short_form ? 0.70 : photos ? 0.75 : 0.925;
    return milestone::Result{{{"accuracy", accuracy, gate}}, net->state_dict()};
  });
}
