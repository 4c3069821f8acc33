#include "tests/exporter/library_signatures.h"

#include <onnx/defs/schema.h>

namespace wick::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::OpSchema;

char letter(AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT: return 'f';
    case AttributeProto::INT: return 'i';
    case AttributeProto::STRING: return 's';
    case AttributeProto::TENSOR: return 't';
    case AttributeProto::GRAPH: return 'g';
    case AttributeProto::FLOATS: return 'F';
    case AttributeProto::INTS: return 'I';
    case AttributeProto::STRINGS: return 'S';
    case AttributeProto::SPARSE_TENSOR: return 'p';
    case AttributeProto::TYPE_PROTO: return 'y';
    default: return '?';
  }
}

char letter(const OpSchema& schema, size_t i) {
  switch (schema.inputs()[i].GetOption()) {
    case OpSchema::Optional: return 'o';
    case OpSchema::Variadic: return schema.min_input() > static_cast<int>(i) ? 'V' : 'v';
    default: return 'r';
  }
}

}  // namespace

std::vector<LibrarySignature> library_signatures() {
  std::vector<LibrarySignature> all;
  for (const OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() || schema.Deprecated()) continue;
    LibrarySignature s{schema.Name(), schema.since_version(), "", ""};
    for (size_t i = 0; i < schema.inputs().size(); ++i) s.inputs += letter(schema, i);
    for (const auto& [name, attribute] : schema.attributes()) {
      if (name == "consumed_inputs") continue;
      s.attributes += (s.attributes.empty() ? "" : " ") + name + ':' + letter(attribute.type) +
                      (attribute.required ? "!" : "");
    }
    all.push_back(s);
  }
  return all;
}

}  // namespace wick::test
