#include <set>

#include "graph/ir/graph.h"
#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

namespace {

// Programs and the C interface hold names as C strings.
bool nameless(const std::string& name) {
  return name.empty() || name.find('\0') != std::string::npos;
}

}  // namespace

std::vector<std::string> verify_problems(const Graph& g) {
  std::vector<std::string> problems;
  auto bad = [&](const std::string& text) { problems.push_back(text); };
  auto count = static_cast<ValueId>(g.value_count());
  auto exists = [&](ValueId v) { return v >= 0 && v < count; };

  std::set<std::string> names;
  for (ValueId v : g.inputs()) {
    if (!exists(v) || g.value(v).origin != ValueOrigin::kInput) {
      bad("input list names value " + std::to_string(v) + ", which is no input");
      continue;
    }
    if (nameless(g.value(v).name) || !names.insert(g.value(v).name).second) {
      bad("input \"" + g.value(v).name + "\" is unnamed or named twice");
    }
  }
  std::vector<bool> defined(static_cast<size_t>(count), false);
  for (ValueId v = 0; v < count; ++v) {
    const Value& value = g.value(v);
    if (value.origin == ValueOrigin::kConstant) {
      if (value.constant.dtype() != value.dtype || !is_static(value.shape) ||
          !(to_static(value.shape) == value.constant.shape())) {
        bad("constant %" + std::to_string(v) + " \"" + value.name + "\" differs from its type");
      }
    }
    if (value.origin != ValueOrigin::kNode) defined[static_cast<size_t>(v)] = true;
  }
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    const Node& n = g.node(id);
    if (n.removed()) continue;
    const OpInfo* info = op_info(n.op);
    std::string where = node_text(g, id);
    if (info == nullptr) {
      bad(where + ": unknown op");
      continue;
    }
    if (n.inputs.size() < info->min_inputs ||
        (info->max_inputs != 255 && n.inputs.size() > info->max_inputs)) {
      bad(where + ": has " + std::to_string(n.inputs.size()) + " inputs");
    }
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      ValueId v = n.inputs[k];
      if (v == kNoValue) {
        if (k < info->min_inputs)
          bad(where + ": required input " + std::to_string(k) + " is absent");
      } else if (!exists(v)) {
        bad(where + ": reads value " + std::to_string(v) + ", which does not exist");
      } else if (!defined[static_cast<size_t>(v)]) {
        bad(where + ": reads %" + std::to_string(v) + " before it is made");
      }
    }
    if (n.regions.size() != static_cast<size_t>(region_count(n.op)))
      bad(where + ": has " + std::to_string(n.regions.size()) + " regions");
    for (const Graph& region : n.regions) {
      for (const std::string& p : verify_problems(region))
        bad(where + ": region \"" + region.name + "\": " + p);
    }
    if (info->outputs != 255 && n.outputs.size() != info->outputs) {
      bad(where + ": has " + std::to_string(n.outputs.size()) + " outputs");
    }
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      ValueId v = n.outputs[k];
      if (!exists(v)) {
        bad(where + ": makes value " + std::to_string(v) + ", which does not exist");
        continue;
      }
      const Value& value = g.value(v);
      if (value.origin != ValueOrigin::kNode || value.producer != id ||
          value.output != static_cast<int>(k)) {
        bad(where + ": %" + std::to_string(v) + " does not name it as its producer");
      }
      if (defined[static_cast<size_t>(v)])
        bad(where + ": %" + std::to_string(v) + " is made twice");
      defined[static_cast<size_t>(v)] = true;
    }
  }
  std::set<std::string> output_names;
  for (const GraphOutput& o : g.outputs()) {
    if (nameless(o.name) || !output_names.insert(o.name).second) {
      bad("output \"" + o.name + "\" is unnamed or named twice");
    }
    if (!exists(o.value) || !defined[static_cast<size_t>(o.value)]) {
      bad("output \"" + o.name + "\" is never made");
    }
  }
  if (g.outputs().empty() && !g.is_region()) bad("the graph has no output");
  if (!problems.empty()) return problems;

  // Types: what is stored must be what the rules say now. A shape may be known better than the rule
  // knows (an ONNX file declares it), never differently.
  Graph copy = g;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed()) continue;
    std::vector<Value> before;
    for (ValueId v : g.node(id).outputs) before.push_back(g.value(v));
    try {
      copy.infer(id);
    } catch (const Error& e) {
      bad(node_text(g, id) + ": " + e.what());
      continue;
    }
    for (size_t k = 0; k < before.size(); ++k) {
      const Value& now = copy.value(g.node(id).outputs[k]);
      bool same = now.dtype == before[k].dtype && now.element == before[k].element;
      if (now.ranked && before[k].ranked) {
        same = same && now.shape.rank() == before[k].shape.rank();
        for (int d = 0; same && d < now.shape.rank(); ++d) {
          same = dim_equal(now.shape[d], before[k].shape[d]) != Tri::kNo;
        }
      }
      if (!same) {
        bad(node_text(g, id) + ": stored as " + type_text(before[k]) + ", the rule says " +
            type_text(now));
      }
      copy.value(g.node(id).outputs[k]) = before[k];
    }
  }
  return problems;
}

void verify(const Graph& graph, const std::string& when) {
  std::vector<std::string> problems = verify_problems(graph);
  if (problems.empty()) return;
  std::string text = "the graph is broken" + (when.empty() ? "" : " " + when);
  for (const std::string& p : problems) text += "\n  " + p;
  throw Error(text);
}

}  // namespace wick::ir
