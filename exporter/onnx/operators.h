// Lists every operator of ONNX's default domain, with the opsets at which it changed and why it is
// not read, and those of other domains that are read. Makes a small model of one node of each, from
// which `wick ops --onnx` finds out what runs where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

// The newest opset that the reader knows; of a newer one it reads what it knows, with a warning.
constexpr int kNewestOpset = 28;
constexpr int kNewestIr = 14;  // the same for IR versions
constexpr int kNewestMl = 5;   // ... and for versions of the domain ai.onnx.ml

struct OnnxOperator {
  std::string name;          // with its domain in front if that is not the default one
  std::vector<int> changes;  // opsets, ascending; the first is where it begins
  int until = kNewestOpset;  // earlier where it is deprecated
  std::string why_out = "";  // "": it is read
};

// Returns them by name, deprecated ones last.
std::vector<OnnxOperator> onnx_operators();

// Returns those of another domain, com.microsoft, ai.onnx.ml or ai.onnx.preview, that are read, by
// name: "com.microsoft::Name". The opsets are versions of that domain.
std::vector<OnnxOperator> onnx_operators_of(const std::string& domain);

// Returns a model of one node of the operator in its form at `opset`, made of its example in
// operators/default.def and the like; the inputs that may have several dtypes have `dtype`. Empty:
// its inputs are not tensors.
std::vector<uint8_t> onnx_sample(const std::string& name, int opset, DType dtype);

// Returns the opset that onnx_bytes() writes the graph at. Throws Error as it does.
int onnx_written_opset(const ir::Graph& graph);

}  // namespace wick
