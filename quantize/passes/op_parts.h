// Decides what part an op may take in a quantized graph, looking at the op alone.
#pragma once

#include "quantize/passes/plan.h"

namespace wick::quantize {

struct OpPart {
  Part part = Part::kFloat;
  std::string reason;        // why, for kFloat
  std::vector<size_t> data;  // the inputs that are quantized, constants too; no weights or biases
};

OpPart op_part(const ir::Graph& graph, const ir::Node& node);

// Returns whether the node is Relu, or Clip by constants around 0: a scale can express what it lets
// through.
bool limits_range(const ir::Graph& graph, const ir::Node& node);

// Returns whether a constant has real numbers that integers can represent.
bool is_finite(const HostTensor& t);

}  // namespace wick::quantize
