#pragma once

#include <cstdint>

#include "wick_onnx.pb.h"

namespace wick::onnx {

// Nodes of one model that are read: those of subgraphs, and of functions at every call, included.
constexpr uint64_t kMaxNodes = uint64_t{1} << 20;

// Throws Error where a name is too long to be one or holds a zero byte, and where the model's
// functions, written out at every call, would come to far more than the file or than kMaxNodes. The
// nesting of subgraphs was bounded by the parser.
void check_limits(const ModelProto& model);

}  // namespace wick::onnx
