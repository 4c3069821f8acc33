#include "exporter/onnx/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace wick::onnx {
namespace {

struct Attribute {
  std::string_view name;
  char type;
  bool required;
};

// The words of Signature::attributes, one after the other.
template <class Visit>
void each_attribute(const Signature& s, const Visit& visit) {
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

std::string at_opset(const ReadCtx& c) {
  return fmt::format("{} of opset {}", c.node.op_type(), c.opset);
}

// What exporters leave behind that says nothing an inference could heed: a hint of opset 1, what
// says that the model is not being trained, and names that begin with "__", which ONNX leaves to
// everyone.
bool says_nothing(const ReadCtx& c, const AttributeProto& a) {
  const std::string& op = c.node.op_type();
  const bool norm = op == "BatchNormalization", dropout = op == "Dropout";
  if (a.name() == "consumed_inputs" || a.name().starts_with("__")) return true;
  if (a.name() == "is_test") return (norm || dropout) && a.i() != 0;
  if (a.name() == "spatial") return norm && a.i() != 0;
  return a.name() == "ratio" && dropout && !c.has(2);
}

// Inputs that ONNX asks for where leaving them out can mean one thing only, and models do: what a
// Resize of opset 11 does not heed, and the carried values of a Loop that has none.
bool may_lack(const ReadCtx& c, size_t i) {
  const std::string& op = c.node.op_type();
  return (op == "Resize" && (i == 1 || i == 2)) || (op == "Loop" && i == 2);
}

void check_inputs(const ReadCtx& c, const Signature& s) {
  const std::string_view takes = s.inputs;
  const bool many = !takes.empty() && (takes.back() == 'v' || takes.back() == 'V');
  int given = c.inputs();
  while (given > 0 && !c.has(given - 1)) --given;
  if (!many && given > static_cast<int>(takes.size()))
    c.fail(fmt::format("has {} inputs, {} takes at most {}", given, at_opset(c), takes.size()));
  for (size_t i = 0; i < takes.size(); ++i) {
    const bool asked = takes[i] == 'r' || takes[i] == 'V';
    if (asked && !c.has(static_cast<int>(i)) && !may_lack(c, i))
      c.fail(fmt::format("input {} is required ({})", i, at_opset(c)));
  }
}

void unknown(const ReadCtx& c, const Signature& s, const std::string& name) {
  std::string all;
  each_attribute(s, [&](const Attribute& a) {
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", a.name);
  });
  c.fail(all.empty() ? fmt::format("attribute '{}' is unknown: {} has none", name, at_opset(c))
                     : fmt::format("attribute '{}' is not one of {} ({})", name, all, at_opset(c)));
}

void check_attribute(const ReadCtx& c, const Signature& s, const AttributeProto& a) {
  if (!a.ref_attr_name().empty())
    c.fail(fmt::format("attribute '{}' stands for '{}' of a function, and is in none", a.name(),
                       a.ref_attr_name()));
  char type = 0;
  each_attribute(s, [&](const Attribute& known) {
    if (known.name == a.name()) type = known.type;
  });
  if (type == 0 && says_nothing(c, a)) return;
  if (type == 0) unknown(c, s, a.name());
  const std::string is = type_of_attribute(a);
  if (!is.empty() && is != type_name(type))
    c.fail(fmt::format("attribute '{}' is {}, expected {}", a.name(), is, type_name(type)));
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

const Signature* find_signature(const std::string& name, int64_t opset) {
  const Span<const Signature> all = signatures();
  auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const Signature& s, const std::string& wanted) { return s.name < wanted; });
  const Signature* found = nullptr;
  for (; at != all.end() && name == at->name; ++at) {
    if (found == nullptr || at->since <= opset) found = &*at;
  }
  return found;
}

void check_signature(const ReadCtx& c) {
  const Signature* s = find_signature(c.node.op_type(), c.opset);
  if (s == nullptr) return;
  check_inputs(c, *s);
  std::set<std::string_view> given;
  for (const AttributeProto& a : c.node.attribute()) {
    check_attribute(c, *s, a);
    if (!given.insert(a.name()).second)
      c.fail(fmt::format("attribute '{}' is given twice", a.name()));
  }
  each_attribute(*s, [&](const Attribute& a) {
    if (a.required && given.count(a.name) == 0)
      c.fail(fmt::format("attribute '{}' is required ({})", a.name, at_opset(c)));
  });
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
