// What a file says beside the arithmetic: the module and the source line that made a node, who made
// the model.
#pragma once

#include "graph/ir/graph.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// In the node's metadata_props: wick.module "features.0", wick.line "net.cc:12". Formally they came
// with IR 10; onnx.checker and ONNX Runtime take them in any.
void write_origin(const ir::Node& node, NodeProto& to);
// Of the graph's nodes from `first` on, which `from` was read into; what they know already stays.
void read_origin(const NodeProto& from, ir::Graph& graph, size_t first);

// Which of several spellings a node has (wick.form), where its reader has to know: "" where it
// says nothing.
void write_form(const char* form, NodeProto& to);
std::string form_of(const NodeProto& node);

// Labels, metadata, and the fields of a model and its graph that describe them: producer, domain,
// model_version, doc_strings. They are metadata of a graph ("onnx.doc_string"), and a file that is
// written again says them again. A file that names no other producer is Wick's.
void write_about(const ir::Graph& graph, ModelProto& model);
void read_about(const ModelProto& model, ir::Graph& graph);

}  // namespace wick::onnx
