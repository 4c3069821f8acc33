#include "graph/passes/chain.h"

#include "graph/ir/clip_bounds.h"

#include <algorithm>
#include <bit>

#include "graph/rewrite/substitution.h"

namespace wick::ir {
namespace {

// Returns whether v is a number that a step may have as a constant.
bool is_number(const Graph& g, ValueId v) {
  return g.is_constant(v) && g.value(v).constant.numel() == 1 &&
         (is_float(g.value(v).dtype) || is_int(g.value(v).dtype));
}

int dims_of_reduce(const Graph& g, const Node& n) {
  if (n.removed() || chain_op(n.op).kind != ChainKind::kReduce) return 0;
  const Value &x = g.value(n.inputs[0]), &y = g.value(n.outputs[0]);
  const auto& a = n.attrs.as<ReduceAttrs>();
  if (x.dtype != DType::kF32 || !x.ranked || !y.ranked || x.declared || y.declared ||
      a.keepdims == 0)
    return 0;
  std::vector<int64_t> axes(a.axes.span().begin(), a.axes.span().end());
  if (n.inputs.size() > 1 && n.inputs[1] != kNoValue) {
    if (!g.is_constant(n.inputs[1])) return 0;
    axes = int_values(g.value(n.inputs[1]).constant);
  }
  const int rank = x.shape.rank();
  if (axes.empty()) return a.noop_with_empty_axes != 0 ? 0 : rank;
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  const auto dims = static_cast<int>(axes.size());
  for (int i = 0; i < rank; ++i) {
    if (reduced[static_cast<size_t>(i)] != (i >= rank - dims)) return 0;
  }
  return dims;
}

// Returns whether `v` has the shape of `whole` with its last dims 1.
bool one_a_row(const Graph& g, ValueId v, ValueId whole, int row_dims) {
  const Value &a = g.value(v), &b = g.value(whole);
  if (!a.ranked || a.declared || a.shape.rank() != b.shape.rank()) return false;
  const int rows = a.shape.rank() - row_dims;
  for (int i = 0; i < a.shape.rank(); ++i) {
    const SymDim want = i < rows ? b.shape[i] : SymDim(1);
    if (dim_equal(a.shape[i], want) != Tri::kYes) return false;
  }
  return true;
}

}  // namespace

ChainFinder::ChainFinder(Graph& g)
    : g_(g),
      users_(g.users()),
      output_(g.value_count(), false),
      taken_(g.node_count(), false),
      reduced_(g.node_count(), 0) {
  for (const GraphOutput& o : g.outputs()) output_[static_cast<size_t>(o.value)] = true;
  for (size_t i = 0; i < g.node_count(); ++i)
    reduced_[i] = dims_of_reduce(g, g.node(static_cast<NodeId>(i)));
}

bool ChainFinder::may_join(const Node& n) const {
  if (n.removed() || n.outputs.size() != 1 || n.inputs.empty()) return false;
  const Value& y = g_.value(n.outputs[0]);
  if (!y.ranked || y.declared) return false;
  const auto all = [&](size_t from, DType t) {
    for (size_t i = from; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNoValue || g_.value(n.inputs[i]).dtype != t) return false;
    }
    return true;
  };
  switch (chain_op(n.op).kind) {
    case ChainKind::kNone:
    case ChainKind::kReduce: return false;  // `fits` decides
    case ChainKind::kUnary:
      for (size_t i = 1; i < n.inputs.size(); ++i) {  // Clip's bounds
        if (n.inputs[i] != kNoValue && !is_number(g_, n.inputs[i])) return false;
      }
      return g_.value(n.inputs[0]).dtype == DType::kF32;
    case ChainKind::kBinary:
      // An exponent of another dtype is taken as the nearest float.
      if (n.op == OpId::kPow && g_.value(n.inputs[0]).dtype == DType::kF32 &&
          is_number(g_, n.inputs[1]) && g_.value(n.inputs[1]).constant.shape().rank() == 0)
        return true;
      return all(0, DType::kF32);
    case ChainKind::kCompare: return all(0, DType::kF32);
    case ChainKind::kNot:
    case ChainKind::kLogic: return all(0, DType::kBool);
    case ChainKind::kWhere:
      return g_.value(n.inputs[0]).dtype == DType::kBool && all(1, DType::kF32);
    case ChainKind::kCast:
      return y.dtype == DType::kF32 && g_.value(n.inputs[0]).dtype == DType::kBool;
  }
  return false;
}

bool ChainFinder::may_end(NodeId id) const {
  const Node& n = g_.node(id);
  return !taken_[static_cast<size_t>(id)] && may_join(n) &&
         g_.value(n.outputs[0]).dtype == DType::kF32;
}

bool ChainFinder::fits(NodeId id, ValueId whole, int row_dims) const {
  const Node& n = g_.node(id);
  if (taken_[static_cast<size_t>(id)]) return false;
  if (const int dims = reduced_[static_cast<size_t>(id)]; dims > 0) {
    return dims == row_dims && same_shape(g_, n.inputs[0], whole) &&
           one_a_row(g_, n.outputs[0], whole, row_dims);
  }
  if (!may_join(n)) return false;
  return same_shape(g_, n.outputs[0], whole) ||
         (row_dims > 0 && one_a_row(g_, n.outputs[0], whole, row_dims));
}

bool ChainFinder::inside(ValueId v, const std::vector<NodeId>& nodes) const {
  if (output_[static_cast<size_t>(v)]) return false;
  const auto& users = users_[static_cast<size_t>(v)];
  return std::all_of(users.begin(), users.end(), [&](NodeId user) {
    return std::find(nodes.begin(), nodes.end(), user) != nodes.end();
  });
}

std::vector<NodeId> ChainFinder::grow(NodeId root, int row_dims) const {
  std::vector<NodeId> nodes = {root};
  const ValueId whole = g_.node(root).outputs[0];
  Found found;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId v : g_.node(nodes[i]).inputs) {
      const Node* maker = producer_of(g_, v);
      if (maker == nullptr || nodes.size() == kChainSteps) continue;
      const NodeId id = g_.value(v).producer;
      if (!fits(id, whole, row_dims) || !inside(v, nodes) ||
          std::find(nodes.begin(), nodes.end(), id) != nodes.end())
        continue;
      nodes.push_back(id);
      if (!build(nodes, &found)) nodes.pop_back();
    }
  }
  return nodes;
}

bool ChainFinder::build(const std::vector<NodeId>& nodes, Found* out) const {
  Found f;
  f.root = nodes[0];
  f.nodes = nodes;
  std::sort(f.nodes.begin(), f.nodes.end());  // nodes are in order
  const ValueId whole = g_.node(f.root).outputs[0];
  const auto index_of = [&](ValueId v) -> int {  // the index of the step that makes it
    if (g_.value(v).origin != ValueOrigin::kNode) return -1;
    const auto at = std::lower_bound(f.nodes.begin(), f.nodes.end(), g_.value(v).producer);
    return at != f.nodes.end() && *at == g_.value(v).producer
               ? static_cast<int>(at - f.nodes.begin())
               : -1;
  };
  // An input that may be overwritten in place comes first: a value that ends here.
  for (NodeId id : f.nodes) {
    for (ValueId v : g_.node(id).inputs) {
      if (v == kNoValue || g_.is_constant(v) || index_of(v) >= 0 || !f.inputs.empty()) continue;
      if (g_.value(v).dtype == DType::kF32 && same_shape(g_, v, whole) && inside(v, f.nodes))
        f.inputs.push_back(v);
    }
  }
  bool fits = true;
  const auto constant = [&](double number) {
    const auto bits = std::bit_cast<int64_t>(number);
    IntList<kChainConstants>& list = f.attrs.constants;
    int64_t at = 0;
    while (at < list.count && list[at] != bits) ++at;
    if (at == list.count) {
      if (list.count == kChainConstants) fits = false;
      if (fits) list.values[list.count++] = bits;
    }
    return kChainFirstConstant + static_cast<int>(at);
  };
  const auto operand = [&](const Node& n, size_t i) {
    const ValueId v = n.inputs[i];
    if (const int made = index_of(v); made >= 0) return kChainFirstStep + made;
    if (is_number(g_, v)) {
      // A constant may lose its dims only if the result keeps its own without them.
      const HostTensor& t = g_.value(v).constant;
      bool plain = t.shape().rank() == 0;
      for (size_t k = 0; k < n.inputs.size() && !plain; ++k)
        plain = k != i && !g_.is_constant(n.inputs[k]) &&
                g_.value(n.inputs[k]).shape.rank() >= t.shape().rank();
      if (plain) return constant(static_cast<float>(element_as_double(t, 0)));
    }
    auto at = std::find(f.inputs.begin(), f.inputs.end(), v);
    if (at == f.inputs.end()) {
      f.inputs.push_back(v);
      at = f.inputs.end() - 1;
    }
    return static_cast<int>(at - f.inputs.begin());
  };
  for (NodeId id : f.nodes) {
    const Node& n = g_.node(id);
    int in[3] = {}, flag = 0;
    const ChainOp what = chain_op(n.op);
    for (int k = 0; k < what.operands - what.parameters; ++k)
      in[k] = operand(n, static_cast<size_t>(k));
    if (what.kind == ChainKind::kUnary) {  // its numbers are constants, its choice is the flag
      AnyAttrs own = n.attrs;
      if (n.op == OpId::kClip) own = AnyAttrs::of(clip_bounds(g_, n).value());
      int parameter = 0;
      for (const AttrField& field : find_op(n.op)->attrs->fields) {
        if (field.kind == AttrKind::kInt) flag = attr_int(field, own.get()) != 0 ? 1 : 0;
        if (field.kind == AttrKind::kFloat)
          in[++parameter] = constant(attr_float(field, own.get()));
      }
    }
    if (what.kind == ChainKind::kReduce) f.attrs.row_dims = reduced_[static_cast<size_t>(id)];
    f.attrs.steps.values[f.attrs.steps.count++] = chain_word(n.op, in[0], in[1], in[2], flag);
  }
  // Bools alone do not tell which floats the numbers are.
  const bool real = std::any_of(f.inputs.begin(), f.inputs.end(),
                                [&](ValueId v) { return g_.value(v).dtype == DType::kF32; });
  if (!fits || !real || f.inputs.size() > kChainInputs) return false;
  *out = std::move(f);
  return true;
}

void ChainFinder::take(std::vector<NodeId> nodes) {
  Found f;
  if (!build(nodes, &f)) return;
  for (NodeId id : nodes) taken_[static_cast<size_t>(id)] = true;
  found_.push_back(std::move(f));
}

bool ChainFinder::finish() {
  if (found_.empty()) return false;
  Substitution sub(g_);
  for (const Found& f : found_) {
    const Node root = g_.node(f.root);
    const NodeId made =
        g_.add_node(OpId::kFusedElementwise, AnyAttrs::of(f.attrs), f.inputs, 1, root.name);
    g_.node(made).module = root.module;
    g_.node(made).source = root.source;
    const ValueId value = g_.node(made).outputs[0];
    g_.value(value).name = g_.value(root.outputs[0]).name;
    for (NodeId id : f.nodes) g_.remove_node(id);
    sub.replace(root.outputs[0], value);
  }
  sub.finish();
  g_.compact();
  return true;
}

}  // namespace wick::ir
