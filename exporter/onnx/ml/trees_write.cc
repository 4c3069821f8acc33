// Writes TreeEnsemble: float32 trees as TreeEnsembleRegressor, which every runtime has; float64
// ones, whose sums it would round, as ai.onnx.ml's TreeEnsemble.
#include <algorithm>

#include "exporter/onnx/ml/forest.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// Returns the number of the mode, and whether NaN goes on to the true child besides.
std::pair<int64_t, int64_t> mode_of(WriteCtx& c, int32_t relations) {
  for (size_t i = 0; i < std::size(kTreeModes); ++i) {
    if (kTreeModes[i].relations == relations) return {i, 0};
    if ((kTreeModes[i].relations | kTreeUnordered) == relations) return {i, 1};
  }
  c.fail("ONNX has no node for the relations " + std::to_string(relations));
}

Forest forest_of(WriteCtx& c) {
  std::vector<HostTensor> tables;
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    if (!c.g.is_constant(c.node.inputs[i])) c.fail("its tables must be constants");
    tables.push_back(c.g.value(c.node.inputs[i]).constant);
  }
  return forest_of_tables(tables);
}

struct Lists {
  std::vector<int64_t> trees, ids, features, yes, no, missing, entry_trees, entry_nodes, targets;
  std::vector<std::string> modes;
  std::vector<float> splits, weights;

  void node(int64_t tree, int64_t id) { trees.push_back(tree), ids.push_back(id); }
  void leaf() {
    features.push_back(0), yes.push_back(0), no.push_back(0), missing.push_back(0);
    modes.emplace_back("LEAF"), splits.push_back(0);
  }
};

// Adds a tree: its inner nodes, parents first, then its leaves.
void add_tree(WriteCtx& c, const Forest& f, int64_t root, int64_t tree, Forest::Marks* marks,
              Lists* to) {
  const std::vector<int64_t> inner = f.order({root}, marks),
                             outer = f.leaves_of(inner, {root}, marks);
  std::map<int64_t, int64_t> id;
  for (int64_t node : inner) id.emplace(node, static_cast<int64_t>(id.size()));
  for (int64_t leaf : outer) id.emplace(-1 - leaf, static_cast<int64_t>(id.size()));
  for (int64_t node : inner) {
    const Forest::Node& n = f.nodes[static_cast<size_t>(node)];
    const auto [mode, missing] = mode_of(c, n.relations);
    to->node(tree, id.at(node));
    to->features.push_back(n.feature), to->splits.push_back(static_cast<float>(n.split));
    to->modes.emplace_back(kTreeModes[mode].name), to->missing.push_back(missing);
    to->yes.push_back(id.at(n.child[0])), to->no.push_back(id.at(n.child[1]));
  }
  for (int64_t leaf : outer) {
    to->node(tree, id.at(-1 - leaf));
    to->leaf();
    for (const Forest::Entry& e : f.leaves[static_cast<size_t>(leaf)]) {
      to->entry_trees.push_back(tree), to->entry_nodes.push_back(id.at(-1 - leaf));
      to->targets.push_back(e.target), to->weights.push_back(static_cast<float>(e.weight));
    }
  }
}

void write_regressor(WriteCtx& c, const TreeEnsembleAttrs& a, const Forest& f) {
  Lists all;
  Forest::Marks marks;
  for (size_t tree = 0; tree < f.roots.size(); ++tree) {
    add_tree(c, f, f.roots[tree], static_cast<int64_t>(tree), &marks, &all);
    // Trees of one file share no nodes; a program's may, and would grow.
    if (all.ids.size() > 64 + 4 * (f.nodes.size() + f.leaves.size() + f.roots.size()))
      c.fail("its trees share too many nodes");
  }
  if (all.targets.empty() && !all.ids.empty()) {
    // ONNX's checker refuses empty lists; a weight of zero changes no sum, minimum or maximum here.
    all.targets.push_back(0), all.weights.push_back(0);
    all.entry_trees.push_back(all.trees.back()), all.entry_nodes.push_back(all.ids.back());
  }
  NodeProto& n = c.add_ml("TreeEnsembleRegressor", {c.in(0)}, {c.out(0)}, 3);
  set_string(n, "aggregate_function", kTreeAggregates[a.aggregate_function]);
  set_int(n, "n_targets", a.n_targets);
  set_ints(n, "nodes_falsenodeids", all.no);
  set_ints(n, "nodes_featureids", all.features);
  if (std::any_of(all.missing.begin(), all.missing.end(), [](int64_t m) { return m != 0; }))
    set_ints(n, "nodes_missing_value_tracks_true", all.missing);
  set_strings(n, "nodes_modes", all.modes);
  set_ints(n, "nodes_nodeids", all.ids);
  set_ints(n, "nodes_treeids", all.trees);
  set_ints(n, "nodes_truenodeids", all.yes);
  set_floats(n, "nodes_values", all.splits);
  set_ints(n, "target_ids", all.targets);
  set_ints(n, "target_nodeids", all.entry_nodes);
  set_ints(n, "target_treeids", all.entry_trees);
  set_floats(n, "target_weights", all.weights);
}

// A leaf of version 5 has one weight: a tree whose leaves have k of them is written k times, each
// time with the next one, which keeps the order of every target's sum.
void write_ensemble(WriteCtx& c, const TreeEnsembleAttrs& a, Forest f) {
  for (int64_t& root : f.roots) {  // a tree that is a leaf: a node with that leaf on both sides
    if (root >= 0) continue;
    f.nodes.push_back({0, 3, {root, root}, 0});
    root = static_cast<int64_t>(f.nodes.size()) - 1;
  }
  Forest::Marks marks;
  const std::vector<int64_t> inner = f.order(f.roots, &marks),
                             outer = f.leaves_of(inner, {}, &marks);
  const size_t each = outer.empty() ? 1 : f.leaves[static_cast<size_t>(outer[0])].size();
  for (int64_t leaf : outer) {
    if (f.leaves[static_cast<size_t>(leaf)].size() != each || each == 0)
      c.fail("ONNX has no float64 trees whose leaves have different numbers of weights");
  }
  if (each > 1 && a.aggregate_function == static_cast<int64_t>(TreeAggregate::kAverage))
    c.fail("ONNX has no average of float64 trees with several weights a leaf");
  const auto n = static_cast<int64_t>(inner.size()), copies = static_cast<int64_t>(each);
  std::vector<int64_t> node_at(f.nodes.size()), leaf_at(f.leaves.size());
  for (size_t i = 0; i < inner.size(); ++i)
    node_at[static_cast<size_t>(inner[i])] = static_cast<int64_t>(i);
  for (size_t i = 0; i < outer.size(); ++i)
    leaf_at[static_cast<size_t>(outer[i])] = static_cast<int64_t>(i) * copies;
  std::vector<int64_t> features, missing, ids[2], is_leaf[2], roots, targets;
  std::vector<uint8_t> modes;
  std::vector<double> splits, weights;
  for (int64_t copy = 0; copy < copies; ++copy) {
    for (int64_t i : inner) {
      const Forest::Node& node = f.nodes[static_cast<size_t>(i)];
      const auto [mode, tracks] = mode_of(c, node.relations);
      features.push_back(node.feature), splits.push_back(node.split);
      modes.push_back(static_cast<uint8_t>(mode)), missing.push_back(tracks);
      for (size_t k = 0; k < 2; ++k) {
        const int64_t to = node.child[k];
        is_leaf[k].push_back(to < 0 ? 1 : 0);
        ids[k].push_back(to < 0 ? leaf_at[static_cast<size_t>(-1 - to)] + copy
                                : node_at[static_cast<size_t>(to)] + copy * n);
      }
    }
  }
  for (int64_t root : f.roots) {
    for (int64_t copy = 0; copy < copies; ++copy)
      roots.push_back(node_at[static_cast<size_t>(root)] + copy * n);
  }
  for (int64_t leaf : outer) {
    for (const Forest::Entry& e : f.leaves[static_cast<size_t>(leaf)])
      targets.push_back(e.target), weights.push_back(e.weight);
  }
  const auto tensor = [](const std::vector<double>& v) {
    return HostTensor::of(Shape{static_cast<int64_t>(v.size())}, v);
  };
  NodeProto& node = c.add_ml("TreeEnsemble", {c.in(0)}, {c.out(0)}, 5);
  set_int(node, "aggregate_function", a.aggregate_function);
  set_ints(node, "leaf_targetids", targets);
  set_tensor(node, "leaf_weights", tensor(weights));
  set_int(node, "n_targets", a.n_targets);
  set_ints(node, "nodes_falseleafs", is_leaf[1]);
  set_ints(node, "nodes_falsenodeids", ids[1]);
  set_ints(node, "nodes_featureids", features);
  if (std::any_of(missing.begin(), missing.end(), [](int64_t m) { return m != 0; }))
    set_ints(node, "nodes_missing_value_tracks_true", missing);
  set_tensor(node, "nodes_modes", HostTensor::of(Shape{static_cast<int64_t>(modes.size())}, modes));
  set_tensor(node, "nodes_splits", tensor(splits));
  set_ints(node, "nodes_trueleafs", is_leaf[0]);
  set_ints(node, "nodes_truenodeids", ids[0]);
  set_ints(node, "tree_roots", roots);
}

}  // namespace

WICK_ONNX_ROW(TreeEnsemble, [](WriteCtx& c) {
  const auto& a = c.as<TreeEnsembleAttrs>();
  const Forest f = forest_of(c);
  const bool wide = c.g.value(c.node.inputs[0]).dtype == DType::kF64;
  wide ? write_ensemble(c, a, f) : write_regressor(c, a, f);
});

}  // namespace wick::onnx
