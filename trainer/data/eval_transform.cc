#include "trainer/data/eval_transform.h"

#include <cmath>

#include "trainer/data/image/resample.h"
#include "trainer/tensor/ops.h"

namespace wick::data {
namespace {

Tensor per_channel(const std::vector<double>& values, int64_t channels) {
  std::vector<float> floats;
  for (int64_t c = 0; c < channels; ++c) {
    floats.push_back(static_cast<float>(values[values.size() == 1 ? 0 : static_cast<size_t>(c)]));
  }
  return tensor(floats).reshape({1, channels, 1, 1});
}

}  // namespace

EvalTransform::EvalTransform(const EvalOptions& o, Where where) : options_(o) {
  auto refuse = [&](const std::string& text) { throw_error("eval_transform", text, where); };
  if (o.channels < 1 || o.height < 1 || o.width < 1 || o.resize < 0 || o.crop < 0) {
    refuse("images of [" + std::to_string(o.channels) + ", " + std::to_string(o.height) + ", " +
           std::to_string(o.width) + "], resize " + std::to_string(o.resize) + ", crop " +
           std::to_string(o.crop));
  }
  auto fits = [&](size_t n) { return n == 1 || static_cast<int64_t>(n) == o.channels; };
  if (!fits(o.mean.size()) || !fits(o.std.size())) {
    refuse(std::to_string(o.mean.size()) + " means and " + std::to_string(o.std.size()) +
           " deviations for " + std::to_string(o.channels) + " channels");
  }
  for (double s : o.std) {
    if (!(s > 0)) refuse("a deviation of " + std::to_string(s));
  }
  size_ = {o.height, o.width};
  if (o.resize > 0) {
    size_ = transforms::resized_edge(o.height, o.width, o.resize);
    rows_ = register_buffer("rows", resample_matrix(o.height, size_.height));
    columns_ = register_buffer("columns", resample_matrix(o.width, size_.width));
  }
  if (o.crop > 0) {
    if (o.crop > size_.height || o.crop > size_.width) {
      refuse("crop " + std::to_string(o.crop) + " of " + std::to_string(size_.height) + " x " +
             std::to_string(size_.width));
    }
    auto half = [&](int64_t n) {
      return static_cast<int64_t>(std::nearbyint(static_cast<double>(n - o.crop) / 2.0));
    };
    top_ = half(size_.height);
    left_ = half(size_.width);
    size_ = o.crop;
  }
  mean_ = register_buffer("mean", per_channel(o.mean, o.channels));
  std_ = register_buffer("std", per_channel(o.std, o.channels));
}

Tensor EvalTransform::forward(const Arg& in) {
  const Shape& shape = in.tensor.raw_shape(in.where);
  if (shape.rank() != 4 || shape[1] != options_.channels || shape[2] != options_.height ||
      shape[3] != options_.width) {
    throw_error("eval_transform",
                std::string("images are ") + to_text(shape).text + ", expected [N, " +
                    std::to_string(options_.channels) + ", " + std::to_string(options_.height) +
                    ", " + std::to_string(options_.width) + "]",
                in.where, Code::kShapeMismatch);
  }
  Tensor x = in.tensor.to(DType::kF32, in.where);
  if (rows_.defined()) x = resize_floats(x, rows_, columns_);
  if (options_.crop > 0) {
    x = x.slice(2, top_, top_ + size_.height).slice(3, left_, left_ + size_.width);
  }
  return (x / 255.0f - mean_) / std_;
}

Transform as_transform(std::shared_ptr<nn::Module> module) {
  if (!module) throw Error("[as_transform] no module");
  module->eval();
  return [module](const Tensor& image, Draws&) {
    NoGrad guard;
    return (*module)(image.unsqueeze(0)).squeeze(0);
  };
}

}  // namespace wick::data
