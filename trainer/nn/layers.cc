#include "trainer/nn/layers.h"

#include <cmath>

#include "trainer/tensor/philox.h"

namespace wick::nn {
namespace {

// PyTorch's default for weights and biases alike: kaiming uniform with a = sqrt(5) is
// U(-1/sqrt(fan_in), +).
Tensor init_uniform(const Shape& shape, int64_t fan_in) {
  double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return uniform(shape, -bound, bound);
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool with_bias)
    : weight(register_parameter("weight", init_uniform({out, in}, in))),
      bias(register_parameter("bias", with_bias ? init_uniform({out}, in) : Tensor())) {}

Tensor Linear::forward(const Arg& x) { return linear(x, {weight, x.where}, bias); }

Conv2d::Conv2d(int64_t in, int64_t out, Pair kernel, Conv2dOptions options) : options_(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw Error("[Conv2d] channels " + std::to_string(in) + " -> " + std::to_string(out) +
                " do not divide into " + std::to_string(options.groups) + " groups");
  }
  int64_t per_group = in / options.groups, fan_in = per_group * kernel.h * kernel.w;
  weight = register_parameter("weight", init_uniform({out, per_group, kernel.h, kernel.w}, fan_in));
  bias = register_parameter("bias", options.bias ? init_uniform({out}, fan_in) : Tensor());
}

Tensor Conv2d::forward(const Arg& x) {
  return conv2d(x, {weight, x.where}, bias, options_.stride, options_.padding, options_.dilation,
                options_.groups);
}

BatchNorm2d::BatchNorm2d(int64_t n, double eps, double momentum)
    : weight(register_parameter("weight", ones({n}))),
      bias(register_parameter("bias", zeros({n}))),
      running_mean(register_buffer("running_mean", zeros({n}))),
      running_var(register_buffer("running_var", ones({n}))),
      num_batches_tracked(register_buffer("num_batches_tracked", zeros({}, DType::kI64))),
      eps_(eps),
      momentum_(momentum) {}

Tensor BatchNorm2d::forward(const Arg& x) {
  if (training()) {
    NoGrad guard;
    num_batches_tracked.add_(ones({}, DType::kI64), 1, x.where);
  }
  return batch_norm(x, running_mean, running_var, weight, bias, training(), momentum_, eps_);
}

Sequential& Sequential::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(children().size()), std::move(module));
  return *this;
}

Tensor Sequential::forward(const Arg& x) {
  Tensor h = x.tensor;
  for (const auto& [name, child] : children()) h = (*child)({h, x.where});
  return h;
}

}  // namespace wick::nn
