#include "graph/interpreter/beside.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/interpreter/follow.h"
#include "graph/ir/element_pairs.h"
#include "wick/error.h"

namespace wick::ir {

Apart apart(const HostTensor& made, const HostTensor& given, Promise promise, double bound) {
  Apart result;
  result.comparable = each_unequal(made, given, [&](const ElementPair& p) {
    if (promise == Promise::kNothing && !p.text && std::isfinite(p.a) == std::isfinite(p.b))
      return true;
    if (promise != Promise::kBits && p.off <= bound) return true;
    // In another order a sum of infinities becomes NaN earlier or later.
    if (promise != Promise::kBits && !std::isfinite(p.a) && !std::isfinite(p.b)) return true;
    result.differs = true;
    result.text = p.text;
    result.element = p.element;
    result.made = p.a;
    result.given = p.b;
    return false;
  });
  result.differs = result.differs || !result.comparable;
  return result;
}

namespace {

class Comparison final : public Follower {
 public:
  struct Stop {};
  Comparison(const Graph& graph, const GivenValues& given, Promise promise,
             const std::function<bool(const Beside&)>& look)
      : Follower(graph, promise), given_(given), promise_(promise), look_(look) {}

  // What a constant, an input or a value of another name is.
  void outputs(const std::vector<HostTensor>& made) const {
    for (size_t i = 0; i < made.size(); ++i) {
      const GraphOutput& o = graph().outputs()[i];
      const Value& v = graph().value(o.value);
      if (v.origin == ValueOrigin::kNode && v.name == o.name) continue;
      const auto known = given_.find(o.name);
      if (known == given_.end()) continue;
      const double bound = allowed(o.value).of(element_dtype(made[i]), promise_);
      if (!look_({graph(), place(), -1, o.value, o.name, made[i], known->second, {}, bound}))
        return;
    }
  }

 private:
  void see(NodeId node, ValueId id, Span<const HostTensor> in, HostTensor& value,
           const Allowance& allowed) override {
    const auto known = given_.find(key(id));
    if (known == given_.end()) return;
    const HostTensor& other = known->second;
    const double bound = allowed.of(element_dtype(value), promise_);
    const std::string& name = graph().value(id).name;
    if (!look_({graph(), place(), node, id, name, value, other, in, bound})) throw Stop();
    // A value of another type would only be refused further on.
    if (other.dtype() != value.dtype() || !(other.shape() == value.shape())) return;
    value = other;
    restart(id);
  }

  const GivenValues& given_;
  const Promise promise_;
  const std::function<bool(const Beside&)>& look_;
};

class Keeper final : public Follower {
 public:
  Keeper(const Graph& graph, uint64_t most, GivenValues* all)
      : Follower(graph, Promise::kBits), most_(most), all_(*all) {}

 private:
  void see(NodeId, ValueId id, Span<const HostTensor>, HostTensor& value,
           const Allowance&) override {
    const bool inside = !place().empty();
    if (inside && inside_ > std::min(kMostInside, most_ / 4)) return;
    (inside ? inside_ : kept_) += value.held_bytes() + (inside ? kInsideOverhead : 0);
    if (kept_ > most_)
      throw Error(
          "its values take more than the " + std::to_string(most_) + " bytes that may be kept",
          Code::kBudgetExceeded);
    all_.emplace(key(id), value);
  }

  const uint64_t most_;
  uint64_t kept_ = 0, inside_ = 0;
  GivenValues& all_;
};

}  // namespace

void run_beside(const Graph& graph, Span<const HostTensor> inputs, const GivenValues& given,
                Promise promise, const std::function<bool(const Beside&)>& look,
                const InterpreterOptions& options) {
  Comparison comparison(graph, given, promise, look);
  try {
    comparison.outputs(run_watched(graph, inputs, comparison, options));
  } catch (const Comparison::Stop&) {  // `look` has seen enough
  }
}

GivenValues named_values(const Graph& graph, Span<const HostTensor> inputs,
                         const InterpreterOptions& options, uint64_t most_kept) {
  GivenValues all;
  Keeper keeper(graph, most_kept, &all);
  const std::vector<HostTensor> outputs = run_watched(graph, inputs, keeper, options);
  for (size_t i = 0; i < outputs.size(); ++i) all.emplace(graph.outputs()[i].name, outputs[i]);
  return all;
}

namespace {

void name_inside(Graph& region, const std::string& prefix) {
  std::set<std::string> taken;
  int number = 0;
  const auto name = [&](ValueId id) {
    std::string& text = region.value(id).name;
    while (text.empty() || !taken.insert(text).second) text = prefix + std::to_string(number++);
  };
  for (ValueId v : region.inputs()) name(v);
  for (size_t i = 0; i < region.node_count(); ++i) {
    Node& n = region.node(static_cast<NodeId>(i));
    if (n.removed()) continue;
    for (ValueId v : n.outputs) name(v);
    for (Graph& inner : n.regions) name_inside(inner, prefix);
  }
}

}  // namespace

void name_values(Graph& graph, const std::string& prefix) {
  std::set<std::string> taken;
  for (ValueId v : graph.inputs()) taken.insert(graph.value(v).name);
  for (const GraphOutput& o : graph.outputs()) taken.insert(o.name);
  for (const GraphOutput& o : graph.outputs()) {  // a writer gives it this name anyway
    Value& v = graph.value(o.value);
    if (v.origin == ValueOrigin::kNode) v.name = o.name;
  }
  int number = 0;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    Node& n = graph.node(static_cast<NodeId>(i));
    if (n.removed()) continue;
    for (Graph& region : n.regions) name_inside(region, prefix);
    for (ValueId id : n.outputs) {
      std::string& name = graph.value(id).name;
      if (graph.is_output(id) || (!name.empty() && taken.insert(name).second)) continue;
      do {
        name = prefix + std::to_string(number++);
      } while (!taken.insert(name).second);
    }
  }
}

}  // namespace wick::ir
