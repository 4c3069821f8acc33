#pragma once

#include "wick_onnx.pb.h"

namespace wick::onnx {

// Throws Error where a name is too long to be one or holds a zero byte, and where the model's
// functions, written out at every call, would come to far more than the file. The nesting of
// subgraphs was bounded by the parser.
void check_limits(const ModelProto& model);

}  // namespace wick::onnx
