// The attributes that Conv, ConvInteger and QLinearConv share.
#pragma once

#include "exporter/onnx/read.h"

namespace wick::onnx {

// strides, dilations, pads or auto_pad, group; kernel_shape is checked against w.
ConvAttrs conv_attrs(ReadCtx& c, ValueId x, ValueId w);
void set_conv_attrs(NodeProto& node, const ConvAttrs& attrs);

}  // namespace wick::onnx
