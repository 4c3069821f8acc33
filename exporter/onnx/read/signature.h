// Checks what an operator takes: its inputs with their dtypes, and its attributes with their types.
// A node that has anything else is refused: otherwise a typing error, or an attribute of a later
// opset, would be ignored silently and the model would give other numbers.
#pragma once

#include <string>

#include "exporter/onnx/operators/table.h"
#include "exporter/onnx/read/read.h"

namespace wick::onnx {

// Returns what a node has that its operator does not have, or what it lacks: "" or a sentence. In a
// function attributes may refer to those of the call.
std::string signature_fault(const NodeProto& node, int64_t opset, bool in_function);
// Throws Error, with the node's name, if there is a fault.
void check_signature(const ReadCtx& c);
// Does the same for a call of a model's own function.
void check_call(const ReadCtx& c, const FunctionProto& f);

// Returns whether some version of the operator takes the dtype there.
bool takes(const OperatorVersion& v, size_t input, DType dtype);
// Returns whether some version takes sequences or optionals somewhere.
bool takes_containers(const std::string& op_type);
// Throws Error if an input of a node has a dtype that no version of its operator takes: the model
// written from it would be refused elsewhere.
void check_types(const ReadCtx& c);

// Returns why no operator has this name: the nearest name, or the domain that has it.
std::string unknown_operator(const std::string& op_type, const std::string& domain);

// Returns "INT", or what its fields imply if it has no type (models from before attributes had
// one).
std::string type_of_attribute(const AttributeProto& a);

}  // namespace wick::onnx
