// Constants of byte operators that a file holds in another form.
#pragma once

#include "exporter/onnx/onnx.h"
#include "graph/ir/graph.h"

namespace wick::onnx {

// Returns whether a file holds this constant input only as the node's row makes it: transposed, as
// a scalar for [1], or in the other byte dtype. The input must be there.
bool written_anew(const ir::Graph& g, const ir::Node& node, size_t input, QuantizedForm form);

}  // namespace wick::onnx
