#include "exporter/onnx/microsoft/microsoft.h"

#include <algorithm>

#include "exporter/onnx/file/names.h"
#include "exporter/onnx/operators/table.h"

namespace wick::onnx {

Standard::Standard(ReadCtx& c, const char* op_type, int64_t opset) : c_(c), opset_(opset) {
  node_.set_op_type(op_type);
  node_.set_name(c.node.name());
}

AttributeProto* Standard::add(const char* name, AttributeProto::AttributeType type) {
  AttributeProto* a = node_.add_attribute();
  a->set_name(name);
  a->set_type(type);
  return a;
}
Standard& Standard::set(const char* name, int64_t v) {
  add(name, AttributeProto::INT)->set_i(v);
  return *this;
}
Standard& Standard::set(const char* name, double v) {
  add(name, AttributeProto::FLOAT)->set_f(static_cast<float>(v));
  return *this;
}
Standard& Standard::set(const char* name, const std::string& v) {
  add(name, AttributeProto::STRING)->set_s(v);
  return *this;
}
Standard& Standard::keep(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const AttributeProto* a = c_.attr(name); a != nullptr) *node_.add_attribute() = *a;
  }
  return *this;
}

// Inside the node the values have made-up names; in the graph they keep those that they have.
std::vector<ValueId> Standard::all(const std::vector<ValueId>& inputs, int outputs) {
  Scope inner(c_.g, c_.scope.model);
  NodeProto node = node_;
  int made_up = 0;
  for (ValueId v : inputs) {
    node.add_input(v == kNoValue ? std::string() : made_up_name(made_up++));
    if (v != kNoValue) inner.values[node.input(node.input_size() - 1)] = v;
  }
  for (int i = 0; i < outputs; ++i) node.add_output(made_up_name(made_up++));
  ReadCtx c(inner, node, opset_);
  find_version(node.op_type(), opset_)->read(c);
  std::vector<ValueId> made;
  for (const std::string& name : node.output()) {
    made.push_back(inner.find(name));
    if (made.back() == kNoValue) c_.fail(node.op_type() + " does not make all its outputs");
  }
  return made;
}

std::vector<ValueId> split(ReadCtx& c, ValueId v, int axis, ValueId sizes, int parts) {
  SplitAttrs a;
  a.axis = axis;
  std::vector<ValueId> in = {v, sizes};
  c.settle(a, in);
  const NodeId node = c.g.add_node(OpId::kSplit, AnyAttrs::of(a), in, parts, c.node.name());
  return c.g.node(node).outputs;
}

ValueId ranked_input(ReadCtx& c, int i, int rank, const char* what) {
  ValueId v = c.in(i);
  if (rank_or(c, v, rank) != rank) {
    c.fail(std::string(what) + " must have rank " + std::to_string(rank) + ", got " +
           shape_text(shape(c, v)));
  }
  return v;
}

int64_t needed_int(ReadCtx& c, const char* name, int64_t least) {
  if (c.attr(name) == nullptr) c.fail(std::string("attribute '") + name + "' is required");
  const int64_t v = c.attr_int(name, least);
  if (v < least || v > INT32_MAX) {
    c.fail(std::string("attribute '") + name + "' must be " + std::to_string(least) +
           " or more, got " + std::to_string(v));
  }
  return v;
}

void refuse_unless(ReadCtx& c, const char* name, int64_t only, const char* why) {
  if (const int64_t v = c.attr_int(name, only); v != only)
    c.fail(std::string(name) + " " + std::to_string(v) + " is not supported: " + why);
}
void refuse_input(ReadCtx& c, int i, const char* why) {
  if (c.has(i)) c.fail("input '" + c.node.input(i) + "' is not supported: " + why);
}

ValueId channels_first(ReadCtx& c, ValueId v) {
  const int rank = c.rank(v);
  if (rank < 3) c.fail("needs a batch, spatial dims and channels, got " + shape_text(shape(c, v)));
  std::vector<int64_t> perm = {0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  return transpose(c, v, perm);
}
ValueId channels_last(ReadCtx& c, ValueId v) {
  const int rank = c.rank(v);
  std::vector<int64_t> perm = {0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return transpose(c, v, perm);
}

namespace {

struct Activation {
  const char* name;
  std::vector<std::pair<const char*, double>> params;  // with the standard operator's defaults
  int64_t opset;
};
const std::vector<Activation>& activations() {
  static const auto* list = new std::vector<Activation>{
      {"Relu", {}, 14},
      {"Sigmoid", {}, 13},
      {"Tanh", {}, 13},
      {"LeakyRelu", {{"alpha", 0.01}}, 16},
      {"HardSigmoid", {{"alpha", 0.2}, {"beta", 0.5}}, 6},
      {"HardSwish", {}, 14},
      {"Elu", {{"alpha", 1}}, 6},
      {"Selu", {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}}, 6},
      {"Softplus", {}, 1},
      {"Softsign", {}, 1},
      {"ThresholdedRelu", {{"alpha", 1}}, 10},
      {"Gelu", {}, 20},
      {"Swish", {{"alpha", 1}}, 24},
  };
  return *list;
}

}  // namespace

ValueId activate(ReadCtx& c, ValueId x, const std::string& name,
                 const std::vector<double>& params) {
  if (name.empty()) return x;
  const auto number = [&](size_t i, double fallback) {
    return i < params.size() ? params[i] : fallback;
  };
  if (name == "Clip") {
    if (params.size() < 2) c.fail("the activation Clip needs its two bounds");
    return Standard(c, "Clip", 6).set("min", params[0]).set("max", params[1]).one({x});
  }
  if (name == "QuickGelu") return activate(c, x, "Swish", {number(0, 1.702)});
  if (name == "Silu" || name == "SiLU") return c.emit(OpId::kSilu, {x});
  if (name == "ScaledTanh") {  // alpha tanh(beta x)
    ValueId y = c.emit(OpId::kTanh, {times(c, x, c.scalar(x, number(1, 1)))});
    return times(c, y, c.scalar(x, number(0, 1)));
  }
  if (name == "ParametricSoftplus") {  // alpha log(exp(beta x) + 1)
    ValueId y = c.emit(OpId::kSoftplus, {times(c, x, c.scalar(x, number(1, 1)))});
    return times(c, y, c.scalar(x, number(0, 1)));
  }
  for (const Activation& a : activations()) {
    if (name != a.name) continue;
    Standard s(c, a.name, a.opset);
    for (size_t i = 0; i < a.params.size(); ++i)
      s.set(a.params[i].first, number(i, a.params[i].second));
    return s.one({x});
  }
  c.fail("unknown activation '" + name + "'");
}

}  // namespace wick::onnx
