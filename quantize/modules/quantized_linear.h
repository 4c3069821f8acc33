// An int8 Linear layer.
#pragma once

#include "quantize/observe/observer.h"
#include "trainer/nn/linear.h"

namespace wick::quantize {

// Bytes of a layer before and after.
struct MemoryUsage {
  int64_t original_bytes = 0;   // of the float32 layer: weight and bias
  int64_t quantized_bytes = 0;  // int8 weight, its scales, the float32 bias
  double ratio() const {        // how many times smaller
    return static_cast<double>(original_bytes) / static_cast<double>(quantized_bytes);
  }
};

// Maps x[..., in] to float32 [..., out] by integer arithmetic: its weight is int8 (symmetric, with
// a scale per output or one for all, as the recipe says) and nothing of the float weight is kept.
// Example:
//
//   QuantizedLinear layer(trained);
//   layer.calibrate(batch);           // as often as there are batches
//   Tensor y = layer(x);
//
// Before calibrate() each row of x is quantized by its own range as it comes (DynamicLinear); after
// it, by the range that was seen, in 8 bits as the recipe says (QuantizeLinear, then QGemm, whose
// sums are exact integers; the bias is added in float32). capture() of a model with such layers has
// these ops, so that a .wick of it runs them. No gradient flows through it.
class QuantizedLinear : public nn::Module {
 public:
  // Throws Error for a weight that is not float32 or not finite, and for a recipe that is not valid
  // or whose weights are not symmetric int8.
  explicit QuantizedLinear(const nn::Linear& layer, const Recipe& recipe = {});
  // Shows one batch to the recipe's activation observer. Throws Error for NaN or infinity, an empty
  // tensor, or another number of features.
  void calibrate(const Arg& x);
  // Returns whether calibrate() was called, so that forward uses a static scale.
  bool calibrated() const;
  Tensor forward(const Arg& x) override;
  // Returns the bytes of the layer before and after.
  MemoryUsage memory_usage() const;
  std::string extra_repr() const override;

  // These are buffers: state_dict() holds the layer, calibrated or not.
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
