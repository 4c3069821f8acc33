#include "trainer/nn/layer_norm.h"

#include "trainer/nn/repr_text.h"
#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

const Shape& checked(const char* name, const Shape& shape) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 1) throw_error(name, std::string("normalized_shape is ") + to_text(shape).text);
  }
  if (shape.rank() == 0) throw_error(name, "normalized_shape must not be empty");
  return shape;
}

std::string shape_repr(const Shape& shape) {
  std::string s = "(";
  for (int i = 0; i < shape.rank(); ++i) s += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

LayerNorm::LayerNorm(const Shape& shape, LayerNormOptions options)
    : shape_(checked("LayerNorm", shape)), options_(options) {
  if (!(options.eps >= 0)) throw_error("LayerNorm", "eps must not be negative");
  const bool affine = options.elementwise_affine;
  weight = register_parameter("weight", affine ? ones(shape) : Tensor());
  bias = register_parameter("bias", affine && options.bias ? zeros(shape) : Tensor());
}

Tensor LayerNorm::forward(const Arg& x) {
  return layer_norm(x, shape_, weight, bias, options_.eps);
}

std::string LayerNorm::extra_repr() const {
  return shape_repr(shape_) + ", eps=" + python_number(options_.eps) +
         ", elementwise_affine=" + (options_.elementwise_affine ? "True" : "False");
}

RMSNorm::RMSNorm(const Shape& shape, std::optional<double> eps, bool affine)
    : weight(register_parameter("weight", affine ? ones(shape) : Tensor())),
      shape_(checked("RMSNorm", shape)),
      eps_(eps) {
  if (eps && !(*eps >= 0)) throw_error("RMSNorm", "eps must not be negative");
}

Tensor RMSNorm::forward(const Arg& x) { return rms_norm(x, shape_, weight, eps_); }

std::string RMSNorm::extra_repr() const {
  return shape_repr(shape_) + ", eps=" + (eps_ ? python_number(*eps_) : "None") +
         ", elementwise_affine=" + (weight.defined() ? "True" : "False");
}

}  // namespace wick::nn
