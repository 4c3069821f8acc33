#include <algorithm>

#include "graph/passes/attention.h"

namespace wick::ir {

void Readers::pass_on(ValueId from, ValueId to) {
  users_.resize(g_.value_count());
  output_.resize(g_.value_count(), false);
  std::vector<NodeId> users = std::move(users_[static_cast<size_t>(from)]);
  for (NodeId user : users) {
    std::vector<ValueId>& in = g_.node(user).inputs;
    std::replace(in.begin(), in.end(), from, to);
  }
  users_[static_cast<size_t>(to)] = std::move(users);
  if (!output_[static_cast<size_t>(from)]) return;
  output_[static_cast<size_t>(to)] = true;
  for (GraphOutput& o : g_.outputs()) {
    if (o.value == from) o.value = to;
  }
}

void Readers::redirect(NodeId id, size_t i, ValueId to) {
  const ValueId from = g_.node(id).inputs[i];
  g_.node(id).inputs[i] = to;
  std::vector<NodeId>& users = users_[static_cast<size_t>(from)];
  users.erase(std::find(users.begin(), users.end(), id));
  users_[static_cast<size_t>(to)].push_back(id);
}

namespace {

DimList full(const DimList& perm, int rank) { return perm.empty() ? no_perm(rank) : perm; }
// Composes a transpose by `inner` with one by `outer` after it.
DimList through(const DimList& inner, const DimList& outer) {
  DimList both;
  for (int64_t i = 0; i < outer.count; ++i) both.values[both.count++] = inner[outer[i]];
  return both;
}

class Absorber {
 public:
  explicit Absorber(Graph& g) : g_(g), readers_(g) {}

  bool run() {
    bool changed = false;
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (g_.node(id).op != OpId::kFusedAttention) continue;
      for (size_t input = 0; input < 3; ++input) {
        while (take_transpose(id, input) || take_repeat(id, input) || take_number(id, input))
          changed = true;
      }
      while (give_transposed(id)) changed = true;
    }
    if (changed) g_.compact();
    return changed;
  }

 private:
  FusedAttentionAttrs& attrs(NodeId id) { return g_.node(id).attrs.as<FusedAttentionAttrs>(); }
  DimList& perm_of(NodeId id, size_t input) {
    FusedAttentionAttrs& a = attrs(id);
    return input == 0 ? a.q_perm : input == 1 ? a.k_perm : a.v_perm;
  }
  const SymShape& shape(ValueId v) const { return g_.value(v).shape; }
  bool ranked(ValueId v) const { return g_.value(v).ranked && !g_.value(v).declared; }
  int rank(NodeId id) const { return shape(g_.node(id).inputs[0]).rank(); }
  // Returns the node that makes input i, if only this node reads it.
  const Node* maker(NodeId id, size_t i) const {
    const ValueId v = g_.node(id).inputs[i];
    return readers_.only(v) == id ? producer_of(g_, v) : nullptr;
  }

  bool take_transpose(NodeId id, size_t input) {
    const Node* n = maker(id, input);
    if (n == nullptr || n->op != OpId::kTranspose || !ranked(n->inputs[0])) return false;
    DimList& p = perm_of(id, input);
    p = through(full_perm(g_, *n), full(p, rank(id)));
    if (is_identity(p)) p = DimList();
    readers_.redirect(id, input, n->inputs[0]);
    return true;
  }

  bool give_transposed(NodeId id) {
    const ValueId y = g_.node(id).outputs[0];
    const NodeId user = readers_.only(y);
    if (user < 0 || g_.node(user).op != OpId::kTranspose) return false;
    const ValueId result = g_.node(user).outputs[0];
    DimList& p = attrs(id).out_perm;
    p = through(full(p, rank(id)), full_perm(g_, g_.node(user)));
    if (is_identity(p)) p = DimList();
    g_.infer(id);
    g_.value(y).name = g_.value(result).name;
    g_.remove_node(user);
    readers_.pass_on(result, y);
    return true;
  }

  // Absorbs keys and values of which each head of a group gets a copy: [.., heads, ..] of [.., key
  // heads, 1, ..] expanded to [.., key heads, group, ..].
  bool take_repeat(NodeId id, size_t input) {
    if (input == 0 || rank(id) < 3 || rank(id) == kMaxRank) return false;
    const Node* merge = maker(id, input);
    if (merge == nullptr || merge->op != OpId::kReshape) return false;
    const Node* repeat = producer_of(g_, merge->inputs[0]);
    if (repeat == nullptr || repeat->op != OpId::kExpand) return false;
    const Node* spread = producer_of(g_, repeat->inputs[0]);
    if (spread == nullptr || (spread->op != OpId::kUnsqueeze && spread->op != OpId::kReshape))
      return false;
    const ValueId x = spread->inputs[0], merged = merge->outputs[0];
    for (ValueId v : {x, merged, repeat->inputs[0], merge->inputs[0]}) {
      if (!ranked(v)) return false;
    }
    const int n = rank(id);
    const auto head = static_cast<int>(full(perm_of(id, input), n)[n - 3]);
    const SymShape &from = shape(x), &one = shape(repeat->inputs[0]),
                   &all = shape(merge->inputs[0]), &to = shape(merged);
    if (from.rank() != n || one.rank() != n + 1 || all.rank() != n + 1 || to.rank() != n)
      return false;
    if (!divides(from[head], to[head]) || !all[head + 1].known() || !all[head].known() ||
        all[head].constant() != from[head].constant() ||
        all[head + 1].constant() * from[head].constant() != to[head].constant() ||
        dim_equal(one[head + 1], SymDim(1)) != Tri::kYes)
      return false;
    for (int i = 0; i < n; ++i) {
      const int wide = i <= head ? i : i + 1;
      if (dim_equal(from[i], one[wide]) != Tri::kYes || dim_equal(from[i], all[wide]) != Tri::kYes)
        return false;
      if (i != head && dim_equal(from[i], to[i]) != Tri::kYes) return false;
    }
    if (!divides(from[head], query_heads(id))) return false;
    readers_.redirect(id, input, x);
    return true;
  }
  SymDim query_heads(NodeId id) {
    const int n = rank(id);
    return shape(g_.node(id).inputs[0])[static_cast<int>(full(attrs(id).q_perm, n)[n - 3])];
  }

  // Absorbs queries or keys multiplied, or divided, by one number.
  bool take_number(NodeId id, size_t input) {
    FusedAttentionAttrs& a = attrs(id);
    const Node* n = maker(id, input);
    if (input > 1 || n == nullptr || a.steps.count == kMaxAttentionSteps) return false;
    if (n->op != OpId::kMul && n->op != OpId::kDiv) return false;
    const bool divides = n->op == OpId::kDiv;
    for (size_t i = 0; i < (divides ? 1u : 2u); ++i) {
      const ValueId x = n->inputs[i], number = n->inputs[1 - i];
      if (!is_number(number, rank(id)) || !same_shape(g_, x, n->outputs[0])) continue;
      const AttentionStep step =
          input == 0 ? (divides ? AttentionStep::kDivQuery : AttentionStep::kMulQuery)
                     : (divides ? AttentionStep::kDivKey : AttentionStep::kMulKey);
      insert(id, static_cast<int>(input), step, number);
      readers_.redirect(id, input, x);
      return true;
    }
    return false;
  }
  bool is_number(ValueId v, int most) const {
    if (!ranked(v) || shape(v).rank() > most) return false;
    for (int i = 0; i < shape(v).rank(); ++i) {
      if (dim_equal(shape(v)[i], SymDim(1)) != Tri::kYes) return false;
    }
    return true;
  }
  // Inserts the step as the first one of its phase, since it was done before the others.
  void insert(NodeId id, int phase, AttentionStep step, ValueId operand) {
    FusedAttentionAttrs& a = attrs(id);
    int64_t at = 0, input = 3;
    for (; at < a.steps.count && attention_phase(a.steps[at]) < phase; ++at)
      input += attention_operands(a.steps[at]);
    std::copy_backward(a.steps.values + at, a.steps.values + a.steps.count,
                       a.steps.values + a.steps.count + 1);
    a.steps.values[at] = static_cast<int64_t>(step);
    ++a.steps.count;
    std::vector<ValueId>& in = g_.node(id).inputs;
    in.insert(in.begin() + input, operand);
    readers_.reads(id, operand);
  }

  Graph& g_;
  Readers readers_;
};

}  // namespace

bool absorb_into_attention(Graph& g) { return Absorber(g).run(); }

}  // namespace wick::ir
