// Reads and writes what a file says besides the arithmetic: the module and the source line that
// made a node, and who made the model.
#pragma once

#include "graph/ir/graph.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Writes the node's origin into its metadata_props: wick.module "features.0", wick.line
// "net.cc:12". Formally they came with IR 10; onnx.checker and ONNX Runtime take them in any IR.
void write_origin(const ir::Node& node, NodeProto& to);
// Gives the origin of `from` to the graph's nodes from `first` on, into which it was read; an
// origin that a node already has stays.
void read_origin(const NodeProto& from, ir::Graph& graph, size_t first);

// Writes which of several forms a node has (wick.form), where its reader has to know. form_of()
// returns "" if the node does not say.
void write_form(const char* form, NodeProto& to);
std::string form_of(const NodeProto& node);

// Write and read labels, metadata, and the fields of a model and its graph that describe them:
// producer, domain, model_version, doc_strings. In a graph they are metadata ("onnx.doc_string"),
// and a file that is written again has them again. A file that names no other producer is Wick's.
void write_about(const ir::Graph& graph, ModelProto& model);
void read_about(const ModelProto& model, ir::Graph& graph);

}  // namespace wick::onnx
