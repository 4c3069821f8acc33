// Every operator of ONNX's default domain: the opsets at which it changed, why it is not read;
// those of com.microsoft that are read; and a small model of one node of each, from which `wick ops
// --onnx` finds out what runs where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

constexpr int kNewestOpset = 28;  // that the reader takes
constexpr int kNewestIr = 13;     // the same of IR versions

struct OnnxOperator {
  std::string name;          // with its domain in front where that is not the default one
  std::vector<int> changes;  // opsets, ascending; the first is where it begins
  int until = kNewestOpset;  // earlier where it is deprecated
  std::string why_out = "";  // "": it is read
};

// By name, deprecated ones last.
std::vector<OnnxOperator> onnx_operators();

// "com.microsoft::Name", by name; of version 1 of the domain.
std::vector<OnnxOperator> microsoft_operators();

// One node of the operator in the form it has at `opset`; the inputs that may have several dtypes
// have `dtype`. Empty: its inputs are no tensors.
std::vector<uint8_t> onnx_sample(const std::string& name, int opset, DType dtype);

// The opset that onnx_bytes() writes the graph at. Throws Error as it does.
int onnx_written_opset(const ir::Graph& graph);

namespace onnx {

// A form of an operator, from an opset on. Inputs are words: T[2,3] is of the dtype that is tried,
// f32[2] of its own; {1,2} behind one makes it an initializer of these values; _ is absent.
// Attributes are words: axis=1 axes=[0,1] alpha=1.0 mode=linear value=T[1] body=@loop (a graph that
// operators.cc makes) words=(a,b). No inputs (null): none of them is a tensor, and nothing is
// tried.
struct OperatorForm {
  const char* name;
  int since;
  const char* inputs;
  const char* attributes = "";
  int outputs = 1;
  const char* for_strings = nullptr;  // the attributes instead, where the dtype tried is string
};
Span<const OperatorForm> operator_forms();
Span<const OperatorForm> microsoft_operator_forms();

}  // namespace onnx
}  // namespace wick
