// What an operator takes: its inputs with their dtypes, and its attributes with their types. A node
// that has anything else is refused: a typing error, or an attribute of a later opset, would be
// passed over in silence and the model give other numbers.
#pragma once

#include <string>

#include "exporter/onnx/operators/table.h"
#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// What a node has that its operator has not, and what it lacks: "" or a sentence. In a function
// attributes may stand for those of the call.
std::string signature_fault(const NodeProto& node, int64_t opset, bool in_function);
// Throws Error, with the node's name, where there is a fault.
void check_signature(const ReadCtx& c);
// The same of a call of a model's own function.
void check_call(const ReadCtx& c, const FunctionProto& f);

// Whether some version of the operator takes the dtype there.
bool takes(const OperatorVersion& v, size_t input, DType dtype);
// Whether some version takes sequences or optionals somewhere.
bool takes_containers(const std::string& op_type);
// Throws Error where an input of a node has a dtype that no version of its operator takes: what is
// written of it would be refused elsewhere.
void check_types(const ReadCtx& c);

// Why nobody reads a node of this name: what is nearest to it, or which domain has it.
std::string unknown_operator(const std::string& op_type, const std::string& domain);

// "INT", or what its fields say where it has no type (models from before attributes had one).
std::string type_of_attribute(const AttributeProto& a);

}  // namespace wick::onnx
