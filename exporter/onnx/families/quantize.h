// Pieces of the quantized operators.
#pragma once

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// x in unsigned bytes by its own range, as DynamicQuantizeLinear makes them.
struct DynamicQuantized {
  ValueId y, scale, zero;
};
DynamicQuantized dynamic_quantize(ReadCtx& c, ValueId x);
// Scales and zero points of one element as scalars, which broadcast to any rank.
ValueId scalar_of(ReadCtx& c, ValueId v);
// clamp(round(sum scale) + zero): the product in double, where every sum is exact, so that the only
// rounding is the one to integers. `scale` is the product of the operands' over y's, in float.
ValueId requantize(ReadCtx& c, ValueId sum, ValueId scale, ValueId zero);
// Numbers of a scale that is known: finite and > 0, or an error.
void check_scale(ReadCtx& c, int input);
// A float16 scale behind a Cast, as files have it, becomes DequantizeLinear's own: the same reals.
void take_half_scales(Graph& g);
ValueId scale_ratio(ReadCtx& c, ValueId a, ValueId b, ValueId y);

}  // namespace wick::onnx
