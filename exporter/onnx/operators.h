// Every operator of ONNX's default domain: the opsets at which it changed, why it is not read;
// those of other domains that are read; and a small model of one node of each, from which `wick ops
// --onnx` finds out what runs where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

// The newest that the reader knows; of a newer one it reads what it knows, with a warning.
constexpr int kNewestOpset = 28;
constexpr int kNewestIr = 14;  // the same of IR versions

struct OnnxOperator {
  std::string name;          // with its domain in front where that is not the default one
  std::vector<int> changes;  // opsets, ascending; the first is where it begins
  int until = kNewestOpset;  // earlier where it is deprecated
  std::string why_out = "";  // "": it is read
};

// By name, deprecated ones last.
std::vector<OnnxOperator> onnx_operators();

// Those of another domain, com.microsoft or ai.onnx.preview, that are read: "com.microsoft::Name",
// by name; of version 1 of the domain.
std::vector<OnnxOperator> onnx_operators_of(const std::string& domain);

// One node of the operator in the form it has at `opset`, its example in operators/default.def and
// the like; the inputs that may have several dtypes have `dtype`. Empty: its inputs are no tensors.
std::vector<uint8_t> onnx_sample(const std::string& name, int opset, DType dtype);

// The opset that onnx_bytes() writes the graph at. Throws Error as it does.
int onnx_written_opset(const ir::Graph& graph);

}  // namespace wick
