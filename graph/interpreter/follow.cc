#include "graph/interpreter/follow.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/op_cost.h"
#include "runtime/ops/op_info.h"
#include "runtime/registry/registry.h"

namespace wick::ir {
namespace {

constexpr double kNodeRoundings = 8;
constexpr int64_t kBytesStep = 1;  // for what is rounded to a byte

double half_ulp(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 0x1p-53;
    case DType::kF16: return 0x1p-11;
    case DType::kBF16: return 0x1p-8;
    default: return 0x1p-24;
  }
}

double largest(const HostTensor& t) {
  double most = 0;
  if (!t.present() || !is_float(t.dtype())) return most;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = std::fabs(element_as_double(t, i));
    if (std::isfinite(v)) most = std::fmax(most, v);
  }
  return most;
}

// Returns the allowance of one node: the terms of an element's sum, and what their magnitudes add
// up to.
Allowance own_allowance(const Node& n, Span<const HostTensor> in, Span<const HostTensor> out,
                        Promise promise) {
  Allowance a;
  std::vector<TensorView> views, made;
  for (const HostTensor& t : in) views.push_back(t.present() ? t.view() : TensorView());
  double elements = 1;
  for (const HostTensor& t : out) {
    made.push_back(t.view());
    elements = std::fmax(elements, static_cast<double>(t.numel()));
    a.magnitude = std::fmax(a.magnitude, largest(t));
  }
  const OpCost cost = op_cost(n.op, n.attrs.get(), views, made);
  const double terms = std::ceil((cost.macs + cost.other) / elements);
  double product = 1, most = 0;
  for (const HostTensor& t : in) {
    const double m = largest(t);
    most = std::fmax(most, m);
    if (m > 0) product *= m;
  }
  a.roundings = kNodeRoundings + terms;
  // A device's exp is off by 3 + 2|x| ulp, and so is what is computed from it.
  if (promise == Promise::kDevice) a.roundings += 2 * std::fmin(most, 128);
  a.magnitude = std::fmax(a.magnitude, most);
  if (cost.macs > 0) a.magnitude = std::fmax(a.magnitude, terms * product);
  if (terms > 1) a.magnitude = std::fmax(a.magnitude, terms * most);
  return a;
}

// Returns which values go by their names: an output's name belongs to the output's value, and a
// name that several values have does not count.
std::vector<bool> has_name(const Graph& g) {
  std::map<std::string, ValueId> owner;
  for (const GraphOutput& o : g.outputs()) owner.emplace(o.name, o.value);
  std::map<std::string, int> times;
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.outputs) times[g.value(v).name] += n.removed() ? 0 : 1;
  }
  std::vector<bool> named(g.value_count(), false);
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.outputs) {
      const std::string& name = g.value(v).name;
      if (n.removed() || name.empty()) continue;
      const auto output = owner.find(name);
      named[at(v)] = output != owner.end() ? output->second == v : times[name] == 1;
    }
  }
  return named;
}

void join(Allowance* to, const Allowance& from) {
  to->roundings += from.roundings;
  to->magnitude = std::fmax(to->magnitude, from.magnitude);
}

const Node* control_of(const Graph& g, const std::string& output) {
  for (const Node& n : g.nodes()) {
    if (!n.removed() && !n.regions.empty() && !n.outputs.empty() &&
        g.value(n.outputs[0]).name == output)
      return &n;
  }
  return nullptr;
}

// Returns which values of a region go by their names: one that several have does not count.
std::vector<bool> has_name_inside(const Graph& region) {
  std::map<std::string, int> times;
  const auto each = [&](const auto& visit) {
    for (ValueId v : region.inputs()) visit(v);
    for (const Node& n : region.nodes()) {
      for (ValueId v : n.outputs) {
        if (!n.removed()) visit(v);
      }
    }
  };
  each([&](ValueId v) { ++times[region.value(v).name]; });
  std::vector<bool> named(region.value_count(), false);
  each([&](ValueId v) {
    const std::string& name = region.value(v).name;
    named[at(v)] = !name.empty() && times[name] == 1;
  });
  return named;
}

}  // namespace

double Allowance::of(DType dtype, Promise promise) const {
  if (promise == Promise::kBits) return 0;
  if (!is_float(dtype)) return dtype_bits(dtype) <= 8 && dtype != DType::kBool ? kBytesStep : 0;
  const double operation = promise == Promise::kDevice ? 2 : 1;
  return 2 * operation * roundings * half_ulp(dtype) * magnitude;
}

const Graph* region_at(const Graph& graph, const Place& place) {
  const Graph* g = &graph;
  for (const Inside& i : place) {
    const Node* n = control_of(*g, i.control);
    if (n == nullptr || i.region >= n->regions.size()) return nullptr;
    g = &n->regions[i.region];
  }
  return g;
}

std::string maker_text(const Graph& graph, const Place& place, ValueId value) {
  std::string around;  // the innermost first
  const Graph* g = &graph;
  for (size_t k = 0; k < place.size(); ++k) {
    const Inside& i = place[k];
    const Node* n = control_of(*g, i.control);
    if (n == nullptr) return "";
    const std::string control = node_text(*g, g->value(n->outputs[0]).producer);
    const std::string run = n->op == OpId::kLoop
                                ? i.trip < 0 ? "a trip" : "trip " + std::to_string(i.trip)
                            : i.region == 0 ? "the then branch"
                                            : "the else branch";
    g = &n->regions[i.region];
    if (k + 1 == place.size() && g->value(value).origin == ValueOrigin::kInput)
      return control + ", what enters " + run + around;
    around = " in " + run + " of " + control + (around.empty() ? "" : "," + around);
  }
  const Value& v = g->value(value);
  if (v.origin == ValueOrigin::kConstant) return "constant";
  return v.origin == ValueOrigin::kNode ? node_text(*g, v.producer) + around : "";
}

std::string inside_key(const Place& place, const std::string& name) {
  if (place.empty()) return name;
  return region_key(place) + std::to_string(place.back().nth) + '\x1f' + name;
}

std::string region_key(const Place& place) {
  std::string key = "\x1f";
  for (const Inside& i : place) key += i.control + '\x1f' + std::to_string(i.region) + '\x1f';
  return key;
}

Follower::Follower(const Graph& graph, Promise promise) : promise_(promise), top_(has_name(graph)) {
  frames_.push_back({&graph, &top_, true, {}, {}});
  if (promise != Promise::kBits) frames_[0].carried.resize(graph.value_count());
  add_regions(graph, top_, true);
}

void Follower::region(const Graph& region, std::vector<HostTensor>& inputs) {
  const Region& r = regions_.at(&region);
  std::optional<Frame> before;  // the trip before this one
  int64_t trip = r.control->op == OpId::kLoop ? 0 : -1;
  if (frames_.back().graph == &region) {
    trip = place_.back().trip + 1;
    before = leave();
  }
  place_.push_back({r.name, r.index, trip, runs_[&region]++});
  frames_.push_back({&region, &r.named, r.known, {}, {}});
  if (promise_ != Promise::kBits) allow_inputs(*r.control, before);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = region.inputs()[i];
    if (has_key(v)) see(-1, v, {}, inputs[i], allowed(v));
  }
}

void Follower::node(const Graph& graph, NodeId id, Span<const HostTensor> in,
                    std::vector<HostTensor>& out) {
  std::optional<Frame> inside;
  while (frames_.back().graph != &graph) inside = leave();
  const Node& n = graph.node(id);
  if (promise_ != Promise::kBits) allow_outputs(n, in, out, inside);
  for (size_t k = 0; k < out.size(); ++k) {
    if (has_key(n.outputs[k])) see(id, n.outputs[k], in, out[k], allowed(n.outputs[k]));
  }
}

void Follower::add_regions(const Graph& g, const std::vector<bool>& named, bool known) {
  for (const Node& n : g.nodes()) {
    for (size_t r = 0; !n.removed() && r < n.regions.size(); ++r) {
      const bool has = known && !n.outputs.empty() && named[at(n.outputs[0])];
      const auto added = regions_.emplace(
          &n.regions[r],
          Region{&n, r, has ? g.value(n.outputs[0]).name : "", has, has_name_inside(n.regions[r])});
      add_regions(n.regions[r], added.first->second.named, has);
    }
  }
}

Follower::Frame Follower::leave() {
  Frame last = std::move(frames_.back());
  frames_.pop_back();
  if (promise_ != Promise::kBits && place_.back().trip >= 0) {
    const auto& outputs = last.graph->outputs();
    last.stacked.resize(outputs.size() - 1);
    for (size_t k = 1; k < outputs.size(); ++k)
      join(&last.stacked[k - 1], last.carried[at(outputs[k].value)]);
  }
  place_.pop_back();
  return last;
}

// What enters a region has been rounded outside, or by the trip before.
void Follower::allow_inputs(const Node& control, const std::optional<Frame>& before) {
  Frame& frame = frames_.back();
  const Frame& outer = frames_[frames_.size() - 2];
  frame.carried.resize(frame.graph->value_count());
  const size_t own = own_inputs(control), inside = own_region_inputs(control);
  for (size_t i = inside == 0 ? own : 2; i < control.inputs.size(); ++i) {
    const size_t to = i + inside - own;
    const bool carried = i < own;
    frame.carried[at(frame.graph->inputs()[to])] =
        carried && before ? before->carried[at(frame.graph->outputs()[to - 1].value)]
                          : outer.carried[at(control.inputs[i])];
  }
  if (before) frame.stacked = before->stacked;
}

void Follower::allow_outputs(const Node& n, Span<const HostTensor> in, Span<const HostTensor> out,
                             const std::optional<Frame>& inside) {
  std::vector<Allowance>& carried = frames_.back().carried;
  if (!n.regions.empty()) return allow_control(n, inside);
  Allowance all = own_allowance(n, in, out, promise_);
  for (ValueId v : n.inputs) {
    if (v != kNoValue) join(&all, carried[at(v)]);
  }
  for (ValueId v : n.outputs) carried[at(v)] = all;
}

// What leaves a region is copied.
void Follower::allow_control(const Node& n, const std::optional<Frame>& inside) {
  std::vector<Allowance>& carried = frames_.back().carried;
  const bool loop = n.op == OpId::kLoop;
  const size_t kept = loop ? own_inputs(n) - 2 : n.outputs.size();
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    Allowance& to = carried[at(n.outputs[k])];
    if (!inside) {  // no trip
      to = k < kept ? carried[at(n.inputs[2 + k])] : Allowance();
    } else {
      to = k < kept ? inside->carried[at(inside->graph->outputs()[k + (loop ? 1 : 0)].value)]
                    : inside->stacked[k];
    }
  }
}

}  // namespace wick::ir
