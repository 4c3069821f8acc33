#include "exporter/onnx/ml/forest.h"

#include <algorithm>
#include <limits>

#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();

[[noreturn]] void out_of_range(const char* what) {
  throw Error(std::string("a tree's ") + what + " are out of range", Code::kInvalidProgram);
}

HostTensor real_table(DType dtype, const std::vector<double>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  if (dtype == DType::kF64) return HostTensor::of(shape, values);
  return HostTensor::of(shape, std::vector<float>(values.begin(), values.end()));
}

HostTensor int_table(const Shape& shape, const std::vector<int32_t>& values) {
  return HostTensor::of(shape, values);
}
HostTensor int_table(const std::vector<int32_t>& values) {
  return int_table({static_cast<int64_t>(values.size())}, values);
}

}  // namespace

// The reverse of a postorder that takes roots from the last and false children first: in it a node
// comes before all that it leads to, shared ones too.
std::vector<int64_t> Forest::order(const std::vector<int64_t>& from, Marks* marks) const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t>& state = marks->nodes;
  state.resize(nodes.size(), kNew);
  struct Visit {
    int64_t node;
    int next;  // the child to go on with: 1, then 0
  };
  std::vector<Visit> way;
  std::vector<int64_t> found;
  const auto enter = [&](int64_t at) {
    if (at < 0 || state[static_cast<size_t>(at)] == kDone) return;
    if (state[static_cast<size_t>(at)] == kOpen)
      throw Error("its nodes lead back to node " + std::to_string(at) + ": they are no tree",
                  Code::kInvalidProgram);
    state[static_cast<size_t>(at)] = kOpen;
    way.push_back({at, 1});
  };
  for (auto root = from.rbegin(); root != from.rend(); ++root) {
    enter(*root);
    while (!way.empty()) {
      const auto node = static_cast<size_t>(way.back().node);
      if (const int next = way.back().next--; next >= 0) {
        enter(nodes[node].child[next]);
        continue;
      }
      state[node] = kDone;
      found.push_back(way.back().node);
      way.pop_back();
    }
  }
  for (int64_t at : found) state[static_cast<size_t>(at)] = kNew;
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<int64_t> Forest::leaves_of(const std::vector<int64_t>& of,
                                       const std::vector<int64_t>& from, Marks* marks) const {
  std::vector<uint8_t>& seen = marks->leaves;
  seen.resize(leaves.size());
  std::vector<int64_t> found;
  const auto look = [&](int64_t at) {
    if (at >= 0 || seen[static_cast<size_t>(-1 - at)] != 0) return;
    seen[static_cast<size_t>(-1 - at)] = 1;
    found.push_back(-1 - at);
  };
  for (int64_t node : of) {
    for (int64_t child : nodes[static_cast<size_t>(node)].child) look(child);
  }
  for (int64_t root : from) look(root);
  for (int64_t at : found) seen[static_cast<size_t>(at)] = 0;
  return found;
}

std::vector<HostTensor> Forest::tables(DType dtype) const {
  Marks marks;
  const std::vector<int64_t> inner = order(roots, &marks), outer = leaves_of(inner, roots, &marks);
  std::vector<int32_t> node_at(nodes.size()), leaf_at(leaves.size());
  for (size_t i = 0; i < inner.size(); ++i)
    node_at[static_cast<size_t>(inner[i])] = static_cast<int32_t>(i);
  for (size_t i = 0; i < outer.size(); ++i)
    leaf_at[static_cast<size_t>(outer[i])] = -1 - static_cast<int32_t>(i);
  const auto code = [&](int64_t at) {
    return at < 0 ? leaf_at[static_cast<size_t>(-1 - at)] : node_at[static_cast<size_t>(at)];
  };
  std::vector<int32_t> rows, starts = {0}, targets, tops;
  std::vector<double> splits, weights;
  for (int64_t i : inner) {
    const Node& n = nodes[static_cast<size_t>(i)];
    if (n.feature < 0 || n.feature > kMostInt) out_of_range("features");
    rows.insert(rows.end(),
                {static_cast<int32_t>(n.feature), n.relations, code(n.child[0]), code(n.child[1])});
    splits.push_back(n.split);
  }
  for (int64_t i : outer) {
    for (const Entry& e : leaves[static_cast<size_t>(i)]) {
      if (e.target < 0 || e.target > kMostInt) out_of_range("targets");
      targets.push_back(static_cast<int32_t>(e.target));
      weights.push_back(e.weight);
    }
    starts.push_back(static_cast<int32_t>(targets.size()));
  }
  for (int64_t root : roots) tops.push_back(code(root));
  if (splits.size() > kMostInt || weights.size() > kMostInt) out_of_range("numbers of nodes");
  return {int_table({static_cast<int64_t>(splits.size()), 4}, rows),
          real_table(dtype, splits),
          int_table(tops),
          int_table(starts),
          int_table(targets),
          real_table(dtype, weights)};
}

Forest forest_of_tables(const std::vector<HostTensor>& tables) {
  const int32_t *nodes = tables[0].as<int32_t>(), *roots = tables[2].as<int32_t>(),
                *starts = tables[3].as<int32_t>(), *targets = tables[4].as<int32_t>();
  const int64_t count = tables[1].numel(), leaves = tables[3].numel() - 1;
  Forest f;
  const auto checked = [&](int32_t at, int64_t first) -> int64_t {
    if (at < 0 ? -1 - int64_t{at} >= leaves : at < first || at >= count) out_of_range("children");
    return at;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int32_t* n = nodes + 4 * i;
    f.nodes.push_back({n[0],
                       n[1],
                       {checked(n[2], i + 1), checked(n[3], i + 1)},
                       element_as_double(tables[1], i)});
  }
  for (int64_t i = 0; i < tables[2].numel(); ++i) f.roots.push_back(checked(roots[i], 0));
  for (int64_t i = 0; i < leaves; ++i) {
    if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > tables[4].numel())
      out_of_range("leaves");
    f.leaves.emplace_back();
    for (int32_t e = starts[i]; e < starts[i + 1]; ++e)
      f.leaves.back().push_back({targets[e], element_as_double(tables[5], e)});
  }
  return f;
}

}  // namespace wick::onnx
