// Constants of operators of bytes that a file holds in another form.
#pragma once

#include "exporter/onnx/onnx.h"
#include "graph/ir/graph.h"

namespace wick::onnx {

// Whether a file holds this constant input only as the node's row makes it: turned, a scalar for
// [1], or of the other byte dtype. `input` is one that there is.
bool written_anew(const ir::Graph& g, const ir::Node& node, size_t input, QuantizedForm form);

}  // namespace wick::onnx
