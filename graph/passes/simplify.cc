// Dead code, common subexpressions, constants, and ops with a simpler exact form.
#include <cstring>
#include <map>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

bool remove_dead(Graph& g) {
  std::vector<int> readers(g.value_count(), 0);
  for (const GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  bool changed = false;
  for (size_t i = g.node_count(); i-- > 0;) {
    Node& n = g.node(static_cast<NodeId>(i));
    if (n.removed()) continue;
    bool read = false;
    for (ValueId v : n.outputs) read = read || readers[static_cast<size_t>(v)] > 0;
    if (read) continue;
    for (ValueId v : n.inputs) {
      if (v != kNoValue) --readers[static_cast<size_t>(v)];
    }
    g.remove_node(static_cast<NodeId>(i));
    changed = true;
  }
  g.compact();
  return changed;
}

bool share_common(Graph& g) {
  bool changed = false;
  std::map<std::pair<OpId, std::vector<ValueId>>, std::vector<NodeId>> seen;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed() || !g.node(id).regions.empty()) continue;
    auto& same = seen[{g.node(id).op, g.node(id).inputs}];
    const AttrType& type = *op_info(g.node(id).op)->attrs;
    bool found = false;
    for (NodeId other : same) {
      if (g.node(other).outputs.size() != g.node(id).outputs.size() ||
          !attrs_equal(type, g.node(other).attrs.get(), g.node(id).attrs.get())) {
        continue;
      }
      for (size_t k = 0; k < g.node(id).outputs.size(); ++k) {
        g.replace_all(g.node(id).outputs[k], g.node(other).outputs[k]);
      }
      g.remove_node(id);
      found = changed = true;
      break;
    }
    if (!found) same.push_back(id);
  }
  return changed;
}

namespace {

// Folding must not turn a small file into a large one: Expand of a scalar stays.
constexpr uint64_t kMaxGrowth = 1 << 16;
constexpr uint64_t kMaxFolded = uint64_t{1} << 31;
constexpr uint64_t kMaxFoldedNodes = 1 << 14;  // of a loop over constants

uint64_t bytes_of(Span<const HostTensor> tensors) {
  uint64_t n = 0;
  for (const HostTensor& t : tensors) n += t.nbytes();
  return n;
}

// A shape value whose numbers are all known is a constant whatever made it.
bool fold_elements(Graph& g, Node& n) {
  if (n.outputs.size() != 1 || n.op == OpId::kIdentity) return false;
  const Value& v = g.value(n.outputs[0]);
  if (!v.has_elements || v.dtype != DType::kI64 || v.shape.rank() > 1) return false;
  std::vector<int64_t> values;
  for (const SymDim& d : v.elements) {
    if (!d.known()) return false;
    values.push_back(d.constant());
  }
  Shape shape = v.shape.rank() == 0 ? Shape{} : Shape{static_cast<int64_t>(values.size())};
  if (numel(shape) != static_cast<int64_t>(values.size())) return false;
  ValueId from = n.outputs[0];
  ValueId c = g.add_constant(
      HostTensor(DType::kI64, shape, values.data(), values.size() * sizeof(int64_t)));
  g.replace_all(from, c);
  return true;
}

}  // namespace

bool fold_constants(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed() || op_info(g.node(id).op)->role == OpRole::kTrain) continue;
    // They say how a model is quantized: a weight stays as small as it is.
    if (g.node(id).op == OpId::kQuantizeLinear || g.node(id).op == OpId::kDequantizeLinear)
      continue;
    if (fold_elements(g, g.node(id))) {
      g.remove_node(id);
      changed = true;
      continue;
    }
    std::vector<HostTensor> in;
    bool constant = !g.node(id).inputs.empty();
    for (ValueId v : g.node(id).inputs) {
      constant = constant && (v == kNoValue || g.is_constant(v));
      if (!constant) break;
      in.push_back(v == kNoValue ? HostTensor() : g.value(v).constant);
    }
    if (!constant) continue;
    InterpreterOptions options;
    options.max_bytes = std::min(kMaxFolded, bytes_of(in) + kMaxGrowth);
    std::vector<HostTensor> out;
    try {
      options.max_nodes = kMaxFoldedNodes;
      out = run_any(g.node(id), in, options);
    } catch (const Error&) {
      continue;  // too large, or no kernel: the run will say so if it matters
    }
    for (size_t k = 0; k < out.size(); ++k) {
      ValueId from = g.node(id).outputs[k];
      std::string name = g.value(from).name;
      ValueId c = g.add_constant(std::move(out[k]), name);
      g.replace_all(from, c);
    }
    g.remove_node(id);
    changed = true;
  }
  if (!changed) return false;
  g.compact();
  // What was data is now known: shapes behind it may be too.
  for (size_t i = 0; i < g.node_count(); ++i) g.infer(static_cast<NodeId>(i));
  return true;
}

bool decompose(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    Node& n = g.node(id);
    if (n.removed()) continue;
    bool drop = n.op == OpId::kIdentity;
    if (n.op == OpId::kCast) drop = g.value(n.inputs[0]).dtype == g.value(n.outputs[0]).dtype;
    // an output of the graph that is an input or a constant needs a node that makes it
    bool made = g.value(n.inputs.empty() ? n.outputs[0] : n.inputs[0]).origin == ValueOrigin::kNode;
    bool free = !g.is_output(n.outputs[0]) || (made && !g.is_output(n.inputs[0]));
    if (!drop || !free) continue;
    g.replace_all(n.outputs[0], n.inputs[0]);
    g.remove_node(id);
    changed = true;
  }
  return changed;
}

}  // namespace wick::ir
