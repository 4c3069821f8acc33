// A QDQ graph (float ops between DequantizeLinear and QuantizeLinear) as one of integer ops, whose
// bytes stay bytes from layer to layer. Not a pass of optimize(): the arithmetic between the two
// becomes the one requantization rule (docs/numerics.md, "Integers"), so another rounding.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick::ir {

// An op that still computes with reals behind a DequantizeLinear.
struct StayedFloat {
  std::string op, name, reason;
};
struct LowerReport {
  // Nodes of each integer op in the lowered graph, MatMulInteger and ConvInteger of files included.
  std::map<std::string, int> integer;
  std::vector<StayedFloat> stayed;  // in the graph's order, those of regions behind their node
  bool quantized = false;           // the graph had QuantizeLinear or DequantizeLinear
  int integer_nodes() const;
  // One line an op that stayed float: "LayerNorm 'norm': why".
  std::string text() const;
};

// True when the graph changed. Scales and zero points must be constants where a pattern is to be
// found; layers without an output scale become a QGemm that gives float32 (Linear, MatMul by a
// constant), others stay float and are reported. Throws Error where a constant scale is not finite
// and > 0, naming the node; the graph is then as it was.
bool lower_qdq(Graph& graph, LowerReport* report = nullptr);

// The same on a copy.
Graph lowered(Graph graph, LowerReport* report = nullptr);

}  // namespace wick::ir
