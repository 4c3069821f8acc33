#include "exporter/onnx/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "exporter/onnx/checker.h"
#include "exporter/onnx/microsoft.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/read.h"
#include "exporter/onnx/subgraph.h"
#include "exporter/onnx/tensor.h"
#include "graph/interpreter/interpreter.h"
#include "wick/error.h"

namespace wick {
namespace onnx {
namespace {

// What changed after the opset that libonnx knows, as the operators' public change log has it.
constexpr int kLibraryOpset = 17;
struct Later {
  IntList<8> opsets;
  const char* names;
};
constexpr Later kLater[] = {
    {{18},
     "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im "
     "OptionalGetElement OptionalHasElement ReduceL1 ReduceL2 ReduceLogSum "
     "ReduceLogSumExp ReduceMean ReduceProd ReduceSumSquare ScatterElements "
     "ScatterND Split"},
    {{18, 19}, "Resize"},
    {{18, 19, 21, 23, 24, 25}, "Pad"},
    {{18, 20}, "ReduceMax ReduceMin"},
    {{18, 21}, "GroupNormalization"},
    {{18, 22}, "LpPool Mish"},
    {{19}, "Equal"},
    {{19, 21, 23, 24, 25},
     "Cast CastLike Constant DequantizeLinear Identity If Loop QuantizeLinear "
     "Reshape Scan Shape Size"},
    {{19, 22}, "AveragePool DeformConv"},
    {{20},
     "AffineGrid DFT Gelu ImageDecoder IsInf IsNaN RegexFullMatch StringConcat "
     "StringSplit"},
    {{20, 21, 23, 24, 25}, "ConstantOfShape"},
    {{20, 22}, "GridSample"},
    {{21}, "QLinearMatMul"},
    {{21, 23, 24, 25}, "Flatten Squeeze Transpose Unsqueeze"},
    {{22},
     "Acos Acosh Asin Asinh Atan Atanh Bernoulli Conv ConvTranspose Cos Cosh Det "
     "Dropout Elu EyeLike GRU GlobalAveragePool GlobalLpPool GlobalMaxPool "
     "HardSigmoid HardSwish InstanceNormalization LSTM LpNormalization MaxPool "
     "MaxRoiPool MaxUnpool Multinomial NegativeLogLikelihoodLoss RNN RandomNormal "
     "RandomNormalLike RandomUniform RandomUniformLike RoiAlign Round Selu Sin Sinh "
     "Softplus Softsign Tan ThresholdedRelu"},
    {{23}, "RMSNormalization RotaryEmbedding"},
    {{23, 24, 25}, "Attention"},
    {{24}, "SplitToSequence Swish TensorScatter TopK"},
    {{26}, "BitCast CumProd"},
    {{27}, "CausalConvWithState LinearAttention Range"},
    {{28}, "Celu SwiGLU"},
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// The numbers between two brackets: "[1,2]".
std::vector<std::string> items(const std::string& text, char open, char close) {
  size_t from = text.find(open), to = text.find(close, from);
  std::vector<std::string> found;
  if (from == std::string::npos) return found;
  std::istringstream in(text.substr(from + 1, to - from - 1));
  for (std::string item; std::getline(in, item, ',');) found.push_back(item);
  return found;
}

// "T[2,3]", "f32[2]": a dtype and a shape.
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

HostTensor filled(const TypeWord& type, const std::vector<std::string>& values) {
  HostTensor wide(DType::kF64, type.shape);
  for (size_t i = 0; i < values.size(); ++i) wide.as<double>()[i] = std::stod(values[i]);
  const CastAttrs to{static_cast<int64_t>(type.dtype)};
  return ir::run_node(OpId::kCast, &to, {&wide, 1}, 1)[0];
}

// The smallest graphs that control nodes own: what goes in comes out.
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
      if (reals) a.add_floats(std::stof(v));
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
    a.set_f(std::stof(value));
  } else if (is_number(value)) {
    a.set_type(AttributeProto::INT);
    a.set_i(std::stoll(value));
  } else {
    a.set_type(AttributeProto::STRING);
    a.set_s(value);
  }
  return a;
}

// "com.microsoft::Name" as its domain, and its name.
constexpr const char* kMicrosoftPrefix = "com.microsoft::";
bool strip_domain(std::string* name) {
  const size_t length = std::string(kMicrosoftPrefix).size();
  if (name->compare(0, length, kMicrosoftPrefix) != 0) return false;
  name->erase(0, length);
  return true;
}

const OperatorForm* find_form(Span<const OperatorForm> forms, const std::string& name, int opset) {
  const OperatorForm* found = nullptr;
  for (const OperatorForm& form : forms) {
    if (name == form.name && form.since <= opset) found = &form;
  }
  return found;
}

}  // namespace
}  // namespace onnx

std::vector<OnnxOperator> onnx_operators() {
  using namespace onnx;  // NOLINT: the room's own door
  std::map<std::string, OnnxOperator> found;
  for (const SchemaChanges& s : schema_changes(kLibraryOpset))
    found[s.name] = {s.name, s.changes, s.deprecated > 0 ? s.deprecated - 1 : kNewestOpset};
  for (const Later& later : kLater) {
    for (const std::string& name : words(later.names)) {
      OnnxOperator& op = found[name];
      op.name = name;
      op.changes.insert(op.changes.end(), later.opsets.span().begin(), later.opsets.span().end());
    }
  }
  std::vector<OnnxOperator> list;
  for (auto& [name, op] : found) {
    if (find_read_row(name) == nullptr) op.why_out = why_unread(name);
    list.push_back(op);
  }
  std::stable_partition(list.begin(), list.end(),
                        [](const OnnxOperator& op) { return op.until == kNewestOpset; });
  return list;
}

std::vector<OnnxOperator> microsoft_operators() {
  std::vector<OnnxOperator> list;
  for (const std::string& name : onnx::microsoft_operator_names())
    list.push_back({onnx::kMicrosoftPrefix + name, {1}, 1});
  return list;
}

std::vector<uint8_t> onnx_sample(const std::string& full_name, int opset, DType dtype) {
  using namespace onnx;  // NOLINT: the room's own door
  std::string name = full_name;
  const bool microsoft = strip_domain(&name);
  const OperatorForm* form =
      find_form(microsoft ? microsoft_operator_forms() : operator_forms(), name, opset);
  if (form == nullptr || form->inputs == nullptr) return {};
  ModelProto model;
  model.set_ir_version(opset < 4 ? 3 : 10);
  model.add_opset_import()->set_version(opset);
  if (microsoft) {
    model.mutable_opset_import(0)->set_domain(kMicrosoft);
    model.set_ir_version(10);
  }
  GraphProto& g = *model.mutable_graph();
  NodeProto& node = *g.add_node();
  node.set_op_type(name);
  if (microsoft) node.set_domain(kMicrosoft);
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
