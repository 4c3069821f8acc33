// The attributes that Conv, ConvInteger and QLinearConv share.
#pragma once

#include <optional>

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// strides, dilations, pads or auto_pad, group; kernel_shape is checked against w. Where auto_pad
// needs sizes that are not known, x becomes x padded with `fill`, one number (kNoValue: 0).
ConvAttrs conv_attrs(ReadCtx& c, ValueId* x, ValueId w, ValueId fill = kNoValue);
// Of an average over x, where they are known before running.
std::optional<PoolAttrs> known_average_attrs(ReadCtx& c, ValueId x);
void set_conv_attrs(NodeProto& node, const ConvAttrs& attrs);

}  // namespace wick::onnx
