// Fuses MatMul, steps on the scores, Softmax and MatMul into one FusedAttention, which does the
// same arithmetic in the same order without a matrix of scores. absorb_into_attention then absorbs
// what is before and after it.
#include <algorithm>
#include <optional>

#include "graph/passes/attention.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

constexpr int kMostNodes = 10;  // between a product and its softmax

struct Step {
  AttentionStep step;
  std::vector<ValueId> operands;
};

struct AttentionMatch {
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;  // k as MatMul takes it: [..., size, keys]
  std::vector<Step> steps;                           // on scores, then on weights
  std::vector<NodeId> nodes;                         // that are removed
  ValueId result = kNoValue;
  // A mask's number of keys may be unknown. Then it is 1 or the number of keys, or the graph does
  // not run: the weights would not fit the values, of which there are as many as keys.
  bool open_keys = false;
};

class AttentionFuser {
 public:
  explicit AttentionFuser(Graph& g) : g_(g), readers_(g) {}

  bool run() {
    bool changed = false;
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (g_.node(id).op != OpId::kSoftmax) continue;
      if (const std::optional<AttentionMatch> m = match(id)) {
        apply(*m, id);
        changed = true;
      }
    }
    if (changed) g_.compact();
    return changed;
  }

 private:
  const SymShape& shape(ValueId v) const { return g_.value(v).shape; }
  bool ranked(ValueId v) const { return g_.value(v).ranked && !g_.value(v).declared; }

  std::optional<AttentionMatch> match(NodeId softmax) {
    const Node& n = g_.node(softmax);
    const ValueId scores = n.inputs[0];
    const DType dtype = g_.value(scores).dtype;
    if (dtype != DType::kF32 && dtype != DType::kF64) return {};
    if (!ranked(scores) || shape(scores).rank() < 2) return {};
    const int64_t axis = n.attrs.as<AxisAttrs>().axis;
    if (axis != -1 && axis != shape(scores).rank() - 1) return {};
    AttentionMatch m;
    if (!before(scores, softmax, 0, &m)) return {};
    m.nodes.push_back(softmax);
    if (!behind(n.outputs[0], &m)) return {};
    if (m.steps.size() > static_cast<size_t>(kMaxAttentionSteps)) return {};
    const int rank = shape(scores).rank();
    if (m.open_keys && dim_equal(shape(m.k)[rank - 1], shape(m.v)[rank - 2]) != Tri::kYes)
      return {};
    return m;
  }

  // Follows the scores, which only `reader` reads, back to the product.
  bool before(ValueId v, NodeId reader, int depth, AttentionMatch* m) {
    const Node* n = producer_of(g_, v);
    if (n == nullptr || depth > kMostNodes || readers_.only(v) != reader) return false;
    const NodeId id = g_.value(v).producer;
    const auto through = [&](size_t chain, AttentionStep step, std::vector<ValueId> operands) {
      const ValueId from = n->inputs[chain];
      if (!ranked(from) || !ranked(v) || !same_but_keys(shape(from), shape(v), m)) return false;
      for (ValueId x : operands) {
        if (x == from || !fits(x, shape(from), m)) return false;
      }
      if (!before(n->inputs[chain], id, depth + 1, m)) return false;
      m->steps.push_back({step, std::move(operands)});
      m->nodes.push_back(id);
      return true;
    };
    const auto& in = n->inputs;
    switch (n->op) {
      case OpId::kMatMul: return product(*n, id, v, m);
      case OpId::kReshape: return grouped(*n, id, v, m);
      case OpId::kTanh: return through(0, AttentionStep::kTanh, {});
      case OpId::kDiv: return through(0, AttentionStep::kDiv, {in[1]});
      case OpId::kSub: return through(0, AttentionStep::kSub, {in[1]});
      case OpId::kMul:
        return through(0, AttentionStep::kMul, {in[1]}) || through(1, AttentionStep::kMul, {in[0]});
      case OpId::kAdd:
        return through(0, AttentionStep::kAdd, {in[1]}) || through(1, AttentionStep::kAdd, {in[0]});
      case OpId::kWhere:
        return through(1, AttentionStep::kKeep, {in[0], in[2]}) ||
               through(2, AttentionStep::kReplace, {in[0], in[1]});
      default: return false;
    }
  }

  bool product(const Node& n, NodeId id, ValueId scores, AttentionMatch* m) {
    const ValueId q = n.inputs[0], k = n.inputs[1];
    if (q == k || !ranked(q) || !ranked(k) || !ranked(scores)) return false;
    const int rank = shape(scores).rank();
    if (shape(q).rank() != rank || shape(k).rank() != rank) return false;
    if (!heads_serve(shape(k), shape(q), false)) return false;
    m->q = q, m->k = k;
    m->nodes.push_back(id);
    return true;
  }

  // Matches queries of heads that share keys, which are stacked: [B, heads, S, n] as [B, key heads,
  // R, n] and back.
  bool grouped(const Node& n, NodeId id, ValueId scores, AttentionMatch* m) {
    const Node* matmul = producer_of(g_, n.inputs[0]);
    if (matmul == nullptr || matmul->op != OpId::kMatMul || readers_.only(n.inputs[0]) != id)
      return false;
    const Node* stack = producer_of(g_, matmul->inputs[0]);
    if (stack == nullptr || stack->op != OpId::kReshape) return false;
    const ValueId q = stack->inputs[0], k = matmul->inputs[1];
    if (!stacks(q, matmul->inputs[0]) || !stacks(scores, n.inputs[0])) return false;
    if (!ranked(k) || shape(k).rank() != shape(q).rank()) return false;
    if (!heads_serve(shape(k), shape(q), true) || !same_rows(shape(q), shape(scores))) return false;
    m->q = q, m->k = k;
    m->nodes.push_back(g_.value(n.inputs[0]).producer);
    m->nodes.push_back(id);
    return true;
  }

  // Follows the weights, which nothing else reads, to the product with the values.
  bool behind(ValueId weights, AttentionMatch* m) {
    ValueId v = weights;
    for (int i = 0; i < kMostNodes; ++i) {
      const NodeId id = readers_.only(v);
      if (id < 0) return false;
      const Node& n = g_.node(id);
      if (n.op == OpId::kWhere) {
        const bool keeps = n.inputs[1] == v;
        const std::vector<ValueId> operands = {n.inputs[0], n.inputs[keeps ? 2 : 1]};
        if (n.inputs[0] == v || operands[1] == v || !ranked(n.outputs[0]) ||
            !same_but_keys(shape(v), shape(n.outputs[0]), m))
          return false;
        for (ValueId x : operands) {
          if (!fits(x, shape(v), m)) return false;
        }
        m->steps.push_back(
            {keeps ? AttentionStep::kKeepWeight : AttentionStep::kReplaceWeight, operands});
        m->nodes.push_back(id);
        v = n.outputs[0];
        continue;
      }
      if (n.op == OpId::kReshape && n.inputs[0] == v) return weighed_in_groups(v, id, m);
      if (n.op != OpId::kMatMul || n.inputs[0] != v || n.inputs[1] == v) return false;
      const ValueId values = n.inputs[1];
      if (!ranked(values) || shape(values).rank() != shape(v).rank()) return false;
      if (!heads_serve(shape(values), shape(v), false)) return false;
      m->v = values;
      m->nodes.push_back(id);
      m->result = n.outputs[0];
      return true;
    }
    return false;
  }

  bool weighed_in_groups(ValueId weights, NodeId stack, AttentionMatch* m) {
    const ValueId stacked = g_.node(stack).outputs[0];
    const NodeId matmul = readers_.only(stacked);
    if (matmul < 0 || g_.node(matmul).op != OpId::kMatMul || g_.node(matmul).inputs[0] != stacked ||
        !stacks(weights, stacked))
      return false;
    const ValueId values = g_.node(matmul).inputs[1], sums = g_.node(matmul).outputs[0];
    const NodeId back = readers_.only(sums);
    if (back < 0 || g_.node(back).op != OpId::kReshape || g_.node(back).inputs[0] != sums)
      return false;
    const ValueId result = g_.node(back).outputs[0];
    if (!ranked(values) || shape(values).rank() != shape(weights).rank()) return false;
    if (!stacks(result, sums) || !heads_serve(shape(values), shape(weights), true) ||
        !same_rows(shape(weights), shape(result)))
      return false;
    m->v = values;
    m->nodes.insert(m->nodes.end(), {stack, matmul, back});
    m->result = result;
    return true;
  }

  // Returns whether `stacked` [..., key heads, R, n] is `rows` [..., heads, S, n] reshaped.
  bool stacks(ValueId rows, ValueId stacked) const {
    if (!ranked(rows) || !ranked(stacked)) return false;
    const SymShape &a = shape(rows), &b = shape(stacked);
    const int rank = a.rank();
    if (rank < 3 || b.rank() != rank || !divides(b[rank - 3], a[rank - 3])) return false;
    for (int i = 0; i < rank; ++i) {
      if (i != rank - 3 && i != rank - 2 && dim_equal(a[i], b[i]) != Tri::kYes) return false;
    }
    return true;
  }
  // Returns whether all dims but the last are known to be equal.
  static bool same_rows(const SymShape& a, const SymShape& b) {
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i + 1 < a.rank(); ++i) {
      if (dim_equal(a[i], b[i]) != Tri::kYes) return false;
    }
    return true;
  }
  static bool same_but_keys(const SymShape& a, const SymShape& b, AttentionMatch* m) {
    if (!same_rows(a, b)) return false;
    const Tri keys = a.rank() == 0 ? Tri::kYes : dim_equal(a[a.rank() - 1], b[b.rank() - 1]);
    if (keys == Tri::kUnknown) m->open_keys = true;
    return keys != Tri::kNo;
  }
  // Returns whether x broadcasts to the scores without making them larger.
  bool fits(ValueId x, const SymShape& scores, AttentionMatch* m) const {
    if (!ranked(x) || shape(x).rank() > scores.rank()) return false;
    const SymShape& s = shape(x);
    for (int i = 0; i < s.rank(); ++i) {
      if (dim_equal(s[i], SymDim(1)) == Tri::kYes) continue;
      const Tri same = dim_equal(s[i], scores[scores.rank() - s.rank() + i]);
      if (same == Tri::kYes) continue;
      if (same == Tri::kNo || i + 1 < s.rank()) return false;
      m->open_keys = true;
    }
    return true;
  }
  // Returns whether keys or values [..., heads, rows, columns] fit the queries: equal batch dims,
  // or 1.
  static bool heads_serve(const SymShape& x, const SymShape& q, bool in_groups) {
    for (int i = 0; i + 2 < q.rank(); ++i) {
      if (dim_equal(x[i], q[i]) == Tri::kYes || dim_equal(x[i], SymDim(1)) == Tri::kYes) continue;
      if (!in_groups || i + 3 != q.rank() || !divides(x[i], q[i])) return false;
    }
    return true;
  }

  void apply(const AttentionMatch& m, NodeId softmax) {
    const Node like = g_.node(softmax);
    FusedAttentionAttrs a;
    std::vector<ValueId> inputs = {m.q, m.k, m.v};
    for (const Step& s : m.steps) {
      a.steps.values[a.steps.count++] = static_cast<int64_t>(s.step);
      inputs.insert(inputs.end(), s.operands.begin(), s.operands.end());
    }
    a.k_perm = no_perm(shape(m.k).rank());
    std::swap(a.k_perm.values[a.k_perm.count - 1], a.k_perm.values[a.k_perm.count - 2]);
    const NodeId fused = g_.add_node(OpId::kFusedAttention, AnyAttrs::of(a), inputs, 1, like.name);
    g_.node(fused).module = like.module;
    g_.node(fused).source = like.source;
    const ValueId made = g_.node(fused).outputs[0];
    g_.value(made).name = g_.value(m.result).name;
    for (NodeId id : m.nodes) g_.remove_node(id);
    readers_.pass_on(m.result, made);
    for (ValueId v : inputs) readers_.reads(fused, v);
  }

  Graph& g_;
  Readers readers_;
};

}  // namespace

bool fuse_attention(Graph& g) {
  const bool made = AttentionFuser(g).run();
  return absorb_into_attention(g) || made;
}

}  // namespace wick::ir
