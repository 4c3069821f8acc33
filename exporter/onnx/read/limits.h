#pragma once

#include <cstdint>

#include "exporter/onnx/onnx.h"
#include "runtime/core/ledger.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Nodes that one model has, those of subgraphs included.
constexpr uint64_t kMaxNodes = uint64_t{1} << 20;
// A node takes as long to read as so many sizes to copy.
constexpr uint64_t kVisitsOfNode = 8;

// What a file of so many bytes may take, unless the options say otherwise.
LedgerLimits limits_of(uint64_t file, const OnnxReadOptions& options);

// Throws Error where a name is too long to be one or holds a zero byte, and where the model's
// functions, written out at every call, would come to far more than the file or than kMaxNodes. The
// nesting of subgraphs was bounded by the parser.
void check_limits(const ModelProto& model);

}  // namespace wick::onnx
