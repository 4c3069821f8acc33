#include "exporter/onnx/write/write.h"

#include <fmt/core.h>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/read/signature.h"
#include "runtime/core/half.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr const WriteRow* kRows[] = {
#define WICK_WRITE_kInfer(Name) &kOnnx_##Name,
#define WICK_WRITE_kControl(Name) &kOnnx_##Name,
#define WICK_WRITE_kTrain(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_WRITE_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

}  // namespace

AttributeProto& add_attr(NodeProto& node, const std::string& name,
                         AttributeProto::AttributeType type) {
  AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
void set_int(NodeProto& node, const std::string& name, int64_t value) {
  add_attr(node, name, AttributeProto::INT).set_i(value);
}
void set_float(NodeProto& node, const std::string& name, double value) {
  add_attr(node, name, AttributeProto::FLOAT).set_f(static_cast<float>(value));
}
void set_string(NodeProto& node, const std::string& name, const std::string& value) {
  add_attr(node, name, AttributeProto::STRING).set_s(value);
}
void set_ints(NodeProto& node, const std::string& name, Span<const int64_t> values) {
  AttributeProto& a = add_attr(node, name, AttributeProto::INTS);
  for (int64_t v : values) a.add_ints(v);
}

void set_floats(NodeProto& node, const std::string& name, Span<const float> values) {
  AttributeProto& a = add_attr(node, name, AttributeProto::FLOATS);
  for (float v : values) a.add_floats(v);
}
void set_strings(NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
  AttributeProto& a = add_attr(node, name, AttributeProto::STRINGS);
  for (const std::string& v : values) a.add_strings(v);
}
void set_tensor(NodeProto& node, const std::string& name, const HostTensor& value) {
  *add_attr(node, name, AttributeProto::TENSOR).mutable_t() = encode(value, "");
}

std::string WriteCtx::in(size_t i) const {
  return has(i) ? names_[static_cast<size_t>(node.inputs[i])] : std::string();
}
std::string WriteCtx::out(size_t i) const { return names_[static_cast<size_t>(node.outputs[i])]; }

int WriteCtx::rank(size_t i) const {
  const Value& v = g.value(node.inputs[i]);
  if (!v.ranked) fail("the rank of its input is not known");
  return v.shape.rank();
}

void WriteCtx::need(int64_t n) {
  const std::string op = op_info(node.op)->name;
  model_.opset->need(n, node.name.empty() ? op : fmt::format("{} '{}'", op, node.name));
}

const OperatorVersion& WriteCtx::form(const std::string& op_type) const {
  const OperatorVersion* version = find_version(op_type, opset());
  if (version == nullptr) fail("ONNX has no " + op_type);
  return *version;
}

NodeProto& WriteCtx::add(const std::string& op_type, const std::vector<std::string>& in,
                         const std::vector<std::string>& out) {
  check_types(op_type, in);
  NodeProto& n = *out_.add_node();
  n.set_op_type(op_type);
  if (!node.name.empty()) n.set_name(node_name());
  write_origin(node, n);
  size_t used = in.size();
  while (used > 0 && in[used - 1].empty()) --used;
  for (size_t i = 0; i < used; ++i) n.add_input(in[i]);
  for (const auto& name : out) n.add_output(name);
  return n;
}

DType WriteCtx::dtype_of(const std::string& name) const {
  for (ValueId id : node.inputs) {
    if (id != kNoValue && names_[static_cast<size_t>(id)] == name) return g.value(id).dtype;
  }
  const auto made = made_.find(name);
  return made == made_.end() ? DType::kNone : made->second;
}

// Refuses an operator that ONNX does not have for these dtypes, since no other runtime would load
// the file; one that ONNX has only from a later opset on is written at that opset.
void WriteCtx::check_types(const std::string& op_type, const std::vector<std::string>& in) {
  const OperatorVersion* version = find_version(op_type, opset());
  if (version == nullptr) return;
  for (size_t i = 0; i < in.size(); ++i) {
    const DType dtype = dtype_of(in[i]);
    if (!takes(*version, i, dtype))
      fail(fmt::format("ONNX has no {} whose input {} is {}", op_type, i, dtype_name(dtype)));
  }
  // A value that a node computes on the way to its output has the dtype of the node's input.
  DType first = in.empty() ? DType::kNone : dtype_of(in[0]);
  if (first == DType::kNone && has(0)) first = g.value(node.inputs[0]).dtype;
  need(first_opset_taking(op_type, first, opset()));
}

std::string WriteCtx::cast(const std::string& from, DType to) {
  std::string name = fresh();
  made_[name] = to;
  set_int(add("Cast", {from}, {name}), "to", static_cast<int64_t>(to));
  return name;
}

// Returns a name that no other node of the file has (ONNX Runtime refuses duplicates): an operator
// that was read into several nodes gave each of them its name. Reading removes what is added here.
std::string WriteCtx::node_name() {
  std::string name = node.name;
  while (!model_.node_names.insert(name).second)
    name = numbered_name(node.name, ++model_.last_number[node.name]);
  return name;
}

NodeProto& WriteCtx::add_microsoft(const std::string& op_type, const std::vector<std::string>& in,
                                   const std::vector<std::string>& out) {
  NodeProto& n = add(op_type, in, out);
  n.set_domain("com.microsoft");
  model_.microsoft = true;
  return n;
}

NodeProto& WriteCtx::add_ml(const std::string& op_type, const std::vector<std::string>& in,
                            const std::vector<std::string>& out, int64_t since) {
  NodeProto& n = add(op_type, in, out);
  n.set_domain(kMl);
  model_.ml_opset = std::max(model_.ml_opset, since);
  return n;
}

NodeProto& WriteCtx::same(const std::string& op_type) {
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(in(i));
  for (size_t i = 0; i < node.outputs.size(); ++i) outputs.push_back(out(i));
  return add(op_type, inputs, outputs);
}

std::string WriteCtx::fresh() {
  std::string name;
  do {
    name = made_up_name(model_.fresh++);
  } while (!model_.names.take(name));
  return name;
}

void WriteCtx::subgraph(NodeProto& of, const std::string& attribute, const Graph& region) {
  GraphProto& out = *add_attr(of, attribute, AttributeProto::GRAPH).mutable_g();
  out.set_name(region.name.empty() ? attribute : region.name);
  std::vector<std::string> names(region.value_count());
  model_.names.enter();
  size_t own = own_region_inputs(node), captured = own_inputs(node);
  for (size_t i = 0; i < region.inputs().size(); ++i) {
    ValueId id = region.inputs()[i];
    std::string& name = names[static_cast<size_t>(id)];
    if (i >= own) {
      name = in(captured + i - own);
      continue;
    }
    const std::string wanted = region.value(id).name;
    name = wanted;
    for (int k = 0; !model_.names.take(name); ++k) name = fmt::format("{}_{}", wanted, k);
    auto& info = *out.add_input();
    info.set_name(name);
    set_type(info, region.value(id));
  }
  write_graph(region, std::move(names), out, model_);
  model_.names.leave();
}

std::string WriteCtx::tensor(const HostTensor& t) {
  std::string name = fresh();
  made_[name] = t.dtype();
  const bool beside = model_.external != nullptr && ExternalData::takes(t);
  *out_.add_initializer() = beside ? model_.external->add(t, name) : encode(t, name);
  return name;
}

std::string WriteCtx::small(const HostTensor& t) {
  std::string name = fresh();
  made_[name] = t.dtype();
  *out_.add_initializer() = encode(t, name);
  return name;
}

std::string WriteCtx::ints(Span<const int64_t> values) { return small(HostTensor::ints(values)); }

std::string WriteCtx::int_scalar(int64_t value) {
  return small(HostTensor(DType::kI64, Shape{}, &value, sizeof(value)));
}

std::string WriteCtx::scalar(DType dtype, double value) {
  HostTensor t(dtype, Shape{});
  switch (dtype) {
    case DType::kF32: *t.as<float>() = static_cast<float>(value); break;
    case DType::kF64: *t.as<double>() = value; break;
    case DType::kF16: *t.as<Half>() = Half(static_cast<float>(value)); break;
    case DType::kBF16: *t.as<BFloat16>() = BFloat16(static_cast<float>(value)); break;
    case DType::kI64:
    case DType::kU64: *t.as<int64_t>() = static_cast<int64_t>(value); break;
    case DType::kI32:
    case DType::kU32: *t.as<int32_t>() = static_cast<int32_t>(value); break;
    case DType::kI16:
    case DType::kU16: *t.as<int16_t>() = static_cast<int16_t>(value); break;
    case DType::kI8: *t.as<int8_t>() = static_cast<int8_t>(value); break;
    case DType::kU8: *t.as<uint8_t>() = static_cast<uint8_t>(value); break;
    default: fail(fmt::format("no scalar of {}", dtype_name(dtype)));
  }
  return small(t);
}

std::string WriteCtx::ints_input(size_t i, Span<const int64_t> fallback) {
  if (has(i)) return in(i);
  return fallback.empty() ? std::string() : ints(fallback);
}

void WriteCtx::fail(const std::string& why) const {
  throw Error(
      fmt::format("cannot write {} '{}' as ONNX: {}", op_info(node.op)->name, node.name, why),
      Code::kUnsupported);
}

void write_custom(WriteCtx& c) {
  const CustomOp& op = *find_custom_op(c.node.op);
  NodeProto& n = c.same(op.name);
  n.set_domain(op.domain);
  AnyAttrs attrs = c.node.attrs;
  for (const AttrField& f : op.attrs->fields) {
    switch (f.kind) {
      case AttrKind::kInt: set_int(n, f.name, attr_int(f, attrs.get())); break;
      case AttrKind::kFloat: set_float(n, f.name, attr_float(f, attrs.get())); break;
      case AttrKind::kInts: set_ints(n, f.name, attr_ints(f, attrs.get())); break;
      case AttrKind::kText: set_string(n, f.name, ir::attr_text(f, attrs.get())); break;
    }
  }
}

const WriteRow* find_write_row(OpId op) {
  for (const WriteRow* row : kRows) {
    if (row->op == op) return row;
  }
  return nullptr;
}

}  // namespace wick::onnx
