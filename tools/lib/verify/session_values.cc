#include "tools/lib/verify/session_values.h"

#include <fmt/core.h>

#include <cstring>
#include <map>
#include <set>

#include "tools/lib/node_trace.h"

namespace wick::tool {
namespace {

bool overlap(const TensorView& a, const TensorView& b) {
  const auto* p = static_cast<const char*>(a.data);
  const auto* q = static_cast<const char*>(b.data);
  return p < q + b.nbytes() && q < p + a.nbytes();
}

// Names each node after its first value and the regions that it is in, so that a step identifies
// its node.
void name_nodes(ir::Graph* graph, const std::string& around) {
  for (size_t i = 0; i < graph->node_count(); ++i) {
    ir::Node& n = graph->node(static_cast<ir::NodeId>(i));
    if (n.removed()) continue;
    n.name = (n.outputs.empty() ? "" : graph->value(n.outputs[0]).name) + around;
    for (size_t r = 0; r < n.regions.size(); ++r)
      name_nodes(&n.regions[r], fmt::format(" in region {} of {}", r, n.name));
  }
}

class ValueTrace final : public TraceHook {
 public:
  ValueTrace(const ir::Graph& graph, SessionValues* all) : all_(all) {
    std::vector<bool> constant(graph.inputs().size(), false);
    add(graph, {}, constant);
  }

  bool takes_blocks() const override { return true; }
  void on_op(const TraceEvent& event) override {
    const auto known = nodes_.find(event.node);
    if (known == nodes_.end() || std::strcmp(event.backend, "cpu") != 0) return;
    const ir::Node& n = *known->second.node;
    Region& region = regions_[known->second.region];
    if (!region.place.empty()) {
      ++known->second.runs;
      if (!region.seen.insert(&n).second) {  // it ran before: this is another trip
        region.seen = {&n};
        ++region.place.back().nth;
      }
      if (inside_bytes_ > ir::kMostInside) return;
    }
    for (size_t i = 0; i < n.inputs.size() && i < event.in.size(); ++i) {
      if (n.inputs[i] == ir::kNoValue || !event.in[i].present()) continue;
      bool overwritten = false;  // by this step, in place
      for (const TensorView& out : event.out)
        overwritten = overwritten || overlap(event.in[i], out);
      if (region.reads[ir::at(n.inputs[i])] && !overwritten)
        read(region, n.inputs[i], n, event.in[i]);
    }
    for (size_t k = 0; k < n.outputs.size() && k < event.out.size(); ++k) {
      if (event.out[k].present())
        all_->values[key(region, n.outputs[k])] = kept(region, event.out[k]);
    }
  }

  // Where a node of a region was not a step in each of its runs, nobody knows which runs it was in.
  void forget_uncertain() {
    for (const auto& [name, known] : nodes_) {
      const Region& region = regions_[known.region];
      if (region.place.empty() || region.seen.empty() || known.runs == 0 ||
          known.runs == region.place.back().nth + 1)
        continue;
      const std::string key = ir::region_key(region.place);
      std::erase_if(all_->values, [&](const auto& v) { return v.first.starts_with(key); });
      std::erase_if(all_->spoiled,
                    [&](const Spoiled& s) { return ir::region_key(s.place).starts_with(key); });
    }
  }

 private:
  struct Region {
    const ir::Graph* graph;
    ir::Place place;
    std::vector<bool> reads;         // by value: reading it is looked at
    std::set<const ir::Node*> seen;  // in this run of the region
  };
  struct Known {
    const ir::Node* node;
    size_t region;
    int64_t runs = 0;
  };

  // `constant`: of the region's inputs. These may be packed, so that reading them says nothing.
  void add(const ir::Graph& graph, const ir::Place& place, const std::vector<bool>& constant) {
    const size_t at = regions_.size();
    Region region{&graph, place, std::vector<bool>(graph.value_count(), false), {}};
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      region.reads[ir::at(graph.inputs()[i])] = !place.empty() && !constant[i];
    for (const ir::Node& n : graph.nodes()) {
      for (ir::ValueId v : n.outputs) region.reads[ir::at(v)] = true;
    }
    regions_.push_back(std::move(region));
    for (const ir::Node& n : graph.nodes()) {
      if (n.removed()) continue;
      nodes_.emplace(n.name, Known{&n, at});
      for (size_t r = 0; r < n.regions.size(); ++r) {
        ir::Place inner = place;
        inner.push_back({n.outputs.empty() ? "" : graph.value(n.outputs[0]).name, r, -1, 0});
        std::vector<bool> known(n.regions[r].inputs().size(), false);
        const size_t own = ir::own_inputs(n), inside = ir::own_region_inputs(n);
        for (size_t k = own; k < n.inputs.size(); ++k)
          known[inside + k - own] = is_known(graph, n.inputs[k], constant);
        add(n.regions[r], inner, known);
      }
    }
  }
  static bool is_known(const ir::Graph& graph, ir::ValueId v, const std::vector<bool>& constant) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph.inputs()[i] == v) return constant[i];
    }
    return graph.is_constant(v);
  }

  static std::string key(const Region& region, ir::ValueId v) {
    return ir::inside_key(region.place, region.graph->value(v).name);
  }
  HostTensor kept(const Region& region, const TensorView& view) {
    HostTensor copy = copy_of(view);
    if (!region.place.empty()) inside_bytes_ += copy.held_bytes() + ir::kInsideOverhead;
    return copy;
  }
  void read(const Region& region, ir::ValueId value, const ir::Node& reader,
            const TensorView& view) {
    HostTensor now = copy_of(view);
    const auto [made, fresh] = all_->values.emplace(key(region, value), now);
    if (!fresh && !same_bits(made->second, now)) {
      ir::Place place = region.place;
      if (place.size() == 1 && region.graph->is_region()) place[0].trip = place[0].nth;
      all_->spoiled.push_back({region.graph->value(value).name,
                               region.graph->value(reader.outputs[0]).name, place, made->second,
                               now});
    }
  }

  std::map<std::string, Known> nodes_;
  std::vector<Region> regions_;
  SessionValues* all_;
  uint64_t inside_bytes_ = 0;
};

ir::Graph with_all_outputs(const ir::Graph& graph) {
  ir::Graph g = graph;
  std::set<std::string> outputs;
  for (const ir::GraphOutput& o : g.outputs()) outputs.insert(o.name);
  for (const ir::Node& n : graph.nodes()) {
    if (n.removed()) continue;
    for (ir::ValueId v : n.outputs) {
      if (outputs.insert(g.value(v).name).second) g.add_output(g.value(v).name, v);
    }
  }
  return g;
}

}  // namespace

SessionValues session_values(const ir::Graph& graph, Span<const HostTensor> inputs,
                             const RunnerOptions& options) {
  const bool device = options.backend != "cpu";
  ir::Graph g = device ? with_all_outputs(graph) : graph;
  if (!device) name_nodes(&g, "");
  SessionValues all;
  ValueTrace trace(g, &all);
  const Model model = Model::from_graph(g, false);
  RunnerOptions traced = options;
  if (!device) traced.trace = &trace;
  Runner runner(model, traced);
  const std::vector<HostTensor> outputs = runner.run(inputs);
  trace.forget_uncertain();
  for (size_t i = 0; i < outputs.size(); ++i)
    all.values[runner.session().output(i).name] = outputs[i];
  return all;
}

}  // namespace wick::tool
