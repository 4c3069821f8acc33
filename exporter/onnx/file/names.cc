#include "exporter/onnx/file/names.h"

#include <algorithm>
#include <cctype>

namespace wick::onnx {
namespace {

using namespace ir;  // NOLINT

constexpr const char* kMadeUp = "wick_";

void settle(Graph& g, Names* names);

// A region's own inputs have names of their own; its captures have the names outside.
void settle_region(const Graph& g, const Node& node, Graph& region, Names* names) {
  std::set<std::string> own;
  const size_t first = own_inputs(node), inside = own_region_inputs(node);
  for (size_t i = 0; i < region.inputs().size(); ++i) {
    std::string& name = region.value(region.inputs()[i]).name;
    if (i >= inside) {
      name = g.value(node.inputs[first + i - inside]).name;
      if (name.empty()) name = "captured";
    }
    while ((i < inside && names->has(name)) || !own.insert(name).second) name += "_";
  }
  names->enter();
  for (size_t i = 0; i < inside; ++i) names->take(region.value(region.inputs()[i]).name);
  settle(region, names);
  names->leave();
}

void settle(Graph& g, Names* names) {
  for (size_t i = 0; i < g.value_count(); ++i) {
    Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin == ValueOrigin::kInput || v.name.empty() || names->is_constant(v)) continue;
    if (names->take(v.name)) continue;
    v.name.clear();
    v.parameter = false;  // without a name it is no key of a state_dict
  }
  for (size_t i = 0; i < g.value_count(); ++i)
    names->add_constant(g.value(static_cast<ValueId>(i)));
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& node = g.node(static_cast<NodeId>(i));
    node.name = without_number(node.name);
    for (Graph& region : node.regions) settle_region(g, node, region, names);
  }
}

}  // namespace

std::string made_up_name(int number) { return kMadeUp + std::to_string(number); }

bool is_made_up(const std::string& name) {
  const std::string prefix = kMadeUp;
  return name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0 &&
         std::all_of(name.begin() + static_cast<long>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string numbered_name(const std::string& name, int number) {
  return name + "/" + made_up_name(number);
}
std::string without_number(const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos || slash == 0 || !is_made_up(name.substr(slash + 1))) return name;
  return name.substr(0, slash);
}

bool Names::has(const std::string& name) const {
  return std::any_of(levels_.begin(), levels_.end(),
                     [&](const Level& level) { return level.names.count(name) != 0; });
}
bool Names::take(const std::string& name) {
  return !has(name) && levels_.back().names.insert(name).second;
}
void Names::add_constant(const Value& v) {
  if (v.origin == ValueOrigin::kConstant && !v.name.empty())
    levels_.back().constants.emplace(v.name, v.constant.address());
}
bool Names::is_constant(const Value& v) const {
  if (v.origin != ValueOrigin::kConstant) return false;
  return std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    auto found = level.constants.find(v.name);
    return found != level.constants.end() && found->second == v.constant.address();
  });
}

void settle_names(Graph& graph) {
  graph.sort_constants();
  Names names;
  for (ValueId id : graph.inputs()) names.take(graph.value(id).name);
  settle(graph, &names);
}

}  // namespace wick::onnx
