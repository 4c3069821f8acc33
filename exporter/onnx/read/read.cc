#include "exporter/onnx/read/read.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "exporter/onnx/file/names.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/read/signature.h"
#include "graph/interpreter/known.h"
#include "runtime/core/half.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

// Returns the attribute `name`, which must be of `type`, or null.
const AttributeProto* typed(const ReadCtx& c, const std::string& name,
                            AttributeProto::AttributeType type) {
  const AttributeProto* a = c.attr(name);
  if (a == nullptr || a->type() == type) return a;
  const std::string is = type_of_attribute(*a);
  if (is.empty() || is == AttributeProto::AttributeType_Name(type)) return a;
  c.fail(fmt::format("attribute '{}' is {}, expected {}", name, is,
                     AttributeProto::AttributeType_Name(type)));
}

}  // namespace

std::string node_place(const NodeProto& node) {
  for (const std::string& name : node.output()) {
    if (!name.empty()) return name;
  }
  if (!node.name().empty()) return node.name();
  for (const std::string& name : node.input()) {
    if (!name.empty()) return name;
  }
  return "?";
}
std::string node_name(const NodeProto& node) {
  return node.name().empty() ? node_place(node) : node.name();
}

void ReadCtx::fail(const std::string& why) const {
  throw Error(fmt::format("{} '{}': {}", node.op_type(), node_name(node), why), Code::kUnsupported);
}

ValueId ReadCtx::optional(int i) const {
  if (!has(i)) return kNoValue;
  ValueId found = scope.find(node.input(i));
  if (found == kNoValue)
    fail(fmt::format("input '{}' is not defined: no node, input or initializer has this name",
                     node.input(i)));
  return found;
}

ValueId ReadCtx::in(int i) const {
  if (!has(i)) fail(fmt::format("input {} is required", i));
  return optional(i);
}

std::vector<ValueId> ReadCtx::all_inputs() const {
  std::vector<ValueId> ids;
  for (int i = 0; i < inputs(); ++i) ids.push_back(in(i));
  return ids;
}

const AttributeProto* ReadCtx::attr(const std::string& name) const {
  for (const auto& a : node.attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}
int64_t ReadCtx::attr_int(const std::string& name, int64_t fallback) const {
  const auto* a = typed(*this, name, AttributeProto::INT);
  return a != nullptr ? a->i() : fallback;
}
double ReadCtx::attr_float(const std::string& name, double fallback) const {
  const auto* a = typed(*this, name, AttributeProto::FLOAT);
  return a != nullptr ? static_cast<double>(a->f()) : fallback;
}
std::string ReadCtx::attr_string(const std::string& name, const std::string& fallback) const {
  const auto* a = typed(*this, name, AttributeProto::STRING);
  return a != nullptr ? a->s() : fallback;
}
std::vector<int64_t> ReadCtx::attr_ints(const std::string& name) const {
  const auto* a = typed(*this, name, AttributeProto::INTS);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}
std::vector<double> ReadCtx::attr_floats(const std::string& name) const {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return {};
  return {a->floats().begin(), a->floats().end()};
}
std::vector<std::string> ReadCtx::attr_strings(const std::string& name) const {
  const auto* a = typed(*this, name, AttributeProto::STRINGS);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}
HostTensor ReadCtx::attr_tensor(const std::string& name) const {
  const auto* a = typed(*this, name, AttributeProto::TENSOR);
  return a != nullptr ? decode(a->t(), scope.model.folder) : HostTensor();
}
const GraphProto& ReadCtx::attr_graph(const std::string& name) const {
  const auto* a = typed(*this, name, AttributeProto::GRAPH);
  if (a == nullptr) fail(fmt::format("attribute '{}' is required", name));
  return a->g();
}

void ReadCtx::set(int i, ValueId value) {
  if (!wants(i)) return;
  const std::string& name = node.output(i);
  if (!scope.values.emplace(name, value).second)
    fail(fmt::format("output '{}' is defined twice", name));
  if (g.value(value).name.empty() && !is_made_up(name)) g.value(value).name = name;
}

int ReadCtx::rank(ValueId v) const {
  if (!g.value(v).ranked) fail("the rank of its input must be known");
  return g.value(v).shape.rank();
}

namespace {

template <class T>
bool holds(double value) {
  // 2^digits is the first number that is too large, and it is a double.
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value >= static_cast<double>(std::numeric_limits<T>::min()) && value < above &&
         value == std::trunc(value);
}

}  // namespace

ValueId ReadCtx::scalar(ValueId like, double value, const char* what) {
  DType t = dtype(like);
  HostTensor c(t, Shape{});
  auto whole = [&](auto* out) {
    using T = std::remove_pointer_t<decltype(out)>;
    if (!holds<T>(value)) fail(fmt::format("{} is {}, which is no {}", what, value, dtype_name(t)));
    *out = static_cast<T>(value);
  };
  switch (t) {
    case DType::kF32: *c.as<float>() = static_cast<float>(value); break;
    case DType::kF64: *c.as<double>() = value; break;
    case DType::kF16: *c.as<Half>() = Half(static_cast<float>(value)); break;
    case DType::kBF16: *c.as<BFloat16>() = BFloat16(static_cast<float>(value)); break;
    case DType::kI64: whole(c.as<int64_t>()); break;
    case DType::kU64: whole(c.as<uint64_t>()); break;
    case DType::kI32: whole(c.as<int32_t>()); break;
    case DType::kU32: whole(c.as<uint32_t>()); break;
    case DType::kI16: whole(c.as<int16_t>()); break;
    case DType::kU16: whole(c.as<uint16_t>()); break;
    case DType::kI8: whole(c.as<int8_t>()); break;
    case DType::kU8: whole(c.as<uint8_t>()); break;
    case DType::kBool: *c.as<uint8_t>() = value != 0 ? 1 : 0; break;
    default: fail(fmt::format("does not work on {}", dtype_name(t)));
  }
  return constant(c);
}

ValueId ReadCtx::int_constant(const std::vector<int64_t>& values) {
  return constant(HostTensor::ints(values));
}

ValueId ReadCtx::constant(HostTensor tensor, const std::string& name, ValueId of) {
  const uint64_t made = tensor.held_bytes();
  uint64_t charged = made;
  if (g.is_constant(of)) {
    const HostTensor& from = g.value(of).constant;
    uint64_t& so_far = scope.model.made_of[from.address()];
    const uint64_t most = 2 * uint64_t{from.held_bytes()};
    charged -= std::min(made, most - std::min(so_far, most));
    so_far += made;
  }
  if (!scope.model.ledger.take(charged).ok()) {
    throw Error(
        fmt::format("{} '{}': it makes a constant of {} bytes, and what the file makes may "
                    "come to {}; OnnxReadOptions::max_ram raises it",
                    node.op_type(), node_name(node), made, scope.model.ledger.limits().bytes),
        Code::kBudgetExceeded);
  }
  return g.add_constant(std::move(tensor), name);
}

ValueId ReadCtx::int_or_input(int i, int64_t* attribute) const {
  if (!has(i)) return kNoValue;
  const auto known = known_ints(in(i));
  if (!known || known->size() != 1) return in(i);
  *attribute = (*known)[0];
  return kNoValue;
}

std::optional<std::vector<int64_t>> ReadCtx::known_ints(ValueId v) const {
  const Value& value = g.value(v);
  if (value.origin == ValueOrigin::kConstant && is_int(value.dtype))
    return int_values(value.constant);
  if (!value.has_elements) return std::nullopt;
  std::vector<int64_t> ints;
  for (const SymDim& d : value.elements) {
    if (!d.known()) return std::nullopt;
    ints.push_back(d.constant());
  }
  return ints;
}

std::optional<HostTensor> ReadCtx::known(ValueId v) const {
  return known_value(g, v, scope.model.ledger);
}

void read_custom(ReadCtx& c, const CustomOp& op) {
  const OpInfo& info = *op_info(custom_op_id(op));
  AnyAttrs attrs;
  op.attrs->init(attrs.get());
  for (const AttributeProto& given : c.node.attribute()) {
    const AttrField* field = nullptr;
    for (const AttrField& f : op.attrs->fields) {
      if (given.name() == f.name) field = &f;
    }
    if (field == nullptr)
      c.fail(fmt::format("attribute {} is unknown to the registered {}", given.name(), info.name));
    switch (field->kind) {
      case AttrKind::kInt: attr_int(*field, attrs.get()) = c.attr_int(field->name, 0); break;
      case AttrKind::kFloat: attr_float(*field, attrs.get()) = c.attr_float(field->name, 0); break;
      case AttrKind::kInts:
        if (!set_attr_ints(*field, attrs.get(), c.attr_ints(field->name)))
          c.fail(fmt::format("attribute {} has over {} numbers", field->name, field->capacity));
        break;
      case AttrKind::kText: {
        const std::string text = c.attr_string(field->name, "");
        if (!set_attr_text(*field, attrs.get(), text.data(), text.size()))
          c.fail(fmt::format("attribute {} has over {} characters", field->name, field->capacity));
        break;
      }
    }
  }
  if (c.outputs() > op.outputs)
    c.fail(fmt::format("has {} outputs, {} has {}", c.outputs(), info.name, op.outputs));
  NodeId id = c.g.add_node(info.id, attrs, c.all_inputs(), op.outputs, c.node.name());
  for (int i = 0; i < c.outputs(); ++i) {
    if (c.wants(i)) c.set(i, c.g.node(id).outputs[static_cast<size_t>(i)]);
  }
}

std::string why_unread(const std::string& op_type, const std::string& domain) {
  const OperatorVersion* known = find_version(op_type, 1, domain);
  if (known == nullptr) return unknown_operator(op_type, domain);
  if (*known->why_out != 0) return known->why_out;
  return "this operator of ONNX Runtime's is not supported (`wick ops --onnx` lists those that "
         "are), and no custom op of its name is registered (load_ops, or --ops LIBRARY.so)";
}

}  // namespace wick::onnx
