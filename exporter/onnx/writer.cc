#include <fmt/format.h>

#include <map>
#include <set>

#include "exporter/onnx/checker.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/tensor.h"
#include "exporter/onnx/write.h"
#include "runtime/core/atomic_file.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick {
namespace onnx {
namespace {

// A unique tensor name for every value that is written: an output's value gets the output's.
void name_values(const Graph& g, const std::vector<bool>& used, std::vector<std::string>& names,
                 std::set<std::string>& taken) {
  auto left_out = [&](size_t i) { return !used[i] && g.is_constant(static_cast<ValueId>(i)); };
  auto take = [&](ValueId id, const std::string& name) {
    if (names[static_cast<size_t>(id)].empty() && !name.empty() && taken.insert(name).second) {
      names[static_cast<size_t>(id)] = name;
    }
  };
  for (const auto& out : g.outputs()) {
    if (g.is_region()) continue;  // the outputs of a region have no names of their own
    if (g.value(out.value).origin == ValueOrigin::kNode) take(out.value, out.name);
    taken.insert(out.name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!left_out(i)) take(static_cast<ValueId>(i), g.value(static_cast<ValueId>(i)).name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (int k = 0; names[i].empty() && !left_out(i); ++k)
      take(static_cast<ValueId>(i), fmt::format("v{}{}", i, k == 0 ? "" : fmt::format("_{}", k)));
  }
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

// The format's version that came with an opset.
int64_t ir_version(int64_t opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  if (opset <= 23) return 11;
  return opset <= 24 ? 12 : 13;
}

// The opset from which on tensors may hold a dtype.
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
    default: return kLeastOpset;
  }
}

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

ModelProto write_at(const Graph& g, WriteOpset* version) {
  ModelProto model;
  model.set_ir_version(ir_version(version->now));
  model.set_producer_name("wick");
  model.set_producer_version(WICK_VERSION);
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
  ModelNames model_names{version, {}, 0};
  std::vector<std::string> names(g.value_count());
  for (ValueId id : g.inputs()) {
    names[static_cast<size_t>(id)] = g.value(id).name;
    model_names.taken.insert(g.value(id).name);
    auto& info = *out.add_input();
    info.set_name(g.value(id).name);
    set_type(info, g.value(id));
  }
  write_graph(g, std::move(names), out, model_names);
  std::string labels;
  for (const auto& label : g.labels) labels += label + "\n";
  auto metadata = g.metadata;
  metadata["wick.version"] = WICK_VERSION;
  if (!labels.empty()) metadata["wick.labels"] = labels;
  for (const auto& [key, value] : metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

ModelProto write(const Graph& g) {
  check_writable(g);
  WriteOpset version;
  for (ValueId id : g.inputs())
    version.needed = std::max(version.needed, opset_of(g.value(id).dtype));
  for (;;) {  // ends: the opset grows, and forms are of a bounded one
    version.now = version.needed;
    ModelProto model = write_at(g, &version);
    if (version.needed == version.now) return model;
  }
}

}  // namespace

void set_type(ValueInfoProto& info, const Value& value) {
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(value.dtype));
  if (!value.ranked) return;
  auto& shape = *type.mutable_shape();
  for (const SymDim& d : value.shape) {
    if (d.known()) {
      shape.add_dim()->set_dim_value(d.constant());
    } else {
      shape.add_dim()->set_dim_param(d.text());
    }
  }
}

void write_graph(const Graph& g, std::vector<std::string> names, GraphProto& out,
                 ModelNames& model) {
  std::vector<bool> used(g.value_count());
  for (const Node& node : g.nodes()) {
    for (ValueId id : node.inputs) {
      // what ConstantOfShape fills with is its attribute
      if (node.op == OpId::kExpand && id == node.inputs[0] && is_small(g.value(id).dtype)) continue;
      if (id != kNoValue && !node.removed()) used[static_cast<size_t>(id)] = true;
    }
  }
  for (const auto& o : g.outputs()) used[static_cast<size_t>(o.value)] = true;
  name_values(g, used, names, model.taken);
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin != ValueOrigin::kConstant || !used[i]) continue;
    model.opset->needed = std::max(model.opset->needed, opset_of(v.dtype));
    *out.add_initializer() = encode(v.constant, names[i]);
  }
  for (const Node& node : g.nodes()) {
    if (node.removed()) continue;
    WriteCtx c(g, node, out, names, model);
    for (ValueId id : node.outputs) {
      const DType dtype = g.value(id).dtype;
      c.need(opset_of(dtype));
      if (is_small(dtype) && node.op != OpId::kIdentity && node.op != OpId::kReshape &&
          node.op != OpId::kCast && node.op != OpId::kQuantizeLinear) {
        c.need(21);  // the other ops that move elements took float8 only then
      }
    }
    is_custom(node.op) ? write_custom(c) : find_write_row(node.op)->write(c);
  }
  std::set<std::string> given;
  for (const auto& o : g.outputs()) {
    const std::string& from = names[static_cast<size_t>(o.value)];
    bool own = g.value(o.value).origin == ValueOrigin::kNode;
    std::string name = o.name;
    if (g.is_region()) {
      name = from;
      for (int k = 0; !own || !given.insert(name).second; ++k, own = true) {
        do {
          name = fmt::format("{}_{}", o.name, k++);
        } while (!model.taken.insert(name).second);
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

// libonnx wants a shape of every input and output. One of unknown rank has none in the file: the
// checker is shown a scalar there.
bool add_shapes(onnx::GraphProto& graph) {
  bool added = false;
  auto add = [&](onnx::ValueInfoProto& info) {
    auto& type = *info.mutable_type()->mutable_tensor_type();
    if (type.has_shape()) return;
    type.mutable_shape();
    added = true;
  };
  for (auto& info : *graph.mutable_input()) add(info);
  for (auto& info : *graph.mutable_output()) add(info);
  for (auto& node : *graph.mutable_node()) {
    for (auto& a : *node.mutable_attribute()) {
      if (a.has_g()) added = add_shapes(*a.mutable_g()) || added;
    }
  }
  return added;
}

}  // namespace

std::vector<uint8_t> onnx_bytes(const ir::Graph& graph) {
  onnx::ModelProto model = onnx::write(graph);
  std::string bytes = model.SerializeAsString();
  // Debian's libonnx knows no later one.
  if (model.opset_import(0).version() <= onnx::kLeastOpset)
    onnx::check(add_shapes(*model.mutable_graph()) ? model.SerializeAsString() : bytes);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> onnx_op_types(const ir::Graph& graph) {
  std::vector<std::string> types;
  const onnx::ModelProto model = onnx::write(graph);
  for (const auto& node : model.graph().node()) {
    types.push_back(node.domain().empty() ? node.op_type() : node.domain() + "::" + node.op_type());
  }
  return types;
}

void export_onnx(const ir::Graph& graph, const std::string& path) {
  std::vector<uint8_t> bytes = onnx_bytes(graph);
  check_status(write_file_atomically(path.c_str(), bytes.data(), bytes.size()));
}

}  // namespace wick
