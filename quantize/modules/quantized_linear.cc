#include "quantize/modules/quantized_linear.h"

#include "quantize/passes/insert_qdq.h"
#include "quantize/passes/op_parts.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

Tensor tensor_of(const HostTensor& t) { return from_blob(t.data(), t.shape(), t.dtype()); }

const Recipe& checked(const Recipe& r) {
  check(r);
  if (r.weight != DType::kI8 || !r.weight_symmetric) {
    throw_error("QuantizedLinear", std::string("weights are symmetric int8 here, not ") +
                                       (r.weight_symmetric ? "" : "asymmetric ") +
                                       dtype_name(r.weight));
  }
  return r;
}

}  // namespace

QuantizedLinear::QuantizedLinear(const nn::Linear& layer, const Recipe& recipe)
    : recipe_(checked(recipe)), observer_(recipe.activation_observer) {
  const HostTensor w = host_copy(layer.weight);
  if (w.dtype() != DType::kF32) {
    throw_error("QuantizedLinear",
                std::string("the weight is ") + dtype_name(w.dtype()) + ", it must be float32");
  }
  if (!is_finite(w)) throw_error("QuantizedLinear", "the weight has NaN or infinite numbers");
  const QParams q = weight_params(w, recipe);
  weight = register_buffer("weight", tensor_of(to_integers(w, q)));
  weight_scale = register_buffer("weight_scale", tensor(q.scale));
  if (layer.bias.defined()) bias = register_buffer("bias", layer.bias.detach().clone());
  input_scale = register_buffer("input_scale", zeros({}));
  input_zero_point = register_buffer("input_zero_point", zeros({}, recipe.activation));
  weight_zero_point_ = zeros({}, DType::kI8);
}

bool QuantizedLinear::calibrated() const {
  return *static_cast<const float*>(input_scale.raw().data) > 0;
}

void QuantizedLinear::calibrate(const Arg& x) {
  const Shape& s = x.tensor.raw_shape();
  if (x.tensor.raw().numel() == 0)
    throw_error("QuantizedLinear", "an empty batch to calibrate with", x.where);
  if (s.rank() == 0 || s[s.rank() - 1] != weight.raw_shape()[1]) {
    throw_error("QuantizedLinear",
                "a batch " + std::string(to_text(s).text) + " for " +
                    std::to_string(weight.raw_shape()[1]) + " features",
                x.where, Code::kShapeMismatch);
  }
  observer_.observe(host_copy(x.tensor));
  const QParams q = observer_.params(recipe_.activation, recipe_.activation_symmetric);
  const NoGrad guard;
  input_scale.copy_(full({}, q.scale[0]));
  input_zero_point.copy_(full({}, q.zero_point[0], recipe_.activation));
}

Tensor QuantizedLinear::forward(const Arg& x) {
  const Where& w = x.where;
  const Arg scale(weight_scale, w), rows(weight, w);
  if (!calibrated()) {
    if (!bias.defined()) return call(OpId::kDynamicLinear, NoAttrs{}, {x, rows, scale});
    return call(OpId::kDynamicLinear, NoAttrs{}, {x, rows, scale, {bias, w}});
  }
  const Arg by(input_scale, w), zero(input_zero_point, w);
  const Tensor q = call(OpId::kQuantizeLinear, QuantizeAttrs{}, {x, by, zero});
  Tensor y =
      call(OpId::kQGemm, NoAttrs{}, {{q, w}, by, zero, rows, scale, {weight_zero_point_, w}});
  return bias.defined() ? add({y, w}, {bias, w}) : y;
}

MemoryUsage QuantizedLinear::memory_usage() const {
  const auto bytes = [](const Tensor& t) {
    return t.defined() ? static_cast<int64_t>(t.raw().nbytes()) : 0;
  };
  MemoryUsage m;
  m.original_bytes = weight.raw().numel() * 4 + bytes(bias);
  m.quantized_bytes = bytes(weight) + bytes(weight_scale) + bytes(weight_zero_point_) +
                      bytes(bias) + bytes(input_scale) + bytes(input_zero_point);
  return m;
}

std::string QuantizedLinear::extra_repr() const {
  return "in_features=" + std::to_string(weight.raw_shape()[1]) +
         ", out_features=" + std::to_string(weight.raw_shape()[0]) +
         ", bias=" + nn::repr_bool(bias.defined()) + ", calibrated=" + nn::repr_bool(calibrated());
}

}  // namespace wick::quantize
