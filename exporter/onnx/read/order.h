// Sorts nodes into an order in which they can be read.
#pragma once

#include <vector>

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// Returns the indices of the nodes of one graph, whose inputs and initializers are `known`: each
// node comes after those whose outputs it reads, itself or in its subgraphs, and otherwise as
// listed. ONNX requires files to be in order, ONNX Runtime sorts them. Throws Error, which names
// the nodes, if some wait for each other.
std::vector<size_t> in_order(Span<const NodeProto* const> nodes,
                             const std::map<std::string, ValueId>& known);

}  // namespace wick::onnx
