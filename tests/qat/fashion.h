// LeNet and ResNet-8, trained for a moment on Fashion-MNIST with the rounding in place.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/capture/capture.h"
#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/trainer.h"

namespace wick::test {

inline std::optional<data::ImageData> fashion_mnist() {
  try {
    return data::open_images("fashion-mnist");
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    return std::nullopt;
  }
}

// Images as they lie in the file: [count, 1, height, width]. The normalisation is in the graph.
inline Tensor image_bytes(const data::ImageDataset& set, int64_t from, int64_t count) {
  const data::HostArray& all = set.images();
  const int64_t area = all.shape[1] * all.shape[2];
  Tensor x = empty({count, 1, all.shape[1], all.shape[2]}, DType::kU8);
  std::memcpy(x.raw().data, all.as<uint8_t>() + from * area, static_cast<size_t>(count * area));
  return x;
}

inline Tensor image_labels(const data::ImageDataset& set, int64_t from, int64_t count) {
  Tensor y = empty({count}, DType::kI64);
  for (int64_t i = 0; i < count; ++i)
    static_cast<int64_t*>(y.raw().data)[i] = set.labels().as<uint8_t>()[from + i];
  return y;
}

// Steps over images from the start of the set, which is in no order.
inline void train_on(nn::Module& net, const data::ImageDataset& set, double lr, int64_t steps,
                     const data::Normalization* normalization, int64_t batch = 32) {
  optim::SGD sgd(net.parameters(), {.lr = lr, .momentum = 0.9, .nesterov = true});
  for (int64_t step = 0; step < steps; ++step) {
    Tensor x = image_bytes(set, step * batch, batch);
    if (normalization != nullptr) {
      x = (x.to(DType::kF32) / normalization->divisor - normalization->mean) / normalization->std;
    }
    const Tensor loss = cross_entropy(net(x), image_labels(set, step * batch, batch));
    net.zero_grad();
    loss.backward();
    sgd.step();
  }
}

// Frozen scales, no integers yet. The same bits wherever and whenever it is called.
inline std::unique_ptr<quantize::QatModule> short_trained(const std::string& model,
                                                          const data::ImageData& images) {
  manual_seed(3);
  const auto net = nn::make_model(model);
  const data::Normalization& n = images.normalization;
  net->train();
  // A residual net needs more steps before its answers are worth comparing.
  train_on(*net, *images.train, 0.05, model == "resnet8" ? 200 : 100, &n);
  net->eval();
  const CaptureInput input{
      "image", zeros({2, 1, 28, 28}), {{0, "batch"}}, {{n.divisor, {n.mean}, {n.std}}}};
  auto qat =
      std::make_unique<quantize::QatModule>(capture(*net, {input}, {"logits", images.classes}));
  for (int epoch : {0, 4}) {
    qat->train_epoch(epoch);
    train_on(*qat, *images.train, 0.01, 20, nullptr);
  }
  qat->eval();
  return qat;
}

}  // namespace wick::test
