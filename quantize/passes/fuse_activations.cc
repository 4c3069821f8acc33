// Fuses activations that a file has in pieces: one function of one element is one table of 256
// numbers, and is rounded once.
#include <cmath>

#include "graph/rewrite/substitution.h"
#include "quantize/passes/passes.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Fuser {
 public:
  explicit Fuser(Graph& g) : g_(g), users_(g.users()) {}

  bool run() {
    bool changed = false;
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& n = g_.node(id);
      if (n.removed() || g_.value(n.outputs[0]).dtype != DType::kF32) continue;
      changed = fuse(id) || changed;
    }
    if (changed) g_.compact();
    return changed;
  }

 private:
  bool fuse(NodeId id) {
    const Node& n = g_.node(id);
    if (n.op == OpId::kErf) return gelu(id);
    if (n.op == OpId::kSigmoid) return gate(id, OpId::kSilu);
    if (n.op == OpId::kClip) return hard_sigmoid(id);
    if (n.op == OpId::kWhere) return prelu(id);
    if (n.op != OpId::kHardSigmoid) return false;
    const auto& a = n.attrs.as<HardSigmoidAttrs>();
    return near(a.alpha, 1.0 / 6) && near(a.beta, 0.5) && gate(id, OpId::kHardSwish);
  }

  static bool near(double a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(b); }
  bool is_number(ValueId v, double want) const {
    return g_.is_constant(v) && g_.value(v).constant.numel() == 1 &&
           g_.value(v).shape.rank() == 0 && near(element_as_double(g_.value(v).constant, 0), want);
  }
  // Returns the only reader of v if it is that op; else -1.
  NodeId only_user(ValueId v, OpId op) const {
    const std::vector<NodeId>& users = users_[static_cast<size_t>(v)];
    if (g_.is_output(v) || users.size() != 1 || g_.node(users[0]).op != op) return -1;
    return users[0];
  }
  // Returns x if node `id` is that op of x and a number; else kNoValue.
  ValueId with_number(NodeId id, double number) const {
    const Node& n = g_.node(id);
    if (is_number(n.inputs[1], number)) return n.inputs[0];
    const bool swaps = n.op == OpId::kAdd || n.op == OpId::kMul;
    return swaps && is_number(n.inputs[0], number) ? n.inputs[1] : ir::kNoValue;
  }
  // Returns the other factor or term of a node that reads v.
  ValueId other(NodeId id, ValueId v) const {
    const Node& n = g_.node(id);
    return n.inputs[0] == v ? n.inputs[1] : n.inputs[0];
  }
  ValueId made(NodeId id) const { return g_.node(id).outputs[0]; }

  // Returns x if v is x / f or x (1 / f), made from what only `v`'s reader sees.
  ValueId divided(ValueId v, double by) const {
    const Node* n = ir::producer_of(g_, v);
    if (n == nullptr || n->removed()) return ir::kNoValue;
    const NodeId id = g_.value(v).producer;
    if (n->op == OpId::kDiv) return with_number(id, by);
    return n->op == OpId::kMul ? with_number(id, 1 / by) : ir::kNoValue;
  }
  // Returns the reader that divides v by a number, or multiplies it by the inverse.
  NodeId divider(ValueId v, double by) const {
    const NodeId div = only_user(v, OpId::kDiv), mul = only_user(v, OpId::kMul);
    if (div >= 0 && with_number(div, by) == v) return div;
    return mul >= 0 && with_number(mul, 1 / by) == v ? mul : -1;
  }

  // Makes node `last` the function of x; the nodes between become dead.
  template <class A>
  bool become(NodeId last, OpId op, const A& attrs, ValueId x) {
    Node& n = g_.node(last);
    n.op = op, n.attrs = ir::NodeAttrs::of(attrs), n.inputs = {x};
    return true;
  }

  // Matches x sigmoid(x).
  bool gate(NodeId id, OpId op) {
    const ValueId x = g_.node(id).inputs[0];
    const NodeId mul = only_user(made(id), OpId::kMul);
    if (mul < 0 || other(mul, made(id)) != x) return false;
    return become(mul, op, NoAttrs{}, x);
  }

  // Matches clip(x + 3, 0, 6) / 6, multiplied by x or not, in either order.
  bool hard_sigmoid(NodeId clip) {
    const Node& n = g_.node(clip);
    double bounds[2] = {n.attrs.as<ClipAttrs>().min, n.attrs.as<ClipAttrs>().max};
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == ir::kNoValue) continue;
      if (!g_.is_constant(n.inputs[i]) || g_.value(n.inputs[i]).constant.numel() != 1) return false;
      bounds[i - 1] = element_as_double(g_.value(n.inputs[i]).constant, 0);
    }
    const Node* add = ir::producer_of(g_, n.inputs[0]);
    if (bounds[0] != 0 || bounds[1] != 6 || add == nullptr || add->op != OpId::kAdd) return false;
    const ValueId x = with_number(g_.value(n.inputs[0]).producer, 3);
    if (x == ir::kNoValue) return false;
    const NodeId sixth = divider(made(clip), 6), mul = only_user(made(clip), OpId::kMul);
    if (sixth >= 0) {
      const NodeId product = only_user(made(sixth), OpId::kMul);
      if (product >= 0 && other(product, made(sixth)) == x)
        return become(product, OpId::kHardSwish, NoAttrs{}, x);
      return become(sixth, OpId::kHardSigmoid, HardSigmoidAttrs{1.0 / 6, 0.5}, x);
    }
    if (mul < 0 || other(mul, made(clip)) != x) return false;
    const NodeId last = divider(made(mul), 6);
    return last >= 0 && become(last, OpId::kHardSwish, NoAttrs{}, x);
  }

  // Matches where(x < 0, x slope, x) and where(x > 0, x, x slope), which differ in the sign of a 0
  // at most; the slope is a constant that broadcasts to x.
  bool prelu(NodeId where) {
    const Node& n = g_.node(where);
    const Node* by = ir::producer_of(g_, n.inputs[0]);
    if (by == nullptr || by->removed()) return false;
    const bool below = by->op == OpId::kLess || by->op == OpId::kLessOrEqual;
    const bool above = by->op == OpId::kGreater || by->op == OpId::kGreaterOrEqual;
    if ((!below && !above) || !is_number(by->inputs[1], 0)) return false;
    const ValueId x = by->inputs[0], scaled = n.inputs[below ? 1 : 2];
    const Node* mul = ir::producer_of(g_, scaled);
    if (n.inputs[below ? 2 : 1] != x || mul == nullptr || mul->op != OpId::kMul) return false;
    const bool first = mul->inputs[0] == x;
    const ValueId slope = mul->inputs[first ? 1 : 0];
    if (mul->inputs[first ? 0 : 1] != x || !g_.is_constant(slope) ||
        !ir::same_shape(g_, x, n.outputs[0]))
      return false;
    Node& last = g_.node(where);
    last.op = OpId::kPRelu, last.attrs = ir::NodeAttrs::of(NoAttrs{}), last.inputs = {x, slope};
    return true;
  }

  // Matches x (erf(x / sqrt 2) + 1) / 2, wherever the half is.
  bool gelu(NodeId erf) {
    const ValueId x = divided(g_.node(erf).inputs[0], std::sqrt(2.0));
    const NodeId add = only_user(made(erf), OpId::kAdd);
    if (x == ir::kNoValue || add < 0 || with_number(add, 1) != made(erf)) return false;
    if (const NodeId half = divider(made(add), 2); half >= 0) {
      const NodeId mul = only_user(made(half), OpId::kMul);
      return mul >= 0 && other(mul, made(half)) == x && become(mul, OpId::kGelu, GeluAttrs{}, x);
    }
    const NodeId mul = only_user(made(add), OpId::kMul);
    if (mul < 0) return false;
    const ValueId factor = other(mul, made(add));
    if (factor == x) {
      const NodeId half = divider(made(mul), 2);
      return half >= 0 && become(half, OpId::kGelu, GeluAttrs{}, x);
    }
    return divided(factor, 2) == x && become(mul, OpId::kGelu, GeluAttrs{}, x);
  }

  Graph& g_;
  const std::vector<std::vector<NodeId>> users_;
};

}  // namespace

bool fuse_activations(Graph& g) { return Fuser(g).run(); }

}  // namespace wick::quantize
