// What part an op may take in a quantized graph, looked at alone.
#pragma once

#include "quantize/passes/plan.h"

namespace wick::quantize {

struct OpPart {
  Part part = Part::kFloat;
  std::string reason;  // kFloat: why
  std::vector<size_t>
      data;  // inputs that become integers, constants included; weights and biases not
};

OpPart op_part(const ir::Graph& graph, const ir::Node& node);

// Relu, or Clip by constants around 0: what it lets through, a scale can.
bool limits_range(const ir::Graph& graph, const ir::Node& node);

// Whether a constant has real numbers that integers can stand for.
bool is_finite(const HostTensor& t);

}  // namespace wick::quantize
