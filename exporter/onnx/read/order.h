// The order in which nodes can be read.
#pragma once

#include <vector>

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// The numbers of the nodes of one graph, whose inputs and initializers are `known`: each behind
// those whose outputs it reads, itself or in its subgraphs; otherwise as they are listed. ONNX asks
// files to be in order, ONNX Runtime sorts them. Throws Error, which names them, where nodes wait
// for each other.
std::vector<size_t> in_order(Span<const NodeProto* const> nodes,
                             const std::map<std::string, ValueId>& known);

}  // namespace wick::onnx
