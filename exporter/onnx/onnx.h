// ONNX <-> Graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

// Reads a model file: IR 3-13, opset 1-28 of the default domain, external data inside the model's
// folder only. Throws Error; what is not supported is listed whole, with the nodes' names.
ir::Graph import_onnx(const std::string& path);
// The same from memory. `folder` is where external data may lie; empty: none.
ir::Graph import_onnx_bytes(Span<const uint8_t> bytes, const std::string& folder = "");

// Opset 17, with symbolic dims as dim_params, labels and metadata as metadata_props. Throws Error
// when an op has no ONNX form (train-role and fused ops), or when libonnx's checker finds fault.
std::vector<uint8_t> onnx_bytes(const ir::Graph& graph);
// The op_types of the nodes that onnx_bytes() writes, in order, custom ones as "domain::Name".
std::vector<std::string> onnx_op_types(const ir::Graph& graph);
// The file is written beside the old one and renamed over it: a failure leaves the old file whole.
void export_onnx(const ir::Graph& graph, const std::string& path);

}  // namespace wick
