// Fuses a Conv, a Linear, or a MatMul by a constant matrix (and its bias), then batch norm,
// residual add and activation into one FusedConv, FusedLinear or FusedMatMul whose epilogue does
// the same arithmetic in the same order. This is exact: weights are not changed.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/ir/clip_bounds.h"
#include "graph/rewrite/pass.h"
#include "runtime/ops/activation.h"

namespace wick::ir {
namespace {

struct EpilogueMatch {
  NodeId head;                // Conv, Linear or MatMul
  std::vector<NodeId> chain;  // every node that goes away, head included
  ValueId bias = kNoValue;
  ValueId scale = kNoValue, shift = kNoValue, residual = kNoValue;
  EpilogueAttrs epilogue;
  ValueId result;  // the output of the chain's last node
};

class EpilogueFuser {
 public:
  explicit EpilogueFuser(Graph& g) : g_(g), users_(g.users()), output_(g.value_count(), false) {
    for (const GraphOutput& o : g.outputs()) output_[static_cast<size_t>(o.value)] = true;
  }

  bool run() {
    bool changed = false;
    size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      auto id = static_cast<NodeId>(i);
      OpId op = g_.node(id).op;
      if (op != OpId::kConv && op != OpId::kLinear && !by_matrix(g_.node(id))) continue;
      const DType dtype = g_.value(g_.node(id).outputs[0]).dtype;
      if (dtype != DType::kF32 && dtype != DType::kF64) continue;  // each op rounds to 16 bits
      EpilogueMatch m = match(id);
      if (m.chain.size() < 2) continue;
      apply(m);
      changed = true;
    }
    if (changed) g_.compact();
    return changed;
  }

 private:
  // Returns the only reader of a value that nothing else sees.
  NodeId only_user(ValueId v) const {
    if (output_[static_cast<size_t>(v)]) return -1;
    NodeId only = -1;
    for (NodeId user : users_[static_cast<size_t>(v)]) {
      if (g_.node(user).removed()) continue;
      if (only >= 0) return -1;
      only = user;
    }
    return only;
  }

  // A product by a single column is left to MatMul, which runs it faster as a row.
  bool by_matrix(const Node& n) const {
    if (n.op != OpId::kMatMul || !g_.is_constant(n.inputs[1])) return false;
    const Value &x = g_.value(n.inputs[0]), &w = g_.value(n.inputs[1]);
    return x.ranked && x.shape.rank() > 1 && w.shape.rank() == 2 && w.shape[1].constant() > 1;
  }

  EpilogueMatch match(NodeId head) {
    EpilogueMatch m;
    m.head = head;
    m.chain = {head};
    m.result = g_.node(head).outputs[0];
    const Node& n = g_.node(head);
    if (n.op == OpId::kMatMul) {
      match_bias(m);
    } else if (n.inputs.size() > 2) {
      m.bias = n.inputs[2];
    }
    match_batch_norm(m);
    match_residual(m);
    match_activation(m);
    if (m.epilogue.activation == 0) match_gate(m);
    return m;
  }

  void take(EpilogueMatch& m, NodeId id) {
    m.chain.push_back(id);
    m.result = g_.node(id).outputs[0];
  }

  void match_bias(EpilogueMatch& m) {
    const NodeId id = only_user(m.result);
    if (id < 0 || g_.node(id).op != OpId::kAdd) return;
    const Node& n = g_.node(id);
    const ValueId other = n.inputs[0] == m.result ? n.inputs[1] : n.inputs[0];
    if (other == m.result) return;
    const Value& b = g_.value(other);
    if (!b.ranked || b.declared || b.shape.rank() != 1) return;
    const SymShape& w = g_.value(g_.node(m.head).inputs[1]).shape;
    if (dim_equal(b.shape[0], w[1]) != Tri::kYes) return;
    m.bias = other;
    take(m, id);
  }

  void match_batch_norm(EpilogueMatch& m) {
    NodeId id = only_user(m.result);
    if (id < 0 || g_.node(id).op != OpId::kBatchNorm || g_.node(id).inputs[0] != m.result) return;
    const Node& n = g_.node(id);
    // Linear's channels are its last axis, batch norm's the second.
    if (!g_.value(m.result).ranked) return;
    if (g_.node(m.head).op != OpId::kConv && g_.value(m.result).shape.rank() != 2) return;
    for (size_t i = 1; i < 5; ++i) {
      if (!g_.is_constant(n.inputs[i]) || g_.value(n.inputs[i]).dtype != DType::kF32) return;
    }
    const HostTensor gamma = g_.value(n.inputs[1]).constant, beta = g_.value(n.inputs[2]).constant,
                     mean = g_.value(n.inputs[3]).constant, var = g_.value(n.inputs[4]).constant;
    auto eps = static_cast<float>(n.attrs.as<BatchNormAttrs>().epsilon);
    HostTensor scale(DType::kF32, gamma.shape()), shift(DType::kF32, gamma.shape());
    for (int64_t i = 0; i < gamma.numel(); ++i) {  // the contract's own formula, see docs/numerics
      scale.as<float>()[i] = gamma.as<float>()[i] / std::sqrt(var.as<float>()[i] + eps);
      shift.as<float>()[i] =
          std::fma(-mean.as<float>()[i], scale.as<float>()[i], beta.as<float>()[i]);
    }
    m.scale = g_.add_constant(std::move(scale), g_.value(n.inputs[1]).name + ".scale");
    m.shift = g_.add_constant(std::move(shift), g_.value(n.inputs[1]).name + ".shift");
    take(m, id);
  }

  void match_residual(EpilogueMatch& m) {
    NodeId id = only_user(m.result);
    if (id < 0 || g_.node(id).op != OpId::kAdd) return;
    const Node& n = g_.node(id);
    ValueId other = n.inputs[0] == m.result ? n.inputs[1] : n.inputs[0];
    if (other == m.result) return;
    const Value &a = g_.value(m.result), &b = g_.value(other);
    if (!a.ranked || !b.ranked || b.declared || a.shape.rank() != b.shape.rank()) return;
    for (int i = 0; i < a.shape.rank(); ++i) {
      if (dim_equal(a.shape[i], b.shape[i]) != Tri::kYes) return;
    }
    m.residual = other;
    take(m, id);
  }

  // With one slope for all elements it is LeakyRelu; an epilogue has none for each channel.
  std::optional<EpilogueAttrs> prelu(const Node& n) const {
    if (!g_.is_constant(n.inputs[1]) || g_.value(n.inputs[1]).constant.numel() != 1)
      return std::nullopt;
    return EpilogueAttrs{static_cast<int64_t>(Activation::kLeakyRelu),
                         element_as_double(g_.value(n.inputs[1]).constant, 0)};
  }

  std::optional<EpilogueAttrs> activation_of(const Node& n, bool times) {
    if (n.op == OpId::kPRelu) return times ? std::nullopt : prelu(n);
    for (const ActivationRow& row : kActivations) {
      if (row.op != n.op || row.times != times) continue;
      AnyAttrs own = n.attrs;
      if (n.op == OpId::kClip) {
        const auto bounds = clip_bounds(g_, n);
        if (!bounds) return std::nullopt;
        own = AnyAttrs::of(*bounds);
      }
      EpilogueAttrs e{static_cast<int64_t>(row.activation)};
      double* parameter = &e.alpha;
      bool form = true;
      for (const AttrField& f : find_op(n.op)->attrs->fields) {
        if (f.kind == AttrKind::kInt) form = (attr_int(f, own.get()) != 0) == (row.flag != 0);
        if (f.kind == AttrKind::kFloat) {
          *parameter = attr_float(f, own.get());
          parameter = &e.beta;
        }
      }
      if (form) return e;
    }
    return std::nullopt;
  }

  void match_activation(EpilogueMatch& m) {
    NodeId id = only_user(m.result);
    if (id < 0 || g_.node(id).inputs[0] != m.result) return;
    if (auto e = activation_of(g_.node(id), false)) {
      m.epilogue = *e;
      take(m, id);
    }
  }

  // Matches the value times a function of it, in either order, where nothing else reads the two.
  void match_gate(EpilogueMatch& m) {
    if (output_[static_cast<size_t>(m.result)]) return;
    NodeId gate = -1, product = -1;
    for (NodeId user : users_[static_cast<size_t>(m.result)]) {
      if (g_.node(user).removed()) continue;
      NodeId& place = g_.node(user).op == OpId::kMul ? product : gate;
      if (place >= 0) return;
      place = user;
    }
    if (gate < 0 || product < 0 || g_.node(gate).inputs[0] != m.result) return;
    const ValueId factor = g_.node(gate).outputs[0];
    const std::vector<ValueId>& in = g_.node(product).inputs;
    if (only_user(factor) != product || (in[0] != factor && in[1] != factor)) return;
    if (auto e = activation_of(g_.node(gate), true)) {
      m.epilogue = *e;
      m.chain.push_back(gate);
      take(m, product);
    }
  }

  void apply(const EpilogueMatch& m) {
    const Node head = g_.node(m.head);
    std::vector<ValueId> inputs = {head.inputs[0], head.inputs[1], m.bias,
                                   m.scale,        m.shift,        m.residual};
    NodeId fused = 0;
    if (head.op == OpId::kConv) {
      FusedConvAttrs a{head.attrs.as<ConvAttrs>(), m.epilogue};
      fused = g_.add_node(OpId::kFusedConv, AnyAttrs::of(a), inputs, 1, head.name);
    } else {
      const OpId op = head.op == OpId::kLinear ? OpId::kFusedLinear : OpId::kFusedMatMul;
      fused = g_.add_node(op, AnyAttrs::of(m.epilogue), inputs, 1, head.name);
    }
    g_.node(fused).module = head.module;
    g_.node(fused).source = head.source;
    ValueId made = g_.node(fused).outputs[0];
    g_.value(made).name = g_.value(m.result).name;
    for (NodeId id : m.chain) g_.remove_node(id);
    pass_on(m.result, made);
    for (ValueId v : g_.node(fused).inputs) {
      if (v != kNoValue) users_[static_cast<size_t>(v)].push_back(fused);
    }
  }

  // Makes whoever read `from` read `to`, a value just made.
  void pass_on(ValueId from, ValueId to) {
    users_.resize(g_.value_count());
    output_.resize(g_.value_count(), false);
    const std::vector<NodeId> users = std::move(users_[static_cast<size_t>(from)]);
    for (NodeId user : users) {
      std::vector<ValueId>& in = g_.node(user).inputs;
      std::replace(in.begin(), in.end(), from, to);
    }
    users_[static_cast<size_t>(to)] = users;
    if (!output_[static_cast<size_t>(from)]) return;
    output_[static_cast<size_t>(to)] = true;
    for (GraphOutput& o : g_.outputs()) {
      if (o.value == from) o.value = to;
    }
  }

  Graph& g_;
  std::vector<std::vector<NodeId>> users_;  // by value; removed nodes may still be listed
  std::vector<bool> output_;
};

}  // namespace

bool fuse_epilogues(Graph& g) { return EpilogueFuser(g).run(); }

}  // namespace wick::ir
