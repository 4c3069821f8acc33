#pragma once

#include <cstdint>

#include "exporter/onnx/file/model_bytes.h"
#include "exporter/onnx/onnx.h"
#include "runtime/core/ledger.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// The most nodes of one model, those of subgraphs included.
constexpr uint64_t kMaxNodes = uint64_t{1} << 20;
// A node takes as long to read as this many sizes take to copy.
constexpr uint64_t kVisitsOfNode = 8;

// Returns what a file of so many bytes may use, unless the options say otherwise.
LedgerLimits limits_of(uint64_t file, const OnnxReadOptions& options);

// Throws Error with kBudgetExceeded if the nodes, attributes, tensors and graphs of `model` would
// take far more memory once they are parsed than the file has bytes: an empty one is two bytes
// there. Returns false if the model is damaged.
bool check_messages(ModelBytes& model, uint64_t file, const OnnxReadOptions& options);

// Throws Error if a name is too long to be one or holds a zero byte, if there are more than
// kMaxNodes nodes, or if the model's functions, inlined at every call, would come to far more than
// the file. The parser has bounded the nesting of subgraphs.
void check_limits(const ModelProto& model);

}  // namespace wick::onnx
