// Pairs the values of a quantized graph with those of the float graph that it was made from.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"
#include "quantize/qparams.h"

namespace wick::quantize {

struct Pairs {
  std::vector<ir::NodeId> node;    // by the float graph's NodeId; -1: no counterpart
  std::vector<ir::ValueId> value;  // by the float graph's ValueId; kNoValue: no counterpart
};

// Pairs inputs in order; nodes by op and name (those without a name in order), then by name alone:
// an op that became another one, or DequantizeLinear behind a Gather of integers. Throws Error if
// the inputs differ: the graphs are of two models.
Pairs pair_graphs(const ir::Graph& graph, const ir::Graph& quantized);

// Rounding is what happens to a value on its way to its readers in a QDQ graph: QuantizeLinear and
// DequantizeLinear.
struct Rounding {
  ir::NodeId quantize = -1, dequantize = -1;
  QParams params;
};
// Returns nothing if no reader takes integers, or if the scales are not constants.
std::optional<Rounding> rounding_of(const ir::Graph& quantized,
                                    const std::vector<std::vector<ir::NodeId>>& users,
                                    ir::ValueId value);

// Returns the scale and zero point that inputs `scale` and `zero` of a node hold; nothing if they
// are not constants.
std::optional<QParams> constant_params(const ir::Graph& g, const ir::Node& n, size_t scale,
                                       size_t zero, int64_t axis, DType dtype);

}  // namespace wick::quantize
