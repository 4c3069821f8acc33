#include "exporter/onnx/read/order.h"

#include <fmt/core.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "wick/error.h"

namespace wick::onnx {
namespace {

using NameSet = std::unordered_set<std::string>;

void add_read(const NodeProto& node, NameSet* read);

// Adds what a subgraph reads from the graph around it.
void add_read(const GraphProto& graph, NameSet* read) {
  NameSet inside;
  for (const NodeProto& node : graph.node()) add_read(node, &inside);
  for (const auto& info : graph.output()) inside.insert(info.name());
  for (const auto& info : graph.input()) inside.erase(info.name());
  for (const auto& t : graph.initializer()) inside.erase(t.name());
  for (const auto& t : graph.sparse_initializer()) inside.erase(t.values().name());
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) inside.erase(name);
  }
  read->insert(inside.begin(), inside.end());
}

void add_read(const NodeProto& node, NameSet* read) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) read->insert(name);
  }
  for (const AttributeProto& a : node.attribute()) {
    if (a.has_g()) add_read(a.g(), read);
    for (const GraphProto& g : a.graphs()) add_read(g, read);
  }
}

// For each node, the indices of the nodes that make what it reads, or of those that read what it
// makes.
using Makers = std::vector<std::vector<size_t>>;

// Each node that is left waits for another one, so following them must come back to one already
// seen.
[[noreturn]] void fail_cycle(Span<const NodeProto* const> nodes, const Makers& makers,
                             const std::vector<bool>& done) {
  size_t at = static_cast<size_t>(std::find(done.begin(), done.end(), false) - done.begin());
  std::vector<size_t> way;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    for (size_t maker : makers[at]) {
      if (!done[maker]) {
        at = maker;
        break;
      }
    }
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), at));
  way.push_back(at);
  constexpr size_t kMostNamed = 8;
  std::string text;
  for (size_t i = way.size(); i-- > 0;) {  // in the order in which values flow
    const NodeProto& node = *nodes[way[i]];
    if (way.size() - i <= kMostNamed || i == 0)
      text += fmt::format("{}{} '{}'", text.empty() ? "" : " -> ", node.op_type(), node_name(node));
    else if (way.size() - i == kMostNamed + 1)
      text += fmt::format(" -> ... ({} more)", way.size() - kMostNamed - 1);
  }
  throw Error(
      fmt::format("ONNX model: its nodes form a cycle, each waits for the one before: {}", text),
      Code::kInvalidProgram);
}

}  // namespace

std::vector<size_t> in_order(Span<const NodeProto* const> nodes,
                             const std::map<std::string, ValueId>& known) {
  std::unordered_map<std::string, size_t> maker_of;  // the first of two; reading reports the second
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i]->output()) {
      if (!name.empty() && known.count(name) == 0) maker_of.emplace(name, i);
    }
  }
  Makers makers(nodes.size()), readers(nodes.size());
  bool sorted = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    NameSet read;
    add_read(*nodes[i], &read);
    for (const std::string& name : read) {
      const auto maker = maker_of.find(name);
      if (maker == maker_of.end()) continue;
      makers[i].push_back(maker->second);
      readers[maker->second].push_back(i);
      sorted = sorted && maker->second < i;
    }
  }
  std::vector<size_t> order;
  order.reserve(nodes.size());
  if (sorted) {
    for (size_t i = 0; i < nodes.size(); ++i) order.push_back(i);
    return order;
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // the first listed first
  std::vector<size_t> waits(nodes.size());
  std::vector<bool> done(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    waits[i] = makers[i].size();
    if (waits[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    done[i] = true;
    order.push_back(i);
    for (size_t reader : readers[i]) {
      if (--waits[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < nodes.size()) fail_cycle(nodes, makers, done);
  return order;
}

}  // namespace wick::onnx
