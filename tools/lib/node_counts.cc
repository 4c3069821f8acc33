#include "tools/lib/node_counts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/registry/registry.h"
#include "tools/lib/difference.h"
#include "tools/lib/model.h"
#include "tools/lib/oracle.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

bool is_step(DType t) { return t == DType::kU8 || t == DType::kI8 || t == DType::kI32; }
bool is_tensor(DType t) { return is_step(t) || is_float(t) || t == DType::kI64; }

struct Kind {
  std::string name;
  int allowed = 0;
  std::vector<std::string> as_floats;  // what ONNX Runtime runs if it keeps floats
};
const Kind& report_kind(OpId op) {
  static const Kind kMoved = {"moved or chosen", 0, {}};
  static const std::map<OpId, Kind> kKinds = {
      {OpId::kQLinearConv, {"Conv", 0, {"Conv", "FusedConv"}}},
      {OpId::kQGemm, {"Gemm", 0, {"Gemm", "FusedGemm", "MatMul", "FusedMatMul"}}},
      {OpId::kQLinearMatMul, {"MatMul", 0, {"MatMul", "FusedMatMul"}}},
      {OpId::kMaxPool, {"MaxPool", 0, {}}},
      {OpId::kRelu, {"Relu", 0, {}}},
      {OpId::kClip, {"Relu", 0, {}}},
      {OpId::kQLinearAdd, {"Add", 1, {}}},
      {OpId::kQLinearMul, {"Mul", 1, {}}},
      {OpId::kQLinearAveragePool, {"AveragePool", 1, {}}},
      {OpId::kQLinearGlobalAveragePool, {"AveragePool", 1, {}}},
      {OpId::kByteTable, {"Table", 1, {}}},
      {OpId::kQLinearPRelu, {"Table", 1, {}}},
      {OpId::kQLinearSoftmax, {"Table", 1, {}}},
      {OpId::kQuantizeLinear, {"QuantizeLinear", 1, {}}},
      {OpId::kDynamicQuantizeLinear, {"QuantizeLinear", 1, {}}},
      {OpId::kConvInteger, {"ConvInteger, MatMulInteger", 0, {}}},
      {OpId::kMatMulInteger, {"ConvInteger, MatMulInteger", 0, {}}},
  };
  const auto at = kKinds.find(op);
  return at != kKinds.end() ? at->second : kMoved;
}

// Runs one node on its inputs, by the kernels of a session, which packs the node's constants.
std::vector<HostTensor> run_alone(const Graph& g, const Node& n, Span<const HostTensor> in) {
  if (!n.regions.empty()) return ir::run_any(g, n, in);
  Graph one;
  one.set_edition(g.edition());
  std::vector<ValueId> ids;
  std::map<ValueId, ValueId> made;
  std::vector<HostTensor> given;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId v = n.inputs[i];
    if (v == ir::kNoValue) {
      ids.push_back(v);
      continue;
    }
    auto [at, fresh] = made.emplace(v, ir::kNoValue);
    if (fresh && g.is_constant(v)) {
      at->second = one.add_constant(g.value(v).constant);
    } else if (fresh) {
      SymShape shape;
      for (int64_t d : in[i].shape()) shape.push_back(SymDim(d));
      at->second = one.add_input(fmt::format("i{}", i), in[i].dtype(), shape);
      given.push_back(in[i]);
    }
    ids.push_back(at->second);
  }
  const ir::NodeId id =
      one.add_node(n.op, n.attrs, std::move(ids), static_cast<int>(n.outputs.size()));
  for (size_t k = 0; k < n.outputs.size(); ++k)
    one.add_output(fmt::format("y{}", k), one.node(id).outputs[k]);
  const Model model = Model::from_graph(one, false);
  Runner runner(model, {"cpu", 1, false, nullptr});
  return runner.run(given);
}

// Our own files omit made-up names: for them the graph is written again with all names to `copy`,
// which is otherwise the same file. Returns whether that was so.
bool named(Graph& g, const std::string& copy) {
  if (g.metadata.count("wick.version") == 0) return false;
  std::set<std::string> taken;
  for (size_t v = 0; v < g.value_count(); ++v) taken.insert(g.value(static_cast<ValueId>(v)).name);
  int number = 0;
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.outputs) {
      std::string& name = g.value(v).name;
      while (name.empty()) {
        std::string fresh = fmt::format("value.{}", number++);
        if (taken.insert(fresh).second) name = std::move(fresh);
      }
    }
  }
  export_onnx(g, copy);
  return true;
}

// Lowered is the graph as it runs, and the file's tensor names of its values.
struct Lowered {
  Graph g;
  std::map<ValueId, std::string> name;
};
Lowered lower(const Graph& file) {
  Lowered l{file, {}};
  const size_t outputs = file.outputs().size();
  std::set<std::string> floats, all;
  for (const ir::GraphOutput& o : file.outputs()) all.insert(o.name);
  // As outputs, byte values survive whatever lowering makes of the ops around them.
  for (const Node& n : file.nodes()) {
    for (ValueId v : n.outputs) {
      const ir::Value& value = file.value(v);
      if (value.name.empty()) continue;
      if (is_step(value.dtype)) {
        if (all.insert(value.name).second) l.g.add_output(value.name, v);
      } else if (is_tensor(value.dtype)) {
        floats.insert(value.name);
      }
    }
  }
  ir::lower_qdq(l.g);
  for (size_t i = 0; i < l.g.outputs().size(); ++i) {
    const ir::GraphOutput& o = l.g.outputs()[i];
    if (i >= outputs || is_tensor(l.g.value(o.value).dtype)) l.name.emplace(o.value, o.name);
  }
  // Lowering keeps a name on the value that has the same reals.
  for (size_t v = 0; v < l.g.value_count(); ++v) {
    const ir::Value& value = l.g.value(static_cast<ValueId>(v));
    if (value.origin == ir::ValueOrigin::kNode && !is_step(value.dtype) &&
        floats.count(value.name) != 0)
      l.name.emplace(static_cast<ValueId>(v), value.name);
  }
  return l;
}

void count(const HostTensor& a, const HostTensor& b, const Kind& kind, const std::string& node,
           NodeCounts* counts) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape()))
    throw Error(fmt::format("{}: {}{} here, {}{} of ONNX Runtime", node, dtype_name(a.dtype()),
                            to_text(a.shape()).text, dtype_name(b.dtype()),
                            to_text(b.shape()).text));
  if (is_float(a.dtype())) {
    ClassCount& c = counts->floats[kind.name];
    ++c.nodes;
    c.equal += a.numel();
    const Difference d = difference(a, b);
    if (!(d.max_rel <= c.worst)) c.first_beyond = node, c.worst = d.max_rel;
    return;
  }
  ClassCount& c = counts->integers[kind.name];
  c.allowed = kind.allowed;
  ++c.nodes;
  int64_t one = 0, more = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double d = element_distance(a, b, i);
    one += d == 1, more += d > 1;
  }
  c.equal += a.numel() - one - more;
  c.one_step += one, c.more += more;
  if (more + (kind.allowed == 0 ? one : 0) > 0 && c.first_beyond.empty()) c.first_beyond = node;
}

}  // namespace

bool NodeCounts::within(double tolerance) const {
  const auto good = [](const auto& entry) {
    const ClassCount& c = entry.second;
    return c.more == 0 && (c.allowed > 0 || c.one_step == 0);
  };
  return std::all_of(integers.begin(), integers.end(), good) &&
         std::all_of(floats.begin(), floats.end(),
                     [&](const auto& entry) { return entry.second.worst <= tolerance; });
}

std::string NodeCounts::text(double tolerance) const {
  std::string out = fmt::format("{:<32}{:>6}{:>12}{:>12}{:>10}{:>8}  allowed\n", "class", "nodes",
                                "results", "equal", "one step", "more");
  for (const auto& [name, c] : integers) {
    out += fmt::format("{:<32}{:>6}{:>12}{:>12}{:>10}{:>8}  {}\n", name, c.nodes,
                       c.equal + c.one_step + c.more, c.equal, c.one_step, c.more,
                       c.allowed == 0 ? "none" : "one step");
  }
  for (const auto& [name, c] : floats) {
    out += fmt::format("float {:<26}{:>6}{:>12}  worst {:.1e} of the largest\n", name, c.nodes,
                       c.equal, c.worst);
  }
  if (uncompared > 0) out += fmt::format("not compared: {}\n", uncompared);
  out += "ONNX Runtime ran:";
  for (const auto& [op, n] : ran) out += fmt::format(" {} {},", n, op);
  out.back() = '\n';
  for (const auto* all : {&integers, &floats}) {
    for (const auto& [name, c] : *all) {
      const bool beyond = all == &integers ? !c.first_beyond.empty() : !(c.worst <= tolerance);
      if (beyond)
        out +=
            fmt::format("beyond what is allowed: {}, first {}\n", name, one_line(c.first_beyond));
    }
  }
  return out;
}

NodeCounts count_by_node(const std::string& path, Span<const HostTensor> inputs, bool optimize) {
  Graph file = open_graph(path);
  const ScratchFolder scratch;
  const std::string copy = scratch.file("named.onnx");
  const std::string& model = named(file, copy) ? copy : path;
  const Lowered lowered = lower(file);
  const Graph& g = lowered.g;
  std::vector<std::string> input_names, names;
  for (ValueId id : file.inputs()) input_names.push_back(file.value(id).name);
  std::map<ValueId, size_t> at;
  for (const auto& [v, name] : lowered.name) {
    at[v] = names.size();
    names.push_back(name);
  }
  const OnnxRuntimeValues theirs = onnxruntime_values(model, input_names, inputs, names, optimize);
  NodeCounts counts;
  counts.ran = theirs.ran;

  std::vector<HostTensor> have(g.value_count());
  // For values that come from a result which only we have: its allowed steps, and what made it.
  std::map<ValueId, Kind> carried;
  for (size_t i = 0; i < inputs.size(); ++i) have[static_cast<size_t>(g.inputs()[i])] = inputs[i];
  for (size_t k = 0; k < g.node_count(); ++k) {
    const Node& n = g.node(static_cast<ir::NodeId>(k));
    if (n.removed()) continue;
    Kind kind = report_kind(n.op);
    std::vector<HostTensor> in;
    for (ValueId v : n.inputs) {
      in.push_back(v == ir::kNoValue  ? HostTensor()
                   : g.is_constant(v) ? g.value(v).constant
                                      : have[static_cast<size_t>(v)]);
      const auto before = carried.find(v);
      if (before == carried.end()) continue;
      kind.name = before->second.name + ", " + kind.name;
      kind.allowed = std::max(kind.allowed, before->second.allowed);
      kind.as_floats = before->second.as_floats;
    }
    const std::string node = ir::node_text(g, static_cast<ir::NodeId>(k));
    std::vector<HostTensor> out = run_alone(g, n, in);
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      const ValueId v = n.outputs[o];
      const auto known = at.find(v);
      if (known == at.end()) {
        have[static_cast<size_t>(v)] = out[o];
        if (is_step(out[o].dtype()) || !carried.empty()) carried[v] = kind;
        continue;
      }
      const HostTensor& want = theirs.values[known->second];
      Kind judged = kind;
      const bool floats = std::any_of(kind.as_floats.begin(), kind.as_floats.end(),
                                      [&](const auto& op) { return counts.ran.count(op) != 0; });
      if (is_float(want.dtype())) {
        judged.name = op_info(n.op)->name;
      } else if (floats) {
        judged.name += ", as floats", judged.allowed = 1;
      }
      count(out[o], want, judged, node, &counts);
      have[static_cast<size_t>(v)] = want;
    }
  }
  std::vector<std::vector<ir::NodeId>> users = g.users();
  for (const auto& [v, kind] : carried) counts.uncompared += users[static_cast<size_t>(v)].empty();
  return counts;
}

}  // namespace wick::tool
