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

void set_type(ValueInfoProto& info, const Value& value) {
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(value.dtype));
  auto& shape = *type.mutable_shape();
  if (!value.ranked) return;
  for (const SymDim& d : value.shape) {
    if (d.known()) {
      shape.add_dim()->set_dim_value(d.constant());
    } else {
      shape.add_dim()->set_dim_param(d.text());
    }
  }
}

// A unique tensor name for every value: inputs and parameters keep theirs, an output's value gets
// the output's.
std::vector<std::string> name_values(const Graph& g) {
  std::vector<std::string> names(g.value_count());
  std::set<std::string> taken;
  auto take = [&](ValueId id, const std::string& name) {
    if (names[static_cast<size_t>(id)].empty() && !name.empty() && taken.insert(name).second) {
      names[static_cast<size_t>(id)] = name;
    }
  };
  for (ValueId id : g.inputs()) take(id, g.value(id).name);
  for (const auto& out : g.outputs()) {
    if (g.value(out.value).origin == ValueOrigin::kNode) take(out.value, out.name);
    taken.insert(out.name);
  }
  for (size_t i = 0; i < names.size(); ++i)
    take(static_cast<ValueId>(i), g.value(static_cast<ValueId>(i)).name);
  for (size_t i = 0; i < names.size(); ++i) {
    for (int k = 0; names[i].empty(); ++k)
      take(static_cast<ValueId>(i), fmt::format("v{}{}", i, k == 0 ? "" : fmt::format("_{}", k)));
  }
  return names;
}

void check_writable(const Graph& g) {
  std::string list;
  for (const Node& node : g.nodes()) {
    if (!node.removed() && !is_custom(node.op) && find_write_row(node.op) == nullptr) {
      list +=
          fmt::format("\n  {} '{}' ({})", op_info(node.op)->name, node.name, node.source.text());
    }
  }
  if (!list.empty()) {
    throw Error(
        "these nodes belong to training and have no ONNX form (was the module in eval mode?):" +
            list,
        Code::kUnsupported);
  }
}

ModelProto write(const Graph& g) {
  check_writable(g);
  ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("wick");
  model.set_producer_version(WICK_VERSION);
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kWriteOpset);
  // A domain's version is that of its newest op in the model.
  std::map<std::string, int64_t> domains;
  for (const Node& node : g.nodes()) {
    if (node.removed() || !is_custom(node.op)) continue;
    const CustomOp& op = *find_custom_op(node.op);
    int64_t& version = domains[op.domain];
    version = std::max<int64_t>(version, op.version);
  }
  for (const auto& [domain, version] : domains) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  GraphProto& out = *model.mutable_graph();
  out.set_name(g.name);
  std::vector<std::string> names = name_values(g);
  for (ValueId id : g.inputs()) {
    auto& info = *out.add_input();
    info.set_name(names[static_cast<size_t>(id)]);
    set_type(info, g.value(id));
  }
  std::vector<bool> used(g.value_count());
  for (const Node& node : g.nodes()) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue && !node.removed()) used[static_cast<size_t>(id)] = true;
    }
  }
  for (const auto& o : g.outputs()) used[static_cast<size_t>(o.value)] = true;
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin == ValueOrigin::kConstant && used[i])
      *out.add_initializer() = encode(v.constant, names[i]);
  }
  int fresh = 0;
  for (const Node& node : g.nodes()) {
    if (node.removed()) continue;
    WriteCtx c(g, node, out, names, &fresh);
    is_custom(node.op) ? write_custom(c) : find_write_row(node.op)->write(c);
  }
  for (const auto& o : g.outputs()) {
    const std::string& from = names[static_cast<size_t>(o.value)];
    if (from != o.name) {  // a value that is two outputs, or an input or constant passed through
      NodeProto& n = *out.add_node();
      n.set_op_type("Identity");
      n.add_input(from);
      n.add_output(o.name);
    }
    auto& info = *out.add_output();
    info.set_name(o.name);
    set_type(info, g.value(o.value));
  }
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

}  // namespace
}  // namespace onnx

std::vector<uint8_t> onnx_bytes(const ir::Graph& graph) {
  std::string bytes = onnx::write(graph).SerializeAsString();
  onnx::check(bytes);
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
