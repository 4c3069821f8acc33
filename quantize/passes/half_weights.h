// Rounds weights to 16-bit floats.
#pragma once

#include "quantize/recipe.h"

#include "graph/ir/graph.h"

namespace wick::quantize {

// Returns whether input `i` of the node is a constant matrix or tensor of float32 numbers that the
// node multiplies with, or gathers rows of: what the recipes call a weight.
bool is_weight(const ir::Graph& graph, const ir::Node& node, size_t i);

// Rounds a float32 tensor to the nearest numbers of kF16 or kBF16, ties to even, and keeps float32.
// Returns an absent tensor if a finite number would become infinite.
HostTensor rounded_to(const HostTensor& weight, DType dtype);

// Returns a copy of the graph in which the weights of nodes that recipe.widths keeps at f16 are
// rounded so. Values keep their ids; new ones are appended. Throws Error for a weight beyond
// float16's range.
ir::Graph with_half_weights(const ir::Graph& graph, const Recipe& recipe);

}  // namespace wick::quantize
