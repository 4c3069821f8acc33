#include "trainer/nn/layer_norm.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

const Shape& checked(const char* name, const Shape& shape) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 1) refuse(name, std::string("normalized_shape is ") + to_text(shape).text);
  }
  if (shape.rank() == 0) refuse(name, "normalized_shape must not be empty");
  return shape;
}

std::string shape_repr(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return repr_tuple(sizes.data(), shape.rank());
}

}  // namespace

LayerNorm::LayerNorm(const Shape& shape, LayerNormOptions options)
    : shape_(checked("LayerNorm", shape)), options_(options) {
  if (!(options.eps >= 0)) refuse("LayerNorm", "eps must not be negative");
  const bool affine = options.elementwise_affine;
  weight = register_parameter("weight", affine ? ones(shape) : Tensor());
  bias = register_parameter("bias", affine && options.bias ? zeros(shape) : Tensor());
}

Tensor LayerNorm::forward(const Arg& x) {
  return layer_norm(x, shape_, weight, bias, options_.eps);
}

std::string LayerNorm::extra_repr() const {
  return shape_repr(shape_) + ", eps=" + repr_float(options_.eps) +
         ", elementwise_affine=" + repr_bool(options_.elementwise_affine);
}

RMSNorm::RMSNorm(const Shape& shape, std::optional<double> eps, bool affine)
    : weight(register_parameter("weight", affine ? ones(shape) : Tensor())),
      shape_(checked("RMSNorm", shape)),
      eps_(eps) {
  if (eps && !(*eps >= 0)) refuse("RMSNorm", "eps must not be negative");
}

Tensor RMSNorm::forward(const Arg& x) { return rms_norm(x, shape_, weight, eps_); }

std::string RMSNorm::extra_repr() const {
  return shape_repr(shape_) + ", eps=" + (eps_ ? repr_float(*eps_) : "None") +
         ", elementwise_affine=" + repr_bool(weight.defined());
}

}  // namespace wick::nn
