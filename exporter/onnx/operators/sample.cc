#include "exporter/onnx/operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators/table.h"
#include "exporter/onnx/read/read.h"
#include "exporter/onnx/read/subgraph.h"
#include "graph/interpreter/interpreter.h"
#include "runtime/core/real_text.h"
#include "wick/error.h"

namespace wick {
namespace onnx {
namespace {

// Splits an example into words. Inputs: T[2,3] has the dtype that is tried, f32[2] its own; {1,2}
// after one makes it an initializer of these values; _ is absent. Attributes: axis=1 axes=[0,1]
// alpha=1.0 mode=linear value=T[1] body=@loop (a graph that body() makes) words=(a,b).
std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// Returns the numbers between two brackets: "[1,2]".
std::vector<std::string> items(const std::string& text, char open, char close) {
  size_t from = text.find(open), to = text.find(close, from);
  std::vector<std::string> found;
  if (from == std::string::npos) return found;
  std::istringstream in(text.substr(from + 1, to - from - 1));
  for (std::string item; std::getline(in, item, ',');) found.push_back(item);
  return found;
}

// TypeWord is a dtype and a shape: "T[2,3]", "f32[2]".
struct TypeWord {
  DType dtype = DType::kNone;
  Shape shape;
};
TypeWord type_word(const std::string& word, DType tried) {
  static const std::map<std::string, DType> kTypes = {{"f32", DType::kF32},
                                                      {"i64", DType::kI64},
                                                      {"i32", DType::kI32},
                                                      {"u8", DType::kU8},
                                                      {"bool", DType::kBool}};
  TypeWord t;
  const std::string name = word.substr(0, word.find('['));
  t.dtype = name == "T" ? tried : kTypes.at(name);
  for (const std::string& d : items(word, '[', ']')) t.shape.push_back(std::stoll(d));
  return t;
}

void declare(ValueInfoProto* info, const std::string& name, const TypeWord& type) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type.dtype));
  tensor->mutable_shape();
  for (int64_t d : type.shape) tensor->mutable_shape()->add_dim()->set_dim_value(d);
}

double real(const std::string& word) {
  double value = 0;
  if (!read_real(word, &value)) throw Error("'" + word + "' of an operator's example is no number");
  return value;
}

HostTensor filled(const TypeWord& type, const std::vector<std::string>& values) {
  HostTensor wide(DType::kF64, type.shape);
  for (size_t i = 0; i < values.size(); ++i) wide.as<double>()[i] = real(values[i]);
  const CastAttrs to{static_cast<int64_t>(type.dtype)};
  return ir::run_node(OpId::kCast, &to, {&wide, 1}, 1)[0];
}

// Makes the smallest subgraphs for control nodes: they return their inputs.
GraphProto body(const std::string& which, const TypeWord& carried) {
  GraphProto g;
  g.set_name(which);
  auto pass = [&](const std::string& from, const std::string& to) {
    NodeProto* n = g.add_node();
    n->set_op_type("Identity");
    n->set_name(to);
    n->add_input(from);
    n->add_output(to);
    g.add_output()->set_name(to);
  };
  if (which == "@branch") {
    *g.add_initializer() = encode(HostTensor(carried.dtype, Shape{2}), "c");
    pass("c", "out");
  } else if (which == "@loop") {
    declare(g.add_input(), "i", {DType::kI64, {}});
    declare(g.add_input(), "more", {DType::kBool, {}});
    declare(g.add_input(), "v", carried);
    pass("more", "more_out");
    pass("v", "v_out");
  } else if (which == "@same") {
    declare(g.add_input(), "v", carried);
    pass("v", "v_out");
  } else {
    declare(g.add_input(), "state", carried);
    declare(g.add_input(), "slice", carried);
    pass("state", "state_out");
    pass("slice", "slice_out");
  }
  return g;
}

bool is_number(const std::string& s) {
  return !s.empty() && s.find_first_not_of("-0123456789.") == std::string::npos;
}
bool is_real(const std::string& s) { return s.find('.') != std::string::npos; }

AttributeProto attribute(const std::string& word, DType tried) {
  const size_t at = word.find('=');
  const std::string value = word.substr(at + 1);
  AttributeProto a;
  a.set_name(word.substr(0, at));
  if (value[0] == '[') {
    const std::vector<std::string> list = items(value, '[', ']');
    const bool reals = is_real(list[0]);
    a.set_type(reals ? AttributeProto::FLOATS : AttributeProto::INTS);
    for (const std::string& v : list) {
      if (reals) a.add_floats(static_cast<float>(real(v)));
      if (!reals) a.add_ints(std::stoll(v));
    }
  } else if (value[0] == '(') {
    a.set_type(AttributeProto::STRINGS);
    for (const std::string& v : items(value, '(', ')')) a.add_strings(v);
  } else if (value[0] == '@') {
    a.set_type(AttributeProto::GRAPH);
    *a.mutable_g() = body(value, {tried, {2}});
  } else if (value == "T") {
    a.set_type(AttributeProto::INT);
    a.set_i(static_cast<int64_t>(tried));
  } else if (value.find('[') != std::string::npos) {
    const TypeWord type = type_word(value, tried);
    a.set_type(AttributeProto::TENSOR);
    *a.mutable_t() = encode(HostTensor(type.dtype, type.shape), "");
  } else if (is_number(value) && is_real(value)) {
    a.set_type(AttributeProto::FLOAT);
    a.set_f(static_cast<float>(real(value)));
  } else if (is_number(value)) {
    a.set_type(AttributeProto::INT);
    a.set_i(std::stoll(value));
  } else {
    a.set_type(AttributeProto::STRING);
    a.set_s(value);
  }
  return a;
}

}  // namespace
}  // namespace onnx

namespace {

// Returns the operators that are listed, by name.
std::vector<OnnxOperator> listed(const std::string& domain, const std::string& prefix) {
  std::vector<OnnxOperator> list;
  for (const onnx::OperatorVersion& v : onnx::operator_versions(domain)) {
    if (!v.listed) continue;
    const std::string name = prefix + v.name;
    if (list.empty() || list.back().name != name) {
      list.push_back({name, {}});
      if (v.read == nullptr) list.back().why_out = onnx::why_unread(v.name, domain);
    }
    list.back().changes.push_back(v.since);
  }
  return list;
}

}  // namespace

std::vector<OnnxOperator> onnx_operators() {
  std::vector<OnnxOperator> list = listed("", "");
  for (OnnxOperator& op : list) {
    if (const int end = onnx::deprecated_from(op.name); end != 0) op.until = end - 1;
  }
  std::stable_partition(list.begin(), list.end(),
                        [](const OnnxOperator& op) { return op.until == kNewestOpset; });
  return list;
}

std::vector<OnnxOperator> onnx_operators_of(const std::string& domain) {
  std::vector<OnnxOperator> list = listed(domain, domain + "::");
  std::erase_if(list, [](const OnnxOperator& op) { return !op.why_out.empty(); });
  for (OnnxOperator& op : list) op.until = domain == onnx::kMl ? kNewestMl : 1;
  return list;
}

std::vector<uint8_t> onnx_sample(const std::string& full_name, int opset, DType dtype) {
  using namespace onnx;  // NOLINT: the room's own door
  const size_t colons = full_name.find("::");
  const std::string domain = colons == std::string::npos ? "" : full_name.substr(0, colons);
  const std::string name = full_name.substr(colons == std::string::npos ? 0 : colons + 2);
  const OperatorVersion* version = find_version(name, opset, domain);
  if (version == nullptr || version->since > opset || version->example.inputs == nullptr) return {};
  const Example* form = &version->example;
  ModelProto model;
  model.set_ir_version(opset < 4 && domain.empty() ? 3 : 10);
  auto& import = *model.add_opset_import();
  import.set_domain(domain);
  import.set_version(opset);
  if (domain == kPreview) model.add_opset_import()->set_version(kNewestOpset);  // for its subgraphs
  GraphProto& g = *model.mutable_graph();
  NodeProto& node = *g.add_node();
  node.set_op_type(name);
  node.set_domain(domain);
  node.set_name("sample");
  for (const std::string& word : words(form->inputs)) {
    const std::string input = fmt::format("x{}", node.input_size());
    node.add_input(word == "_" ? std::string() : input);
    if (word == "_") continue;
    const TypeWord type = type_word(word, dtype);
    if (word.find('{') == std::string::npos) {
      declare(g.add_input(), input, type);
    } else {
      *g.add_initializer() = encode(filled(type, items(word, '{', '}')), input);
    }
  }
  const bool strings = dtype == DType::kString && form->for_strings != nullptr;
  for (const std::string& word : words(strings ? form->for_strings : form->attributes))
    *node.add_attribute() = attribute(word, dtype);
  for (int i = 0; i < form->outputs; ++i) {
    node.add_output(fmt::format("y{}", i));
    g.add_output()->set_name(node.output(i));
  }
  const std::string bytes = model.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

int onnx_written_opset(const ir::Graph& graph) {
  const std::vector<uint8_t> bytes = onnx_bytes(graph);
  onnx::ModelProto model;
  model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  for (const auto& entry : model.opset_import()) {
    if (onnx::default_domain(entry.domain())) return static_cast<int>(entry.version());
  }
  return 0;
}

}  // namespace wick
