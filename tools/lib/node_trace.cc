#include "tools/lib/node_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/core/plain_copy.h"
#include "tools/lib/difference.h"

namespace wick::tool {
namespace {

bool apart(const Difference& d, double tolerance) {
  if (!d.comparable) return true;
  return tolerance > 0 ? !(d.max_rel <= tolerance) : !d.bits;
}

// Identifies the same step in two runs, with the count of steps that share the rest of the key.
using Key = std::pair<std::string, int>;
using Steps = std::map<Key, const NodeTrace::Step*>;

std::string by_name(const NodeTrace::Step& step) { return step.op + " " + step.node; }
std::string by_node(const NodeTrace::Step& step) { return step.node; }
std::string by_label(const NodeTrace::Step& step) {
  return step.node.empty() ? "op " + step.op : "node " + step.node;
}
std::string by_number(const NodeTrace::Step& step) { return std::to_string(step.index); }

template <class Name>
std::vector<Key> keys_of(const NodeTrace& trace, Name name) {
  std::map<std::string, int> seen;
  std::vector<Key> keys;
  for (const NodeTrace::Step& step : trace.steps()) {
    const std::string text = name(step);
    keys.emplace_back(text, ++seen[text]);
  }
  return keys;
}

// Returns each step of `a` with its step in `b`, or null. Steps that a device ran are in neither
// trace, so counts of a name differ between runs of one program, and the numbers of steps do not.
template <class Name>
std::vector<const NodeTrace::Step*> partners(const NodeTrace& a, const NodeTrace& b, Name name) {
  const std::vector<Key> keys_a = keys_of(a, name), keys_b = keys_of(b, name);
  Steps others;
  for (size_t i = 0; i < keys_b.size(); ++i) others[keys_b[i]] = &b.steps()[i];
  std::vector<const NodeTrace::Step*> found;
  for (const Key& key : keys_a) {
    const auto at = others.find(key);
    found.push_back(at == others.end() ? nullptr : at->second);
  }
  return found;
}

// As above for two programs: by op and name; a node that another op made of one name computes, such
// as a fused or quantized one, by its name, where both have as many of it.
std::vector<const NodeTrace::Step*> partners_in_other(const NodeTrace& a, const NodeTrace& b) {
  std::vector<const NodeTrace::Step*> found = partners(a, b, by_name);
  const std::vector<const NodeTrace::Step*> named = partners(a, b, by_node);
  std::map<std::string, int64_t> more;  // steps of a name in a than in b
  for (const NodeTrace::Step& step : a.steps()) ++more[step.node];
  for (const NodeTrace::Step& step : b.steps()) --more[step.node];
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& node = a.steps()[i].node;
    if (found[i] == nullptr && !node.empty() && more[node] == 0) found[i] = named[i];
  }
  return found;
}

bool same_nodes(const std::vector<NodeTrace::Step>& steps,
                const std::vector<const NodeTrace::Step*>& others) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (others[i] != nullptr && by_name(steps[i]) != by_name(*others[i])) return false;
  }
  return true;
}

std::string step_text(const NodeTrace::Step& step, int number) {
  if (step.node.empty())
    return fmt::format("{} number {} of those without a name", step.op, number);
  if (number == 1) return fmt::format("{} {}", step.op, step.node);
  return fmt::format("{} {}, number {} of that name", step.op, step.node, number);
}

}  // namespace

HostTensor copy_of(const TensorView& v) {
  if (v.block == 0) return HostTensor(v.dtype, v.shape, v.data, v.nbytes());
  HostTensor t(v.dtype, v.shape);
  copy_plain(v, t.data());
  return t;
}

void NodeTrace::on_op(const TraceEvent& event) {
  if (std::strcmp(event.backend, "cpu") != 0) return;
  Step step{event.op, event.node, {}, event.index};
  for (const TensorView& v : event.out)
    step.outputs.push_back(v.present() ? copy_of(v) : HostTensor());
  steps_.push_back(std::move(step));
}

std::string first_difference(const NodeTrace& a, const NodeTrace& b, double tolerance) {
  std::vector<const NodeTrace::Step*> others = partners(a, b, by_number);
  if (!same_nodes(a.steps(), others)) others = partners_in_other(a, b);
  const std::vector<Key> names = keys_of(a, by_label);
  for (size_t k = 0; k < a.steps().size(); ++k) {
    if (others[k] == nullptr) continue;
    const NodeTrace::Step &step = a.steps()[k], &other = *others[k];
    for (size_t i = 0; i < std::min(step.outputs.size(), other.outputs.size()); ++i) {
      if (!step.outputs[i].present() || !other.outputs[i].present()) continue;
      Difference d = difference(step.outputs[i], other.outputs[i]);
      if (apart(d, tolerance))
        return fmt::format("{} ({})", step_text(step, names[k].second), d.text());
    }
  }
  return "";
}

}  // namespace wick::tool
