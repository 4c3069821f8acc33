// Lowers a QDQ graph (float ops between DequantizeLinear and QuantizeLinear) to integer ops, whose
// bytes stay bytes from layer to layer. It is not a pass of optimize(): the arithmetic between the
// two becomes the one requantization rule (docs/numerics.md, "Integers"), which rounds differently.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick::ir {

// An op that still computes with reals after a DequantizeLinear.
struct StayedFloat {
  std::string op, name, reason;  // the op, the node's name, and why
};
struct LowerReport {
  // The number of nodes of each integer op in the lowered graph, MatMulInteger and ConvInteger of
  // files included.
  std::map<std::string, int> integer;
  std::vector<StayedFloat> stayed;  // in the graph's order, those of regions after their node
  bool quantized = false;           // the graph had QuantizeLinear or DequantizeLinear
  // Returns the sum of the numbers in `integer`.
  int integer_nodes() const;
  // Returns one line for each op that stayed float: "LayerNorm 'norm': why".
  std::string text() const;
};

// Returns whether the graph changed. A pattern is found only if scales and zero points are
// constants; layers without an output scale become a QGemm that returns float32 (Linear, MatMul by
// a constant), others stay float and are reported. Throws Error, which names the node, if the
// constant scale of a QuantizeLinear is not finite and > 0; the graph is then as it was. What such
// a scale of a DequantizeLinear makes stays float.
bool lower_qdq(Graph& graph, LowerReport* report = nullptr);

// Does the same to a copy.
Graph lowered(Graph graph, LowerReport* report = nullptr);

}  // namespace wick::ir
