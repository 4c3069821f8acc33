// What an operator of ONNX's default domain takes: its inputs, and its attributes with their types.
// A node that has anything else is refused: a typing error, or an attribute of a later opset, would
// be passed over in silence and the model give other numbers.
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

// At an opset from before the operator began: its first. Null: it is none of the default domain.
const Signature* find_signature(const std::string& name, int64_t opset);

// Throws Error, with the node's name, where it has other inputs or attributes.
void check_signature(const ReadCtx& c);
// The same of a call of a model's own function.
void check_call(const ReadCtx& c, const FunctionProto& f);

// "INT", or what its fields say where it has no type (models from before attributes had one).
std::string type_of_attribute(const AttributeProto& a);

}  // namespace wick::onnx
