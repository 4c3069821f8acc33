// Layers, with PyTorch's argument order, parameter names and initialisation.
#pragma once

#include <optional>

#include "trainer/nn/module.h"
#include "trainer/tensor/ops.h"

namespace wick::nn {

class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true);
  Tensor forward(const Arg& x) override;
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
};

struct Conv2dOptions {
  Pair stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
class Conv2d : public Module {
 public:
  Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size, Conv2dOptions options = {});
  Tensor forward(const Arg& x) override;
  Tensor weight;  // [out, in / groups, kh, kw]
  Tensor bias;

 private:
  Conv2dOptions options_;
};

class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t num_features, double eps = 1e-5, double momentum = 0.1);
  Tensor forward(const Arg& x) override;
  Tensor weight, bias;
  Tensor running_mean, running_var, num_batches_tracked;

 private:
  double eps_, momentum_;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0)
      : kernel_(kernel_size), stride_(stride), padding_(padding) {}
  Tensor forward(const Arg& x) override { return max_pool2d(x, kernel_, stride_, padding_); }

 private:
  Pair kernel_;
  std::optional<Pair> stride_;
  Pair padding_;
};
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0)
      : kernel_(kernel_size), stride_(stride), padding_(padding) {}
  Tensor forward(const Arg& x) override { return avg_pool2d(x, kernel_, stride_, padding_); }

 private:
  Pair kernel_;
  std::optional<Pair> stride_;
  Pair padding_;
};
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Pair output_size) : size_(output_size) {}
  Tensor forward(const Arg& x) override { return adaptive_avg_pool2d(x, size_); }

 private:
  Pair size_;
};

#define WICK_ACTIVATION(Name, function)                           \
  class Name : public Module {                                    \
   public:                                                        \
    Tensor forward(const Arg& x) override { return function(x); } \
  }
WICK_ACTIVATION(ReLU, wick::relu);
WICK_ACTIVATION(ReLU6, wick::relu6);
WICK_ACTIVATION(Sigmoid, wick::sigmoid);
WICK_ACTIVATION(Tanh, wick::tanh);
WICK_ACTIVATION(SiLU, wick::silu);
WICK_ACTIVATION(Hardswish, wick::hardswish);
#undef WICK_ACTIVATION

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Arg& x) override { return leaky_relu(x, slope_); }

 private:
  double slope_;
};
class GELU : public Module {
 public:
  explicit GELU(bool tanh_approximation = false) : tanh_(tanh_approximation) {}
  Tensor forward(const Arg& x) override { return gelu(x, tanh_); }

 private:
  bool tanh_;
};
class Softmax : public Module {
 public:
  explicit Softmax(int dim) : dim_(dim) {}
  Tensor forward(const Arg& x) override { return softmax(x, dim_); }

 private:
  int dim_;
};
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor forward(const Arg& x) override { return dropout(x, p_, training()); }

 private:
  double p_;
};
class Flatten : public Module {
 public:
  explicit Flatten(int start_dim = 1, int end_dim = -1) : start_(start_dim), end_(end_dim) {}
  Tensor forward(const Arg& x) override { return x.tensor.flatten(start_, end_, x.where); }

 private:
  int start_, end_;
};
class Identity : public Module {
 public:
  Tensor forward(const Arg& x) override { return x.tensor; }
};

// Children named "0", "1", ...: Sequential(Linear(784, 512), ReLU(), Linear(512, 10)).
class Sequential : public Module {
 public:
  template <class... Ms>
    requires(std::is_base_of_v<Module, std::decay_t<Ms>> && ...)
  explicit Sequential(Ms&&... modules) {
    (push_back(std::make_shared<std::decay_t<Ms>>(std::forward<Ms>(modules))), ...);
  }
  Sequential& push_back(std::shared_ptr<Module> module);
  Tensor forward(const Arg& x) override;
};

class CrossEntropyLoss {
 public:
  explicit CrossEntropyLoss(Reduction reduction = Reduction::kMean) : reduction_(reduction) {}
  Tensor operator()(const Arg& logits, const Arg& target) const {
    return cross_entropy(logits, target, reduction_);
  }

 private:
  Reduction reduction_;
};

}  // namespace wick::nn
