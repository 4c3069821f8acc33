#include "exporter/onnx/read/signature.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "exporter/onnx/read/subgraph.h"

namespace wick::onnx {
namespace {

struct Attribute {
  std::string_view name;
  char type;
  bool required;
};

// Visits the words of OperatorVersion::attributes, one after the other.
template <class Visit>
void each_attribute(const OperatorVersion& s, const Visit& visit) {
  std::string_view rest = s.attributes;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size()), colon = rest.find(':');
    visit(Attribute{rest.substr(0, colon), rest[colon + 1], rest[end - 1] == '!'});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

const char* type_name(char letter) {
  switch (letter) {
    case 'f': return "FLOAT";
    case 'i': return "INT";
    case 's': return "STRING";
    case 't': return "TENSOR";
    case 'g': return "GRAPH";
    case 'F': return "FLOATS";
    case 'I': return "INTS";
    case 'S': return "STRINGS";
    case 'p': return "SPARSE_TENSOR";
    default: return "TYPE_PROTO";
  }
}

// Returns "Softmax of opset 17", "Gelu of com.microsoft".
std::string versioned(const NodeProto& node, int64_t opset) {
  if (!default_domain(node.domain())) return fmt::format("{} of {}", node.op_type(), node.domain());
  return fmt::format("{} of opset {}", node.op_type(), opset);
}

bool has(const NodeProto& node, int i) { return i < node.input_size() && !node.input(i).empty(); }

// Returns whether an attribute is a leftover of exporters that has no meaning in inference: a hint
// of opset 1, a flag that the model is not being trained, or a name that begins with "__", which
// ONNX leaves to everyone.
bool says_nothing(const NodeProto& node, const AttributeProto& a) {
  const std::string& op = node.op_type();
  const bool norm = op == "BatchNormalization", dropout = op == "Dropout";
  if (a.name() == "consumed_inputs" || a.name().starts_with("__")) return true;
  if (a.name() == "is_test") return (norm || dropout) && a.i() != 0;
  if (a.name() == "spatial") return norm && a.i() != 0;
  return a.name() == "ratio" && dropout && !has(node, 2);
}

// Returns whether a required input may be missing because that can mean one thing only, and models
// do it: inputs that a Resize of opset 11 ignores, and the carried values of a Loop that has none.
bool may_lack(const NodeProto& node, size_t i) {
  const std::string& op = node.op_type();
  return (op == "Resize" && (i == 1 || i == 2)) || (op == "Loop" && i == 2);
}

std::string input_fault(const NodeProto& node, int64_t opset, const OperatorVersion& s) {
  const std::string_view takes = s.inputs.letters;
  const bool many = !takes.empty() && (takes.back() == 'v' || takes.back() == 'V');
  int given = node.input_size();
  while (given > 0 && !has(node, given - 1)) --given;
  if (!many && given > static_cast<int>(takes.size()))
    return fmt::format("has {} inputs, {} takes at most {}", given, versioned(node, opset),
                       takes.size());
  for (size_t i = 0; i < takes.size(); ++i) {
    const bool asked = takes[i] == 'r' || takes[i] == 'V';
    if (asked && !has(node, static_cast<int>(i)) && !may_lack(node, i))
      return fmt::format("input {} is required ({})", i, versioned(node, opset));
  }
  return "";
}

std::string unknown_attribute(const OperatorVersion& s, const std::string& name,
                              const std::string& of) {
  std::string all;
  each_attribute(s, [&](const Attribute& a) {
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", a.name);
  });
  return all.empty() ? fmt::format("attribute '{}' is unknown: {} has none", name, of)
                     : fmt::format("attribute '{}' is not one of {} ({})", name, all, of);
}

std::string attribute_fault(const NodeProto& node, int64_t opset, const OperatorVersion& s,
                            const AttributeProto& a, bool in_function) {
  const bool stands_for = !a.ref_attr_name().empty();
  if (stands_for && !in_function)
    return fmt::format("attribute '{}' stands for '{}' of a function, and is in none", a.name(),
                       a.ref_attr_name());
  char type = 0;
  each_attribute(s, [&](const Attribute& known) {
    if (known.name == a.name()) type = known.type;
  });
  if (type == 0 && says_nothing(node, a)) return "";
  if (type == 0) return unknown_attribute(s, a.name(), versioned(node, opset));
  const std::string is = stands_for ? std::string() : type_of_attribute(a);
  if (!is.empty() && is != type_name(type))
    return fmt::format("attribute '{}' is {}, expected {}", a.name(), is, type_name(type));
  return "";
}

}  // namespace

std::string type_of_attribute(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return AttributeProto::AttributeType_Name(a.type());
  std::string set;
  auto add = [&](bool here, const char* field) {
    if (here) set += (set.empty() ? std::string() : std::string(" and ")) + field;
  };
  add(a.has_f(), "FLOAT"), add(a.has_i(), "INT"), add(a.has_s(), "STRING");
  add(a.has_t(), "TENSOR"), add(a.has_g(), "GRAPH"), add(a.floats_size() > 0, "FLOATS");
  add(a.ints_size() > 0, "INTS"), add(a.strings_size() > 0, "STRINGS");
  add(a.tensors_size() > 0, "TENSORS"), add(a.graphs_size() > 0, "GRAPHS");
  add(a.has_sparse_tensor(), "SPARSE_TENSOR"), add(a.has_tp(), "TYPE_PROTO");
  return set;
}

std::string signature_fault(const NodeProto& node, int64_t opset, bool in_function) {
  const OperatorVersion* s = find_version(node.op_type(), opset, node.domain());
  if (s == nullptr) return "";
  if (std::string why = input_fault(node, opset, *s); !why.empty()) return why;
  std::set<std::string_view> given;
  for (const AttributeProto& a : node.attribute()) {
    if (std::string why = attribute_fault(node, opset, *s, a, in_function); !why.empty())
      return why;
    if (!given.insert(a.name()).second)
      return fmt::format("attribute '{}' is given twice", a.name());
  }
  std::string missing;
  each_attribute(*s, [&](const Attribute& a) {
    if (a.required && given.count(a.name) == 0 && missing.empty())
      missing = fmt::format("attribute '{}' is required ({})", a.name, versioned(node, opset));
  });
  return missing;
}

void check_signature(const ReadCtx& c) {
  if (const std::string why = signature_fault(c.node, c.opset, false); !why.empty()) c.fail(why);
}

void check_call(const ReadCtx& c, const FunctionProto& f) {
  int given = c.inputs();
  while (given > 0 && !c.has(given - 1)) --given;
  if (given > f.input_size())
    c.fail(fmt::format("has {} inputs, the function takes {}", given, f.input_size()));
  if (c.outputs() > f.output_size())
    c.fail(fmt::format("has {} outputs, the function gives {}", c.outputs(), f.output_size()));
  std::set<std::string_view> known(f.attribute().begin(), f.attribute().end());
  for (const AttributeProto& a : f.attribute_proto()) known.insert(a.name());
  for (const AttributeProto& a : c.node.attribute()) {
    if (known.count(a.name()) == 0 && !a.name().starts_with("__"))
      c.fail(fmt::format("attribute '{}' is none of the function's", a.name()));
  }
}

}  // namespace wick::onnx
