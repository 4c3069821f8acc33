#include <set>
#include <utility>

#include "graph/ir/graph.h"
#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

namespace {

// Programs and the C interface hold names as C strings, so a name must not be empty or hold a zero.
bool nameless(const std::string& name) {
  return name.empty() || name.find('\0') != std::string::npos;
}

// Verifier lists what is wrong with a graph: it checks the lists of values and nodes first, and
// types only if those are sound.
class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g), defined_(g.value_count(), false) {}

  std::vector<std::string> run() {
    check_inputs();
    check_values();
    for_each_node([&](NodeId id, const Node& n) { check_node(id, n); });
    check_outputs();
    if (problems_.empty()) check_types();
    return std::move(problems_);
  }

 private:
  void bad(const std::string& text) { problems_.push_back(text); }
  bool exists(ValueId v) const { return v >= 0 && static_cast<size_t>(v) < defined_.size(); }
  template <class F>
  void for_each_node(F&& f) {
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (!g_.node(id).removed()) f(id, g_.node(id));
    }
  }

  void check_inputs() {
    std::set<std::string> names;
    for (ValueId v : g_.inputs()) {
      if (!exists(v) || g_.value(v).origin != ValueOrigin::kInput) {
        bad("input list names value " + std::to_string(v) + ", which is no input");
        continue;
      }
      if (nameless(g_.value(v).name) || !names.insert(g_.value(v).name).second) {
        bad("input \"" + g_.value(v).name + "\" is unnamed or named twice");
      }
    }
  }

  void check_values() {
    for (size_t v = 0; v < defined_.size(); ++v) {
      const Value& value = g_.value(static_cast<ValueId>(v));
      if (value.origin == ValueOrigin::kConstant) {
        if (value.constant.dtype() != value.dtype || !is_static(value.shape) ||
            !(to_static(value.shape) == value.constant.shape())) {
          bad("constant %" + std::to_string(v) + " \"" + value.name + "\" differs from its type");
        }
      }
      if (value.origin != ValueOrigin::kNode) defined_[v] = true;
    }
  }

  void check_node(NodeId id, const Node& n) {
    const OpInfo* info = op_info(n.op);
    const std::string where = node_text(g_, id);
    if (info == nullptr) return bad(where + ": unknown op");
    if (n.inputs.size() < info->min_inputs ||
        (info->max_inputs != 255 && n.inputs.size() > info->max_inputs)) {
      bad(where + ": has " + std::to_string(n.inputs.size()) + " inputs");
    }
    check_reads(where, n, info->min_inputs);
    check_regions(where, n);
    if (info->outputs != 255 && n.outputs.size() != info->outputs) {
      bad(where + ": has " + std::to_string(n.outputs.size()) + " outputs");
    }
    check_makes(where, id, n);
  }

  void check_reads(const std::string& where, const Node& n, size_t required) {
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      ValueId v = n.inputs[k];
      if (v == kNoValue) {
        if (k < required) bad(where + ": required input " + std::to_string(k) + " is absent");
      } else if (!exists(v)) {
        bad(where + ": reads value " + std::to_string(v) + ", which does not exist");
      } else if (!defined_[static_cast<size_t>(v)]) {
        bad(where + ": reads %" + std::to_string(v) + " before it is made");
      }
    }
  }

  void check_regions(const std::string& where, const Node& n) {
    if (n.regions.size() != static_cast<size_t>(region_count(n.op)))
      bad(where + ": has " + std::to_string(n.regions.size()) + " regions");
    for (const Graph& region : n.regions) {
      for (const std::string& p : verify_problems(region))
        bad(where + ": region \"" + region.name + "\": " + p);
    }
  }

  void check_makes(const std::string& where, NodeId id, const Node& n) {
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      ValueId v = n.outputs[k];
      if (!exists(v)) {
        bad(where + ": makes value " + std::to_string(v) + ", which does not exist");
        continue;
      }
      const Value& value = g_.value(v);
      if (value.origin != ValueOrigin::kNode || value.producer != id ||
          value.output != static_cast<int>(k)) {
        bad(where + ": %" + std::to_string(v) + " does not name it as its producer");
      }
      if (defined_[static_cast<size_t>(v)])
        bad(where + ": %" + std::to_string(v) + " is made twice");
      defined_[static_cast<size_t>(v)] = true;
    }
  }

  void check_outputs() {
    std::set<std::string> names;
    for (const GraphOutput& o : g_.outputs()) {
      if (nameless(o.name) || !names.insert(o.name).second) {
        bad("output \"" + o.name + "\" is unnamed or named twice");
      }
      if (!exists(o.value) || !defined_[static_cast<size_t>(o.value)]) {
        bad("output \"" + o.name + "\" is never made");
      }
    }
    if (g_.outputs().empty() && !g_.is_region()) bad("the graph has no output");
  }

  // The stored types must be what the rules infer now. A shape may be known better than the rule
  // knows it (an ONNX file declares it), but never differently.
  void check_types() {
    Graph copy = g_;
    for_each_node([&](NodeId id, const Node& n) { check_types_of(id, n, copy); });
  }

  void check_types_of(NodeId id, const Node& n, Graph& copy) {
    try {
      copy.infer(id);
    } catch (const Error& e) {
      return bad(node_text(g_, id) + ": " + e.what());
    }
    for (ValueId v : n.outputs) {
      const Value &now = copy.value(v), &stored = g_.value(v);
      bool same = now.dtype == stored.dtype && now.element == stored.element;
      if (now.ranked && stored.ranked) {
        same = same && now.shape.rank() == stored.shape.rank();
        for (int d = 0; same && d < now.shape.rank(); ++d) {
          same = dim_equal(now.shape[d], stored.shape[d]) != Tri::kNo;
        }
      }
      if (!same) {
        bad(node_text(g_, id) + ": stored as " + type_text(stored) + ", the rule says " +
            type_text(now));
      }
      copy.value(v) = stored;
    }
  }

  const Graph& g_;
  std::vector<bool> defined_;  // by value
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_problems(const Graph& g) { return Verifier(g).run(); }

void verify(const Graph& graph, const std::string& when) {
  std::vector<std::string> problems = verify_problems(graph);
  if (problems.empty()) return;
  std::string text = "the graph is broken" + (when.empty() ? "" : " " + when);
  for (const std::string& p : problems) text += "\n  " + p;
  throw Error(text);
}

}  // namespace wick::ir
