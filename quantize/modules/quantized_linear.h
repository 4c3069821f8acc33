// A Linear layer of int8.
#pragma once

#include "quantize/observe/observer.h"
#include "trainer/nn/linear.h"

namespace wick::quantize {

struct MemoryUsage {
  int64_t original_bytes = 0;   // of the float32 layer: weight and bias
  int64_t quantized_bytes = 0;  // int8 weight, its scales, the float32 bias
  double ratio() const {
    return static_cast<double>(original_bytes) / static_cast<double>(quantized_bytes);
  }
};

// x[..., in] -> float32 [..., out], computed by integers: its weight is int8 (symmetric, a scale an
// output or one for all, as the recipe says) and nothing else is kept of the float one. Example:
//
//   QuantizedLinear layer(trained);
//   layer.calibrate(batch);           // as often as there are batches
//   Tensor y = layer(x);
//
// Before calibrate() each row of x is quantized by its own range as it comes (DynamicLinear);
// behind it by the range that was seen, 8 bits as the recipe says (QuantizeLinear, then QGemm,
// whose sums are exact integers; the bias is added in float32). capture() of a model with such
// layers has these ops, so that a .wick of it runs them. No gradient goes through it.
class QuantizedLinear : public nn::Module {
 public:
  // Throws Error: a weight that is not float32 or not finite; a recipe of no meaning, or of weights
  // that are not symmetric int8.
  explicit QuantizedLinear(const nn::Linear& layer, const Recipe& recipe = {});
  // One batch, seen by the recipe's activation observer. Throws Error: NaN or infinity, an empty
  // tensor, another number of features.
  void calibrate(const Arg& x);
  bool calibrated() const;
  Tensor forward(const Arg& x) override;
  MemoryUsage memory_usage() const;
  std::string extra_repr() const override;

  // Buffers: state_dict() holds the layer, calibrated or not.
  Tensor weight;        // int8 [out, in]
  Tensor weight_scale;  // [out] or [1]
  Tensor bias;          // float32 [out], or undefined
  Tensor input_scale;   // one number; 0: not calibrated
  Tensor input_zero_point;

 private:
  Recipe recipe_;
  Observer observer_;
  Tensor weight_zero_point_;
};

}  // namespace wick::quantize
