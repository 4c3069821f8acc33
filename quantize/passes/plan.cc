#include "quantize/passes/plan.h"

#include <algorithm>

#include "quantize/passes/op_parts.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using ir::ValueOrigin;

using ir::at;

// Excluder finds the nodes that the recipe excludes.
class Excluder {
 public:
  Excluder(const Graph& g, const Recipe& r) : g_(g), r_(r), reasons_(g.node_count()) {}

  std::vector<std::string> run() {
    find_skipped();
    find_wide();
    if (!r_.quantize_first) find_first();
    if (!r_.quantize_last) find_last();
    return std::move(reasons_);
  }

 private:
  void find_skipped() {
    for (const std::string& pattern : r_.skip) {
      bool any = false;
      for (size_t i = 0; i < g_.node_count(); ++i) {
        const Node& n = g_.node(static_cast<NodeId>(i));
        if (n.removed()) continue;
        const std::string name = display_name(g_, static_cast<NodeId>(i));
        if (!fits_pattern(name, pattern) && (n.module.empty() || !fits_pattern(n.module, pattern)))
          continue;
        any = true;
        reasons_[i] = "skipped by \"" + pattern + "\"";
      }
      if (!any) throw_error("quantize", "no node fits the skip pattern \"" + pattern + "\"");
    }
  }

  void find_wide() {
    if (r_.widths.empty()) return;
    std::map<std::string, bool> found;
    for (size_t i = 0; i < g_.node_count(); ++i) {
      if (g_.node(static_cast<NodeId>(i)).removed()) continue;
      const auto width = r_.widths.find(display_name(g_, static_cast<NodeId>(i)));
      if (width == r_.widths.end()) continue;
      found[width->first] = true;
      if (width->second == Width::kF16 || width->second == Width::kF32)
        reasons_[i] = std::string("the recipe keeps it ") + width_name(width->second);
    }
    for (const auto& [name, width] : r_.widths) {
      if (found.count(name) == 0)
        throw_error("quantize", "the recipe has a width for \"" + name + "\", which is no node");
    }
  }

  bool is_layer(NodeId id) const { return op_part(g_, g_.node(id)).part == Part::kLayer; }

  // Finds layers that an input of the graph reaches through no other layer.
  void find_first() {
    std::vector<bool> fresh(g_.value_count(), false);
    for (ValueId v : g_.inputs()) fresh[at(v)] = true;
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (n.removed()) continue;
      const bool reached = std::any_of(n.inputs.begin(), n.inputs.end(),
                                       [&](ValueId v) { return v != kNoValue && fresh[at(v)]; });
      if (!reached) continue;
      if (is_layer(static_cast<NodeId>(i))) {
        if (reasons_[i].empty()) reasons_[i] = "a first layer, as the recipe says";
      } else {
        for (ValueId v : n.outputs) fresh[at(v)] = true;
      }
    }
  }

  void find_last() {
    std::vector<bool> last(g_.value_count(), false);
    for (const ir::GraphOutput& o : g_.outputs()) last[at(o.value)] = true;
    for (size_t i = g_.node_count(); i-- > 0;) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (n.removed()) continue;
      const bool reaches =
          std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return last[at(v)]; });
      if (!reaches) continue;
      if (is_layer(static_cast<NodeId>(i))) {
        if (reasons_[i].empty()) reasons_[i] = "a last layer, as the recipe says";
      } else {
        for (ValueId v : n.inputs) {
          if (v != kNoValue) last[at(v)] = true;
        }
      }
    }
  }

  const Graph& g_;
  const Recipe& r_;
  std::vector<std::string> reasons_;
};

class Planner {
 public:
  Planner(const Graph& g, const Recipe& r)
      : g_(g), r_(r), users_(g.users()), parts_(g.node_count()), set_(g.value_count(), kNoValue) {
    plan_.nodes.resize(g.node_count());
    plan_.integers_only.resize(g.value_count(), false);
    plan_.scale_of.resize(g.value_count(), kNoValue);
    derived_.resize(g.value_count(), false);
  }

  Plan run() {
    check_graph();
    const std::vector<std::string> excluded = excluded_nodes(g_, r_);
    for (size_t i = 0; i < excluded.size(); ++i) plan_.nodes[i].reason = excluded[i];
    for (size_t i = 0; i < g_.node_count(); ++i) {
      if (!g_.node(static_cast<NodeId>(i)).removed()) decide(static_cast<NodeId>(i));
    }
    for (size_t i = 0; i < g_.node_count(); ++i) {
      if (!g_.node(static_cast<NodeId>(i)).removed()) mark_values(static_cast<NodeId>(i));
    }
    for (size_t i = 0; i < g_.node_count(); ++i) {
      if (!g_.node(static_cast<NodeId>(i)).removed()) share(static_cast<NodeId>(i));
    }
    name_sets();
    return std::move(plan_);
  }

 private:
  void check_graph() const {
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (n.op != OpId::kQuantizeLinear && n.op != OpId::kDequantizeLinear) continue;
      throw_error("quantize", "the graph is quantized already: it has " +
                                  ir::node_text(g_, static_cast<NodeId>(i)));
    }
  }

  void stay(NodeId id, std::string reason) {
    plan_.nodes[at(id)] = {Part::kFloat, std::move(reason)};
  }

  bool touches_reals(const Node& n) const {
    const auto real = [&](ValueId v) { return v != kNoValue && is_float(g_.value(v).dtype); };
    return std::any_of(n.inputs.begin(), n.inputs.end(), real) ||
           std::any_of(n.outputs.begin(), n.outputs.end(), real);
  }

  void decide(NodeId id) {
    const Node& n = g_.node(id);
    PlannedNode& planned = plan_.nodes[at(id)];
    if (!touches_reals(n) || n.op == OpId::kShape) {
      planned.reason.clear();  // sizes and indices: there is nothing to quantize
      return;
    }
    if (!planned.reason.empty()) return;
    OpPart p = op_part(g_, n);
    if (p.part == Part::kFloat) return stay(id, p.reason);
    if (limits_range(g_, n) && absorbs(n.inputs[0])) {
      planned.part = Part::kAbsorbed;
    } else {
      const bool fed = std::any_of(p.data.begin(), p.data.end(),
                                   [&](size_t i) { return plan_.integers_only[at(n.inputs[i])]; });
      if (p.part != Part::kLayer && !fed) return stay(id, "its input comes from float ops");
      planned.part = p.part;
    }
    parts_[at(id)] = std::move(p);
    for (ValueId v : n.outputs) plan_.integers_only[at(v)] = true;
  }

  // Returns whether the node that makes v can absorb an activation behind it: nothing else reads v.
  bool absorbs(ValueId v) const {
    const ir::Value& value = g_.value(v);
    if (value.origin != ValueOrigin::kNode || users_[at(v)].size() != 1 || g_.is_output(v))
      return false;
    const Part p = plan_.nodes[at(value.producer)].part;
    return p == Part::kLayer || (p == Part::kJoin && g_.node(value.producer).op != OpId::kConcat);
  }

  bool all_readers(ValueId v, Part part) const {
    const std::vector<NodeId>& users = users_[at(v)];
    return std::all_of(users.begin(), users.end(),
                       [&](NodeId id) { return plan_.nodes[at(id)].part == part; });
  }

  // Returns whether n is a Linear whose result nothing reads as integers.
  bool gives_float(const Node& n) const {
    const ValueId v = n.outputs[0];
    if (n.op != OpId::kLinear || !all_readers(v, Part::kFloat)) return false;
    return g_.is_output(v) ? r_.float_output : true;
  }

  void mark_values(NodeId id) {
    const Node& n = g_.node(id);
    const Part part = plan_.nodes[at(id)].part;
    if (part == Part::kFloat) return;
    if (part != Part::kAbsorbed) {
      for (size_t i : parts_[at(id)].data) {
        if (!g_.is_constant(n.inputs[i])) set_[at(n.inputs[i])] = n.inputs[i];
      }
    }
    for (ValueId v : n.outputs) {
      const bool inside =
          !users_[at(v)].empty() && !g_.is_output(v) && all_readers(v, Part::kAbsorbed);
      if (inside || gives_float(n)) {
        plan_.integers_only[at(v)] = false;
      } else {
        set_[at(v)] = v;
      }
    }
  }

  ValueId root(ValueId v) const {
    while (set_[at(v)] != v) v = set_[at(v)];
    return v;
  }
  void join(ValueId a, ValueId b) {
    a = root(a), b = root(b);
    set_[at(std::max(a, b))] = std::min(a, b);
  }

  void share(NodeId id) {
    const Node& n = g_.node(id);
    const Part part = plan_.nodes[at(id)].part;
    if (part == Part::kSame) {
      for (ValueId v : n.outputs) {
        join(n.inputs[0], v);
        derived_[at(v)] = true;
      }
    } else if (part == Part::kJoin && n.op == OpId::kConcat) {
      for (ValueId v : n.inputs) {
        if (!joins_concat(v)) continue;
        join(v, n.outputs[0]);
        derived_[at(v)] = true;  // the output covers all of it
      }
    }
  }

  // Returns whether only the Concat reads v, and the node that makes it has a scale of its own to
  // give up: then the integers need no other scale on the way.
  bool joins_concat(ValueId v) const {
    const ir::Value& value = g_.value(v);
    if (value.origin != ValueOrigin::kNode || users_[at(v)].size() != 1 || g_.is_output(v))
      return false;
    const Part p = plan_.nodes[at(value.producer)].part;
    return p != Part::kFloat && p != Part::kSame;
  }

  void name_sets() {
    for (size_t v = 0; v < set_.size(); ++v) {
      if (set_[v] == kNoValue) continue;
      const ValueId name = root(static_cast<ValueId>(v));
      plan_.scale_of[v] = name;
      if (!derived_[v]) plan_.sources[name].push_back(static_cast<ValueId>(v));
    }
  }

  const Graph& g_;
  const Recipe& r_;
  const std::vector<std::vector<NodeId>> users_;
  std::vector<OpPart> parts_;
  std::vector<ValueId> set_;  // a forest of sets; kNoValue: not quantized
  std::vector<bool> derived_;
  Plan plan_;
};

}  // namespace

std::vector<std::string> excluded_nodes(const Graph& graph, const Recipe& recipe) {
  return Excluder(graph, recipe).run();
}

std::string display_name(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.name.empty()) return n.name;
  const std::string& made = g.value(n.outputs[0]).name;
  if (!made.empty()) return made;
  return n.module.empty() ? "node" + std::to_string(id) : n.module;
}

int channel_axis(const Graph& g, const Node& n) {
  if (n.op == OpId::kConv) return 1;
  if (n.op == OpId::kLinear && g.value(n.outputs[0]).ranked)
    return g.value(n.outputs[0]).shape.rank() - 1;
  return -1;
}

std::vector<Unquantized> Plan::stayed(const Graph& g) const {
  std::vector<Unquantized> list;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].part != Part::kFloat || nodes[i].reason.empty()) continue;
    const auto id = static_cast<NodeId>(i);
    const Node& n = g.node(id);
    const OpInfo* op = op_info(n.op);
    list.push_back(
        {id, display_name(g, id), op == nullptr ? "unknown" : op->name, nodes[i].reason});
  }
  return list;
}

Plan plan_quantization(const Graph& graph, const Recipe& recipe) {
  check(recipe);
  return Planner(graph, recipe).run();
}

}  // namespace wick::quantize
