#include "tests/exporter/library_signatures.h"

#include <onnx/defs/schema.h>

#include <map>

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

// "tensor(float)" and the like; sequences and optionals have no bit.
uint32_t bits(const OpSchema& schema, size_t input) {
  static const std::map<std::string, int> kNumbers = {
      {"float", 1},   {"uint8", 2},      {"int8", 3},        {"uint16", 4},
      {"int16", 5},   {"int32", 6},      {"int64", 7},       {"string", 8},
      {"bool", 9},    {"float16", 10},   {"double", 11},     {"uint32", 12},
      {"uint64", 13}, {"complex64", 14}, {"complex128", 15}, {"bfloat16", 16}};
  uint32_t set = 0;
  for (const std::string* type : schema.inputs()[input].GetTypes()) {
    const size_t open = type->find('(');
    const auto found = kNumbers.find(type->substr(open + 1, type->size() - open - 2));
    if (type->compare(0, open, "tensor") == 0 && found != kNumbers.end())
      set |= uint32_t{1} << found->second;
  }
  return set;
}

}  // namespace

std::vector<LibrarySignature> library_signatures() {
  std::vector<LibrarySignature> all;
  for (const OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() || schema.Deprecated()) continue;
    LibrarySignature s{schema.Name(), schema.since_version(), "", "", {}};
    for (size_t i = 0; i < schema.inputs().size(); ++i)
      s.inputs += letter(schema, i), s.types.push_back(bits(schema, i));
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
