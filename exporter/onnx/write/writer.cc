#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <set>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/file/names.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/file/two_files.h"
#include "exporter/onnx/file/types.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators.h"
#include "exporter/onnx/read/signature.h"
#include "exporter/onnx/write/checker.h"
#include "exporter/onnx/write/forms.h"
#include "exporter/onnx/write/quantize_write.h"
#include "exporter/onnx/write/write.h"
#include "runtime/core/atomic_file.h"
#include "runtime/core/file_lock.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick {
namespace onnx {
namespace {

// Gives every value that is written a unique tensor name: an output's value gets the output's.
void name_values(const Graph& g, const std::vector<bool>& used, std::vector<std::string>& names,
                 ModelNames& model) {
  auto take = [&](ValueId id, const std::string& name) {
    if (names[static_cast<size_t>(id)].empty() && !name.empty() && model.names.take(name))
      names[static_cast<size_t>(id)] = name;
  };
  for (const auto& out : g.outputs()) {
    if (g.is_region()) continue;  // the outputs of a region have no names of their own
    const Value& v = g.value(out.value);
    if (v.origin == ValueOrigin::kNode || v.name == out.name) take(out.value, out.name);
    model.names.take(out.name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (!used[i] && v.origin == ValueOrigin::kConstant) continue;
    if (model.names.is_constant(v)) {  // a graph around this one writes it
      names[i] = v.name;
    } else {
      take(static_cast<ValueId>(i), v.name);
      while (names[i].empty()) take(static_cast<ValueId>(i), made_up_name(model.fresh++));
    }
  }
}

// Writes a parameter, or a constant without a name, as an initializer, and any other constant as a
// node: so the reader tells them apart.
void write_constant(const Value& v, const std::string& name, GraphProto& out, ModelNames& model) {
  auto tensor = [&](const std::string& own_name) {
    const bool beside = model.external != nullptr && ExternalData::takes(v.constant);
    return beside ? model.external->add(v.constant, own_name) : encode(v.constant, own_name);
  };
  if (v.parameter || is_made_up(name)) {
    *out.add_initializer() = tensor(name);
    return;
  }
  NodeProto& n = *out.add_node();
  n.set_op_type("Constant");
  n.add_output(name);
  AttributeProto& value = *n.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  *value.mutable_t() = tensor("");
}

void list_training(const Graph& g, std::string* list) {
  for (const Node& node : g.nodes()) {
    if (!node.removed() && !is_custom(node.op) && find_write_row(node.op) == nullptr) {
      *list +=
          fmt::format("\n  {} '{}' ({})", op_info(node.op)->name, node.name, node.source.text());
    }
    for (const Graph& region : node.regions) list_training(region, list);
  }
}

void check_writable(const Graph& g) {
  std::string list;
  list_training(g, &list);
  if (!list.empty()) {
    throw Error(
        "these nodes belong to training and have no ONNX form (was the module in eval mode?):" +
            list,
        Code::kUnsupported);
  }
}

// Returns the IR version that came with an opset.
int64_t ir_version(int64_t opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  if (opset <= 23) return 11;
  return opset <= 24 ? 12 : 13;
}

// Returns the opset from which on tensors may have a dtype.
int64_t opset_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ: return 19;
    case DType::kI4:
    case DType::kU4: return 21;
    case DType::kF4E2M1: return 23;
    case DType::kF8E8M0: return 24;
    case DType::kI2:
    case DType::kU2: return 25;
    default: return kOldestOpset;
  }
}

DType type_dtype(const Value& v) { return is_container(v.dtype) ? v.element : v.dtype; }

// A domain's version is that of its newest op in the model.
void add_domains(const Graph& g, std::map<std::string, int64_t>* domains) {
  for (const Node& node : g.nodes()) {
    for (const Graph& region : node.regions) add_domains(region, domains);
    if (node.removed() || !is_custom(node.op)) continue;
    const CustomOp& op = *find_custom_op(node.op);
    int64_t& version = (*domains)[op.domain];
    version = std::max<int64_t>(version, op.version);
  }
}

ModelProto write_at(const Graph& g, WriteOpset* version, ExternalData* external,
                    QuantizedForm quantized) {
  ModelProto model;
  model.set_ir_version(ir_version(version->now));
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(version->now);
  std::map<std::string, int64_t> domains;
  add_domains(g, &domains);
  for (const auto& [domain, newest] : domains) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(newest);
  }
  GraphProto& out = *model.mutable_graph();
  out.set_name(g.name);
  ModelNames model_names{version, {}, external, 0};
  model_names.quantized = quantized;
  std::vector<std::string> names(g.value_count());
  for (ValueId id : g.inputs()) {
    names[static_cast<size_t>(id)] = g.value(id).name;
    model_names.names.take(g.value(id).name);
    auto& info = *out.add_input();
    info.set_name(g.value(id).name);
    set_type(info, g.value(id));
  }
  write_graph(g, std::move(names), out, model_names);
  if (model_names.microsoft && domains.count("com.microsoft") == 0) {
    auto& import = *model.add_opset_import();
    import.set_domain("com.microsoft");
    import.set_version(1);
  }
  if (model_names.ml_opset != 0 && domains.count(kMl) == 0) {
    auto& import = *model.add_opset_import();
    import.set_domain(kMl);
    import.set_version(model_names.ml_opset);
  }
  write_about(g, model);
  return model;
}

// Returns whether ONNX has the constant as an attribute, so that it is no initializer.
bool becomes_attribute(const Node& node, size_t input) {
  const OpKind kind = kind_of(node.op);
  return input >= 1 && node.op != OpId::kStringConcat &&
         (kind == OpKind::kText || kind == OpKind::kTable);
}

// Returns the first node that an opset before kLeastOpset does not have, as it is written, with the
// same meaning; null if it has all.
const NodeProto* not_of(const GraphProto& graph, int64_t opset) {
  for (const NodeProto& node : graph.node()) {
    const std::string& op = node.op_type();
    // These are over one axis since 13, and over all axes from it on before; before 16 the
    // coordinates have another default.
    if (opset < 13 && (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax")) return &node;
    if (opset < 16 && op == "RoiAlign") return &node;
    if (!signature_fault(node, opset, false).empty()) return &node;
    for (const AttributeProto& a : node.attribute()) {
      if (!a.has_g()) continue;
      if (const NodeProto* n = not_of(a.g(), opset)) return n;
    }
  }
  return nullptr;
}

ModelProto write(const Graph& g, QuantizedForm quantized, int64_t asked = 0,
                 ExternalData* external = nullptr, std::string* needed_by = nullptr) {
  check_writable(g);
  const int64_t opset = asked == 0 ? kLeastOpset : asked;
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error(fmt::format("writing ONNX: opset {}: files are written at opset {} to {}", opset,
                            kOldestOpset, kNewestOpset),
                Code::kUnsupported);
  }
  WriteOpset version;
  version.now = version.needed = opset;
  for (ValueId id : g.inputs()) {
    const DType dtype = type_dtype(g.value(id));
    version.need(opset_of(dtype), std::string(dtype_name(dtype)) + " of an input");
  }
  for (;;) {  // this ends: the opset grows, and it is bounded
    version.now = version.needed;
    if (external != nullptr) external->clear();
    ModelProto model = write_at(g, &version, external, quantized);
    if (version.now < kLeastOpset) {
      if (const NodeProto* n = not_of(model.graph(), version.now))
        version.need(version.now + 1, fmt::format("{} '{}'", n->op_type(), node_name(*n)));
    }
    if (version.needed > version.now) continue;
    if (needed_by != nullptr) *needed_by = version.by;
    return model;
  }
}

}  // namespace

void set_type(ValueInfoProto& info, const Value& value) { set_type(*info.mutable_type(), value); }

void write_graph(const Graph& g, std::vector<std::string> names, GraphProto& out,
                 ModelNames& model) {
  std::vector<bool> used(g.value_count()), dropped;
  const std::vector<Form> forms = find_forms(g, model.opset->now, &dropped);
  std::map<NodeId, const Form*> form_at;
  for (const Form& form : forms) {
    form_at[form.last] = &form;
    for (ValueId v : form.inputs) used[at(v)] = true;
  }
  for (size_t n = 0; n < g.node_count(); ++n) {
    const Node& node = g.node(static_cast<NodeId>(n));
    for (size_t i = 0; i < node.inputs.size() && !dropped[n]; ++i) {
      const ValueId id = node.inputs[i];
      if (becomes_attribute(node, i)) continue;
      if (id != kNoValue && g.is_constant(id) && written_anew(g, node, i, model.quantized))
        continue;
      // The value that ConstantOfShape fills with is its attribute.
      if (node.op == OpId::kExpand && id == node.inputs[0] && is_small(g.value(id).dtype)) continue;
      if (id != kNoValue && !node.removed()) used[static_cast<size_t>(id)] = true;
    }
  }
  for (const auto& o : g.outputs()) used[static_cast<size_t>(o.value)] = true;
  name_values(g, used, names, model);
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin != ValueOrigin::kConstant || !used[i] || model.names.is_constant(v)) continue;
    model.opset->need(opset_of(v.dtype), std::string(dtype_name(v.dtype)) + " of a constant");
    write_constant(v, names[i], out, model);
    if (names[i] == v.name) model.names.add_constant(v);
  }
  for (size_t n = 0; n < g.node_count(); ++n) {
    const Node& node = g.node(static_cast<NodeId>(n));
    const auto form = form_at.find(static_cast<NodeId>(n));
    if (node.removed() || (dropped[n] && form == form_at.end())) continue;
    WriteCtx c(g, node, out, names, model);
    for (ValueId id : node.outputs) {
      const DType dtype = type_dtype(g.value(id));
      c.need(opset_of(dtype));
      if (is_small(dtype) && node.op != OpId::kIdentity && node.op != OpId::kReshape &&
          node.op != OpId::kCast && node.op != OpId::kCastString &&
          node.op != OpId::kQuantizeLinear) {
        c.need(21);  // the other ops that move elements took float8 only then
      }
    }
    if (form != form_at.end()) {
      form->second->write(c);
    } else {
      is_custom(node.op) ? write_custom(c) : find_write_row(node.op)->write(c);
    }
  }
  std::set<std::string> given;
  for (const auto& o : g.outputs()) {
    const std::string& from = names[static_cast<size_t>(o.value)];
    std::string name = o.name;
    if (g.is_region()) {
      name = from;
      const bool own = g.value(o.value).origin == ValueOrigin::kNode;
      if (!own || !given.insert(name).second) {
        do {
          name = made_up_name(model.fresh++);
        } while (!model.names.take(name));
      }
    }
    if (from != name) {  // a value that is two outputs, or an input or constant passed through
      NodeProto& n = *out.add_node();
      n.set_op_type("Identity");
      n.add_input(from);
      n.add_output(name);
    }
    auto& info = *out.add_output();
    info.set_name(name);
    set_type(info, g.value(o.value));
  }
}

}  // namespace onnx

namespace {

// Adds what libonnx requires and the file need not have: a shape of every input and output (one of
// unknown rank is shown as a scalar), and the data of external constants.
void complete(onnx::GraphProto& graph) {
  auto add = [&](onnx::ValueInfoProto& info) {
    if (info.type().has_tensor_type()) info.mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  auto inside = [](onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data("?");  // it does not count the bytes
  };
  for (auto& info : *graph.mutable_input()) add(info);
  for (auto& info : *graph.mutable_output()) add(info);
  for (auto& tensor : *graph.mutable_initializer()) inside(tensor);
  for (auto& node : *graph.mutable_node()) {
    for (auto& a : *node.mutable_attribute()) {
      if (a.has_g()) complete(*a.mutable_g());
      if (a.has_t()) inside(*a.mutable_t());
    }
  }
}

// Checks every node against its operator's row at the opset.
void check_forms(const onnx::GraphProto& graph, int64_t opset) {
  for (const auto& node : graph.node()) {
    for (const auto& a : node.attribute()) {
      if (a.has_g()) check_forms(a.g(), opset);
    }
    const std::string fault = onnx::signature_fault(node, opset, false);
    if (!fault.empty())
      throw Error(
          fmt::format("writing ONNX: {} '{}' {}", node.op_type(), onnx::node_name(node), fault),
          Code::kInternal);
  }
}

// Also runs libonnx's checker; Debian's knows no opset after 17, and no ai.onnx.ml after 3.
void check(onnx::ModelProto model) {
  check_forms(model.graph(), model.opset_import(0).version());
  if (model.opset_import(0).version() > onnx::kLeastOpset) return;
  for (const auto& import : model.opset_import()) {
    if (import.domain() == onnx::kMl && import.version() > 3) return;
  }
  complete(*model.mutable_graph());
  onnx::check(model.SerializeAsString());
}

constexpr size_t kMostInside = (size_t{1} << 31) - (size_t{1} << 26);  // protobuf's limit is 2 GB

size_t constant_bytes(const ir::Graph& g) {
  size_t bytes = 0;
  for (size_t i = 0; i < g.value_count(); ++i) {
    const ir::Value& v = g.value(static_cast<ir::ValueId>(i));
    if (v.origin == ir::ValueOrigin::kConstant) bytes += v.constant.nbytes();
  }
  for (const ir::Node& n : g.nodes()) {
    for (const ir::Graph& region : n.regions) bytes += constant_bytes(region);
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> onnx_bytes(const ir::Graph& graph, QuantizedForm quantized, int64_t opset) {
  if (constant_bytes(graph) > kMostInside) {
    throw Error(
        "the constants are over 2 GB, which one ONNX file cannot hold: export_onnx() puts "
        "them beside it",
        Code::kUnsupported);
  }
  onnx::ModelProto model = onnx::write(graph, quantized, opset);
  check(model);
  const std::string bytes = model.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> onnx_op_types(const ir::Graph& graph, QuantizedForm quantized) {
  std::vector<std::string> types;
  const onnx::ModelProto model = onnx::write(graph, quantized);
  for (const auto& node : model.graph().node()) {
    types.push_back(node.domain().empty() ? node.op_type() : node.domain() + "::" + node.op_type());
  }
  return types;
}

OnnxFile export_onnx(const ir::Graph& graph, const std::string& path,
                     const OnnxFileOptions& options) {
  const bool beside = options.external_data || constant_bytes(graph) > kMostInside;
  const std::string data_path = path + ".data";
  onnx::ExternalData external(std::filesystem::path(data_path).filename().string());
  std::string by;
  onnx::ModelProto model =
      onnx::write(graph, options.quantized, options.opset, beside ? &external : nullptr, &by);
  check(model);
  const std::string bytes = model.SerializeAsString();
  FileLock lock;  // both files come from one writer
  AtomicFile file, data;
  std::string replaced = path;  // behind links
  if (!external.empty()) {
    replaced = onnx::place_of_both(data_path, path);
    check_status(lock.take((path + ".lock").c_str(), path.c_str()));
    onnx::restore_both(data_path, replaced);
  }
  check_status(file.open(path.c_str()));
  check_status(file.write(bytes.data(), bytes.size()));
  if (external.empty()) {
    check_status(file.commit());
  } else {
    check_status(data.open(data_path.c_str()));
    check_status(external.write(data));
    check_status(onnx::commit_both(data, data_path, file, replaced));
  }
  return {model.opset_import(0).version(), external.empty() ? std::string() : data_path, by};
}

}  // namespace wick
