// Converts between ONNX TypeProto and the type of a graph's value: tensors, sequences and optionals
// of them.
#pragma once

#include "graph/ir/graph.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Returns whether the file names this size. The graph's own names for sizes begin with '?' until
// they are known to be the same; a file's "?" is a size that nobody named.
bool is_named(const TensorShapeProto::Dimension& dim);

// Returns the value's type. Symbols are declared in `g`; a size that a tensor leaves open gets a
// symbol of its own. `what` names the value in errors: "input 'x'". A type that says nothing has
// the dtype kNone.
ir::Value type_of(const TypeProto& type, ir::Graph& g, const std::string& what);

void set_type(TypeProto& type, const ir::Value& value);

}  // namespace wick::onnx
