// TreeEnsembleClassifier, TreeEnsembleRegressor (versions 1 and 3) and TreeEnsemble (5): one op
// with the trees, then base values, transforms and labels as small ops.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "exporter/onnx/ml/forest.h"
#include "exporter/onnx/ml/ml.h"

namespace wick::onnx {
namespace {

// Returns the numbers of a float list, or of the tensor that may stand in its place.
std::vector<double> real_list(ReadCtx& c, const std::string& name, DType dtype) {
  const HostTensor tensor = c.attr_tensor(name + "_as_tensor");
  std::vector<double> values = c.attr_floats(name);
  if (!tensor.present()) return values;
  if (!values.empty()) c.fail("has both " + name + " and " + name + "_as_tensor");
  if (tensor.dtype() != dtype && tensor.dtype() != DType::kF32)
    c.fail(name + "_as_tensor is " + dtype_name(tensor.dtype()) + ", its trees compute in " +
           dtype_name(dtype));
  for (int64_t i = 0; i < tensor.numel(); ++i) values.push_back(element_as_double(tensor, i));
  return values;
}

// Returns a list that has an entry for each of `count` nodes or weights.
template <class T>
std::vector<T> for_each(ReadCtx& c, std::vector<T> list, const std::string& name, size_t count) {
  if (list.size() == count) return list;
  c.fail(name + " has " + std::to_string(list.size()) + " entries, must have " +
         std::to_string(count));
}
std::vector<int64_t> ints_for_each(ReadCtx& c, const std::string& name, size_t count) {
  return for_each(c, c.attr_ints(name), name, count);
}

// NodeIds finds the nodes that a file names by tree and number.
class NodeIds {
 public:
  NodeIds(ReadCtx& c, const std::vector<int64_t>& trees, const std::vector<int64_t>& ids) : c_(c) {
    for (size_t i = 0; i < trees.size(); ++i) all_.emplace_back(trees[i], ids[i], i);
    std::sort(all_.begin(), all_.end());
    for (size_t i = 1; i < all_.size(); ++i) {
      const auto& [tree, id, at] = all_[i];
      if (std::get<0>(all_[i - 1]) == tree && std::get<1>(all_[i - 1]) == id)
        c.fail("has " + text(tree, id) + " twice");
    }
  }
  size_t at(int64_t tree, int64_t id, const char* what) const {
    const auto found = std::lower_bound(all_.begin(), all_.end(), std::tuple(tree, id, size_t{0}));
    if (found == all_.end() || std::get<0>(*found) != tree || std::get<1>(*found) != id)
      c_.fail(std::string(what) + " is " + text(tree, id) + ", which is not there");
    return std::get<2>(*found);
  }

 private:
  static std::string text(int64_t tree, int64_t id) {
    return "node " + std::to_string(id) + " of tree " + std::to_string(tree);
  }
  ReadCtx& c_;
  std::vector<std::tuple<int64_t, int64_t, size_t>> all_;
};

// Sets what a node asks. A split that is NaN has no order with any feature, but only a feature that
// is NaN is missing: such a node asks for what is below all numbers.
void set_question(Forest::Node* node, int32_t relations, bool missing, double split) {
  const bool never = std::isnan(split) && (relations & kTreeUnordered) == 0;
  node->relations = (never ? kTreeLess : relations) | (missing ? kTreeUnordered : 0);
  node->split = never ? -INFINITY : split;
}

// Reads the tables of versions 1 and 3; `of` is "class" or "target".
Forest listed_forest(ReadCtx& c, const std::string& of, DType dtype) {
  const std::vector<int64_t> trees = c.attr_ints("nodes_treeids");
  const size_t n = trees.size();
  const std::vector<int64_t> ids = ints_for_each(c, "nodes_nodeids", n),
                             features = ints_for_each(c, "nodes_featureids", n),
                             yes = ints_for_each(c, "nodes_truenodeids", n),
                             no = ints_for_each(c, "nodes_falsenodeids", n);
  const auto modes = for_each(c, c.attr_strings("nodes_modes"), "nodes_modes", n);
  const auto splits = for_each(c, real_list(c, "nodes_values", dtype), "nodes_values", n);
  std::vector<int64_t> missing = c.attr_ints("nodes_missing_value_tracks_true");
  if (missing.empty()) missing.resize(n);
  for_each(c, missing, "nodes_missing_value_tracks_true", n);
  c.scope.model.visit(n);

  const NodeIds find(c, trees, ids);
  Forest f;
  std::vector<int64_t> code(n);  // what a child that is this node is called
  for (size_t i = 0; i < n; ++i) {
    if (modes[i] == "LEAF") {
      f.leaves.emplace_back();
      code[i] = -static_cast<int64_t>(f.leaves.size());
    } else {
      f.nodes.emplace_back();
      code[i] = static_cast<int64_t>(f.nodes.size()) - 1;
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (code[i] < 0) continue;
    const auto mode = std::find_if(std::begin(kTreeModes), std::end(kTreeModes),
                                   [&](const TreeMode& m) { return modes[i] == m.name; });
    if (mode == std::end(kTreeModes)) c.fail("unknown mode '" + modes[i] + "' of a node");
    Forest::Node& node = f.nodes[static_cast<size_t>(code[i])];
    node.feature = features[i];
    set_question(&node, mode->relations, missing[i] != 0, splits[i]);
    node.child[0] = code[find.at(trees[i], yes[i], "the true child of a node")];
    node.child[1] = code[find.at(trees[i], no[i], "the false child of a node")];
  }
  std::set<int64_t> begun;
  for (size_t i = 0; i < n; ++i) {  // the first node of each tree is its root
    if (begun.insert(trees[i]).second) f.roots.push_back(code[i]);
  }
  const auto weights = real_list(c, of + "_weights", dtype);
  const size_t entries = weights.size();
  const std::vector<int64_t> to = ints_for_each(c, of + "_ids", entries),
                             of_trees = ints_for_each(c, of + "_treeids", entries),
                             of_nodes = ints_for_each(c, of + "_nodeids", entries);
  c.scope.model.visit(entries);
  for (size_t e = 0; e < entries; ++e) {
    const int64_t leaf = code[find.at(of_trees[e], of_nodes[e], "the place of a weight")];
    // Old converters gave inner nodes weights, which have no meaning.
    if (leaf < 0) f.leaves[static_cast<size_t>(-1 - leaf)].push_back({to[e], weights[e]});
  }
  return f;
}

void check_ranges(ReadCtx& c, const Forest& f, ValueId x, int64_t targets) {
  const SymDim width = shape(c, x)[1];
  for (const Forest::Node& n : f.nodes) {
    if (n.feature < 0 || (width.known() && n.feature >= width.constant()))
      c.fail("a node compares feature " + std::to_string(n.feature) + " of rows " +
             shape_text(shape(c, x)));
  }
  for (const auto& leaf : f.leaves) {
    for (const Forest::Entry& e : leaf) {
      if (e.target < 0 || e.target >= targets)
        c.fail("a leaf has target " + std::to_string(e.target) + ", there are " +
               std::to_string(targets));
    }
  }
}

ValueId emit_trees(ReadCtx& c, const Forest& f, ValueId x, int64_t targets, TreeAggregate how) {
  check_ranges(c, f, x, targets);
  std::vector<ValueId> in = {x};
  for (HostTensor& table : f.tables(c.dtype(x))) in.push_back(c.constant(std::move(table)));
  return c.emit(OpId::kTreeEnsemble, TreeEnsembleAttrs{targets, static_cast<int64_t>(how)}, in);
}

// Returns the rows in the type that trees compute in: float64 stays, all else is float32.
ValueId tree_rows(ReadCtx& c) {
  ValueId x = rows_of(c);
  return cast(c, x, c.dtype(x) == DType::kF64 ? DType::kF64 : DType::kF32);
}

ValueId with_base(ReadCtx& c, ValueId scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  HostTensor wide = HostTensor::of(Shape{static_cast<int64_t>(base.size())}, base);
  ValueId added = c.dtype(scores) == DType::kF64
                      ? c.constant(wide)
                      : floats_constant(c, base, Shape{static_cast<int64_t>(base.size())});
  return plus(c, scores, added);
}

void read_regressor(ReadCtx& c) {
  const std::string aggregate = c.attr_string("aggregate_function", "SUM");
  const auto how = std::find(std::begin(kTreeAggregates), std::end(kTreeAggregates), aggregate);
  if (how == std::end(kTreeAggregates)) c.fail("unknown aggregate_function '" + aggregate + "'");
  const int64_t targets = c.attr_int("n_targets", 0);
  if (targets < 1 || targets > INT32_MAX) c.fail("n_targets must be 1 or more");
  ValueId x = tree_rows(c);
  const DType t = c.dtype(x);
  const std::vector<double> base = real_list(c, "base_values", t);
  if (!base.empty() && static_cast<int64_t>(base.size()) != targets)
    c.fail("base_values has " + std::to_string(base.size()) + " numbers for " +
           std::to_string(targets) + " targets");
  ValueId y = emit_trees(c, listed_forest(c, "target", t), x, targets,
                         static_cast<TreeAggregate>(how - kTreeAggregates));
  y = cast(c, with_base(c, y, base), DType::kF32);
  c.set(0, transformed_targets(c, transform_of(c), y, targets));
}

// Two classes, of which the trees weigh one: its score decides, above 0, or above a half where it
// is a probability; the other class gets what is left.
void one_of_two(ReadCtx& c, const Classes& classes, ValueId score, bool positive, Transform how) {
  c.set(0, label_of(c, classes, above(c, score, positive ? 0.5 : 0)));
  c.set(1, both_classes(c, how, score, positive));
}

// Returns the scores with those of classes that no leaf weighs out of reach.
ValueId weighed_only(ReadCtx& c, ValueId scores, const std::set<int64_t>& weighed, int64_t count) {
  if (static_cast<int64_t>(weighed.size()) == count || weighed.empty()) return scores;
  std::vector<double> added(static_cast<size_t>(count), -INFINITY);
  for (int64_t k : weighed) added[static_cast<size_t>(k)] = 0;
  return with_base(c, scores, added);
}

void read_classifier(ReadCtx& c) {
  const Classes classes = classes_of(c, "classlabels_strings", "classlabels_int64s");
  const int64_t count = classes.count();
  const Transform how = transform_of(c);
  ValueId x = tree_rows(c);
  const DType t = c.dtype(x);
  const std::vector<double> base = real_list(c, "base_values", t);
  Forest f = listed_forest(c, "class", t);
  std::set<int64_t> weighed;
  bool positive = true;
  for (const auto& leaf : f.leaves) {
    for (const Forest::Entry& e : leaf) {
      weighed.insert(e.target);
      positive = positive && e.weight >= 0;
    }
  }
  const auto bases = static_cast<int64_t>(base.size());
  if (count == 2 && weighed.size() == 1 && *weighed.begin() == 0 && bases <= 1) {
    return one_of_two(c, classes, with_base(c, emit_trees(c, f, x, 1, TreeAggregate::kSum), base),
                      positive, how);
  }
  if (bases != 0 && bases != count)
    c.fail("base_values has " + std::to_string(bases) + " numbers for " + std::to_string(count) +
           " classes");
  ValueId s = with_base(c, emit_trees(c, f, x, count, TreeAggregate::kSum), base);
  ValueId best = kNoValue;
  if (count == 2 && bases == 0 && weighed.size() == 1)  // the second class alone
    best = above(c, column_range(c, s, 1, 2), positive ? 0.5 : 0);
  else
    best = best_of(c, bases == 0 ? weighed_only(c, s, weighed, count) : s);
  c.set(0, label_of(c, classes, best));
  c.set(1, transformed_targets(c, how, cast(c, s, DType::kF32), count));
}

// Returns the numbers of a required tensor of `count` entries (-1: any).
std::vector<double> tensor_of(ReadCtx& c, const char* name, int64_t count) {
  const HostTensor t = c.attr_tensor(name);
  if (!t.present() || !(is_float(t.dtype()) || is_int(t.dtype())))
    c.fail(std::string(name) + " must be a tensor of numbers");
  std::vector<double> values;
  for (int64_t i = 0; i < t.numel(); ++i) values.push_back(element_as_double(t, i));
  return count < 0 ? values : for_each(c, values, name, static_cast<size_t>(count));
}

// A set's node becomes one node for each value, which all go on to the same true child.
void split_set(Forest* f, size_t node, const std::vector<double>& values, bool missing) {
  const Forest::Node set = f->nodes[node];
  size_t at = node;
  for (size_t k = 0; k < std::max<size_t>(values.size(), 1); ++k) {
    if (k > 0) {
      f->nodes[at].child[1] = static_cast<int64_t>(f->nodes.size());
      at = f->nodes.size();
      f->nodes.push_back(set);
    }
    set_question(&f->nodes[at], kTreeEqual, missing && k == 0, values.empty() ? NAN : values[k]);
  }
}

// Reads the tables of version 5.
Forest indexed_forest(ReadCtx& c) {
  const std::vector<int64_t> features = c.attr_ints("nodes_featureids"),
                             targets = c.attr_ints("leaf_targetids");
  const auto n = static_cast<int64_t>(features.size()),
             leaves = static_cast<int64_t>(targets.size());
  const auto count = static_cast<size_t>(n);
  const std::vector<double> modes = tensor_of(c, "nodes_modes", n),
                            splits = tensor_of(c, "nodes_splits", n),
                            weights = tensor_of(c, "leaf_weights", leaves);
  const std::vector<int64_t> ids[2] = {ints_for_each(c, "nodes_truenodeids", count),
                                       ints_for_each(c, "nodes_falsenodeids", count)},
                             is_leaf[2] = {ints_for_each(c, "nodes_trueleafs", count),
                                           ints_for_each(c, "nodes_falseleafs", count)};
  std::vector<int64_t> missing = c.attr_ints("nodes_missing_value_tracks_true");
  if (missing.empty()) missing.resize(count);
  for_each(c, missing, "nodes_missing_value_tracks_true", count);
  std::vector<double> members;
  if (c.attr("membership_values") != nullptr) members = tensor_of(c, "membership_values", -1);
  c.scope.model.visit(count + members.size() + targets.size());
  Forest f;
  for (int64_t e = 0; e < leaves; ++e)
    f.leaves.push_back({{targets[static_cast<size_t>(e)], weights[static_cast<size_t>(e)]}});
  f.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Forest::Node& node = f.nodes[i];
    node.feature = features[i];
    for (size_t k = 0; k < 2; ++k) {
      const int64_t at = ids[k][i];
      if (at < 0 || at >= (is_leaf[k][i] != 0 ? leaves : n))
        c.fail("node " + std::to_string(i) + " has the child " + std::to_string(at) +
               ", which is not there");
      node.child[k] = is_leaf[k][i] != 0 ? -1 - at : at;
    }
    if (!(modes[i] >= 0 && modes[i] <= kTreeMember))
      c.fail("unknown mode " + std::to_string(modes[i]) + " of node " + std::to_string(i));
    const auto mode = static_cast<int64_t>(modes[i]);
    if (mode == kTreeMember) continue;  // below
    set_question(&node, kTreeModes[mode].relations, missing[i] != 0, splits[i]);
  }
  size_t next = 0;  // of the sets, one after the other in the order of their nodes
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<int64_t>(modes[i]) != kTreeMember) continue;
    std::vector<double> values;
    for (; next < members.size() && !std::isnan(members[next]); ++next)
      values.push_back(members[next]);
    if (next == members.size())
      c.fail("membership_values has no set for node " + std::to_string(i));
    ++next;
    split_set(&f, i, values, missing[i] != 0);
  }
  for (int64_t root : c.attr_ints("tree_roots")) {
    if (root < 0 || root >= n) c.fail("root " + std::to_string(root) + " is not there");
    f.roots.push_back(root);
  }
  return f;
}

void read_ensemble(ReadCtx& c) {
  constexpr Transform kTransforms[] = {Transform::kNone, Transform::kSoftmax, Transform::kLogistic,
                                       Transform::kSoftmaxZero, Transform::kProbit};
  const int64_t how = c.attr_int("aggregate_function", 1), then = c.attr_int("post_transform", 0);
  if (how < 0 || how > 3) c.fail("unknown aggregate_function " + std::to_string(how));
  if (then < 0 || then > 4) c.fail("unknown post_transform " + std::to_string(then));
  const Forest f = indexed_forest(c);
  int64_t targets = c.attr_int("n_targets", 0);
  for (size_t i = 0; c.attr("n_targets") == nullptr && i < f.leaves.size(); ++i)
    targets = std::max(targets, std::min<int64_t>(f.leaves[i][0].target, INT32_MAX) + 1);
  if (targets < 1 || targets > INT32_MAX) c.fail("n_targets must be 1 or more");
  const DType t = c.dtype(c.in(0));
  ValueId y = emit_trees(c, f, tree_rows(c), targets, static_cast<TreeAggregate>(how));
  const Transform transform = kTransforms[then];
  if (transform != Transform::kNone) {
    y = transformed_targets(c, transform, cast(c, y, DType::kF32), targets);
  }
  c.set(0, cast(c, y, t));
}

}  // namespace

WICK_READ_ML(TreeEnsemble, read_ensemble);
WICK_READ_ML(TreeEnsembleClassifier, read_classifier);
WICK_READ_ML(TreeEnsembleRegressor, read_regressor);

}  // namespace wick::onnx
