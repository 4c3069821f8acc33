// What an operator takes: its inputs with their dtypes, and its attributes with their types. A node
// that has anything else is refused: a typing error, or an attribute of a later opset, would be
// passed over in silence and the model give other numbers.
#pragma once

#include <string>

#include "exporter/onnx/read.h"

namespace wick::onnx {

struct Signature {
  const char* name;
  int since;
  // A letter each: r required, o optional; at the end v any number, V one or more.
  const char* inputs;
  // Words of a name and a type: f i s t g (a float, int, string, tensor, graph), F I S lists of
  // them, p a sparse tensor, y a type; ! behind one that must be there. "axis:i split:I"
  const char* attributes = "";
};
Span<const Signature> signatures();
Span<const Signature> microsoft_signatures();

// At an opset from before the operator began: its first. Null: it is none of the domain, which is
// the default one or com.microsoft.
const Signature* find_signature(const std::string& name, int64_t opset,
                                const std::string& domain = "");

// What a node has that its operator has not, and what it lacks: "" or a sentence. In a function
// attributes may stand for those of the call.
std::string signature_fault(const NodeProto& node, int64_t opset, bool in_function);
// Throws Error, with the node's name, where there is a fault.
void check_signature(const ReadCtx& c);
// The same of a call of a model's own function.
void check_call(const ReadCtx& c, const FunctionProto& f);

// The dtypes of each input, a bit each by ONNX's numbers, of all versions of an operator together;
// the last of them is that of all further inputs. 0: what is left, or no tensor.
struct InputTypes {
  const char* name;
  uint32_t takes[9];
};
Span<const InputTypes> input_types();
const InputTypes* find_input_types(const std::string& name);
uint32_t taken_by(const InputTypes& types, size_t input);
bool takes(const InputTypes& types, size_t input, DType dtype);
// Throws Error where an input of a node of the default domain has a dtype that its operator never
// takes: what is written of it would be refused elsewhere.
void check_types(const ReadCtx& c);

// Why nobody reads a node of this name: what is nearest to it, or which domain has it.
std::string unknown_operator(const std::string& op_type, const std::string& domain);

// "INT", or what its fields say where it has no type (models from before attributes had one).
std::string type_of_attribute(const AttributeProto& a);

}  // namespace wick::onnx
