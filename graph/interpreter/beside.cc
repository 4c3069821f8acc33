#include "graph/interpreter/beside.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/ops/op_cost.h"
#include "runtime/ops/op_info.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

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

}  // namespace

double Allowance::of(DType dtype, Promise promise) const {
  if (promise == Promise::kBits) return 0;
  if (!is_float(dtype)) return dtype_bits(dtype) <= 8 && dtype != DType::kBool ? kBytesStep : 0;
  const double operation = promise == Promise::kDevice ? 2 : 1;
  return 2 * operation * roundings * half_ulp(dtype) * magnitude;
}

Apart apart(const HostTensor& made, const HostTensor& given, Promise promise, double bound) {
  Apart result;
  if (made.dtype() != given.dtype() || !(made.shape() == given.shape())) {
    result.differs = true;
    result.comparable = false;
    return result;
  }
  if (same_bits(made, given)) return result;
  if (made.dtype() == DType::kString || is_container(made.dtype())) {
    result.differs = true;
    return result;
  }
  if (const HostTensor parts = complex_parts(made); parts.dtype() != made.dtype()) {
    result = apart(parts, complex_parts(given), promise, bound);
    if (result.element >= 0) result.element /= 2;
    return result;
  }
  for (int64_t i = 0; i < made.numel(); ++i) {
    const double a = element_as_double(made, i), b = element_as_double(given, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    const double off = element_distance(made, given, i);
    if (off == 0 && (promise != Promise::kBits || std::signbit(a) == std::signbit(b))) continue;
    if (promise == Promise::kNothing && std::isfinite(a) == std::isfinite(b)) continue;
    if (promise != Promise::kBits && off <= bound) continue;
    // In another order a sum of infinities becomes NaN earlier or later.
    if (promise != Promise::kBits && !std::isfinite(a) && !std::isfinite(b)) continue;
    result.differs = true;
    result.element = i;
    result.made = a;
    result.given = b;
    return result;
  }
  return result;
}

void run_beside(const Graph& graph, Span<const HostTensor> inputs, const GivenValues& given,
                Promise promise, const std::function<bool(const Beside&)>& look,
                const InterpreterOptions& options) {
  if (inputs.size() != graph.inputs().size())
    throw Error("the graph has " + std::to_string(graph.inputs().size()) + " inputs, got " +
                std::to_string(inputs.size()));
  std::vector<HostTensor> values(graph.value_count());
  std::vector<Allowance> carried(graph.value_count());
  std::vector<int> readers(graph.value_count(), 0);
  const std::vector<bool> named = has_name(graph);
  for (const Node& n : graph.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[at(v)];
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) values[at(graph.inputs()[i])] = inputs[i];
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = graph.node(id);
    if (n.removed()) continue;
    std::vector<HostTensor> in, out;
    Allowance allowed;
    for (ValueId v : n.inputs) {
      in.push_back(v == kNoValue          ? HostTensor()
                   : graph.is_constant(v) ? graph.value(v).constant
                                          : values[at(v)]);
      if (v != kNoValue && promise != Promise::kBits) join(&allowed, carried[at(v)]);
    }
    try {
      out = run_any(graph, n, in, options);
    } catch (const Error& e) {
      throw Error(
          "[" + std::string(op_info(n.op)->name) + "] " + e.what() + " in " + node_text(graph, id),
          e.code());
    }
    if (promise != Promise::kBits) join(&allowed, own_allowance(n, in, out, promise));
    for (size_t k = 0; k < out.size(); ++k) {
      const ValueId v = n.outputs[k];
      const auto known = given.find(graph.value(v).name);
      const bool is_given = named[at(v)] && known != given.end();
      if (is_given &&
          !look({id, k, out[k], known->second, in, allowed.of(out[k].dtype(), promise)}))
        return;
      // A value of another type would only be refused further on.
      const bool usable = is_given && known->second.dtype() == out[k].dtype() &&
                          known->second.shape() == out[k].shape();
      if (readers[at(v)] == 0) continue;
      values[at(v)] = usable ? known->second : out[k];
      carried[at(v)] = usable ? Allowance() : allowed;
    }
    for (ValueId v : n.inputs) {
      if (v != kNoValue && --readers[at(v)] == 0) values[at(v)] = HostTensor();
    }
  }
}

GivenValues named_values(const Graph& graph, Span<const HostTensor> inputs,
                         const InterpreterOptions& options, uint64_t most_kept) {
  GivenValues all;
  uint64_t kept = 0;
  const std::vector<bool> named = has_name(graph);
  InterpreterOptions keep = options;
  keep.after_node = [&](NodeId id, Span<const HostTensor> out) {
    for (size_t k = 0; k < out.size(); ++k) {
      const ValueId v = graph.node(id).outputs[k];
      if (!named[at(v)]) continue;
      kept += out[k].held_bytes();
      if (kept > most_kept)
        throw Error("its values take more than the " + std::to_string(most_kept) +
                        " bytes that may be kept",
                    Code::kBudgetExceeded);
      all.emplace(graph.value(v).name, out[k]);
    }
  };
  const std::vector<HostTensor> outputs = run(graph, inputs, keep);
  for (size_t i = 0; i < outputs.size(); ++i) all.emplace(graph.outputs()[i].name, outputs[i]);
  return all;
}

void name_values(Graph& graph, const std::string& prefix) {
  std::set<std::string> taken;
  for (ValueId v : graph.inputs()) taken.insert(graph.value(v).name);
  for (const GraphOutput& o : graph.outputs()) taken.insert(o.name);
  for (const GraphOutput& o : graph.outputs()) {  // a writer gives it this name anyway
    Value& v = graph.value(o.value);
    if (v.origin == ValueOrigin::kNode) v.name = o.name;
  }
  int number = 0;
  for (const Node& n : graph.nodes()) {
    if (n.removed()) continue;
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
