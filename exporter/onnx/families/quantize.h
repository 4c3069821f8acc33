// Helpers for reading the quantized operators.
#pragma once

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// DynamicQuantized is x quantized to unsigned bytes by its own range, as DynamicQuantizeLinear
// does.
struct DynamicQuantized {
  ValueId y, scale, zero;
};
DynamicQuantized dynamic_quantize(ReadCtx& c, ValueId x);
// Returns a scale or zero point of one element as a scalar, which broadcasts to any rank.
ValueId scalar_of(ReadCtx& c, ValueId v);
// Returns clamp(round(sum scale) + zero): the product is taken in double, where every sum is exact,
// so that the only rounding is the one to integers. `scale` is the product of the operands' scales
// over y's, in float.
ValueId requantize(ReadCtx& c, ValueId sum, ValueId scale, ValueId zero);
// Throws an error if a known scale has a number that is not finite and > 0.
void check_scale(ReadCtx& c, int input);
// Makes a float16 scale behind a Cast, as files have it, the scale of DequantizeLinear itself: the
// dequantized values stay the same.
void take_half_scales(Graph& g);
ValueId scale_ratio(ReadCtx& c, ValueId a, ValueId b, ValueId y);

}  // namespace wick::onnx
