// Normalization over the last dimensions.
#pragma once

#include <optional>

#include "trainer/nn/module.h"

namespace wick::nn {

// Options of LayerNorm, with PyTorch's defaults.
struct LayerNormOptions {
  double eps = 1e-5;               // added to the variance
  bool elementwise_affine = true;  // has weight and bias
  bool bias = true;                // false: only a weight
};

// (x - mean) / sqrt(var + eps) * weight + bias over the last dims, whose sizes are normalized_shape
// (Ba et al., 2016); the variance is the biased one.
class LayerNorm : public Module {
 public:
  using Options = LayerNormOptions;  // of the last argument
  explicit LayerNorm(const Shape& normalized_shape, LayerNormOptions options = {});
  // NOLINTBEGIN(google-explicit-constructor): a layer is made by name
  explicit LayerNorm(std::initializer_list<int64_t> normalized_shape, LayerNormOptions options = {})
      : LayerNorm(Shape(normalized_shape), options) {}  // braces would also be a LayerNorm
  // NOLINTEND(google-explicit-constructor)
  explicit LayerNorm(int64_t size, LayerNormOptions options = {})
      : LayerNorm(Shape{size}, options) {}
  LayerNorm(int64_t size, double eps) : LayerNorm(Shape{size}, LayerNormOptions{.eps = eps}) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  // Return what the constructor was given.
  const Shape& normalized_shape() const { return shape_; }
  double eps() const { return options_.eps; }

  Tensor weight, bias;  // of shape normalized_shape, or undefined

 private:
  Shape shape_;
  LayerNormOptions options_;
};

// x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, 2019). eps {}: the machine epsilon of x's
// dtype.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(const Shape& normalized_shape, std::optional<double> eps = {},
                   bool elementwise_affine = true);
  // NOLINTBEGIN(google-explicit-constructor): a layer is made by name
  explicit RMSNorm(std::initializer_list<int64_t> normalized_shape, std::optional<double> eps = {},
                   bool elementwise_affine = true)
      : RMSNorm(Shape(normalized_shape), eps, elementwise_affine) {}
  // NOLINTEND(google-explicit-constructor)
  explicit RMSNorm(int64_t size, std::optional<double> eps = {}, bool elementwise_affine = true)
      : RMSNorm(Shape{size}, eps, elementwise_affine) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  // Return what the constructor was given.
  const Shape& normalized_shape() const { return shape_; }
  std::optional<double> eps() const { return eps_; }

  Tensor weight;  // of shape normalized_shape, or undefined

 private:
  Shape shape_;
  std::optional<double> eps_;
};

}  // namespace wick::nn
