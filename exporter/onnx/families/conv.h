// The attributes that Conv, ConvInteger and QLinearConv share.
#pragma once

#include <optional>

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// Reads strides, dilations, pads or auto_pad, and group; checks kernel_shape against w. Where
// auto_pad needs sizes that are not known, it pads x in the graph with `fill`, one number
// (kNoValue: 0).
ConvAttrs conv_attrs(ReadCtx& c, ValueId* x, ValueId w, ValueId fill = kNoValue);
// Returns the attributes of an average pool over x, if they are known before running.
std::optional<PoolAttrs> known_average_attrs(ReadCtx& c, ValueId x);
void set_conv_attrs(NodeProto& node, const ConvAttrs& attrs);

}  // namespace wick::onnx
