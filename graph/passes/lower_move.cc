// Ops that move, copy or choose elements do the same to bytes as to the reals they stand for: the
// DequantizeLinear before them is moved behind them, and a QuantizeLinear behind a change of shape
// is moved before it, next to the op that computes. This is exact.
#include <algorithm>

#include "graph/interpreter/interpreter.h"
#include "graph/passes/qdq.h"

namespace wick::ir {
namespace {

// Returns how many of a node's first inputs are the elements that it moves; 0: it does not only
// move.
size_t moved_inputs(const Node& n) {
  const OpId op = n.op;
  if (op == OpId::kConcat) return n.inputs.size();
  if (op == OpId::kMax || op == OpId::kMin) return 2;
  if (op == OpId::kResize) {
    const auto& a = n.attrs.as<ResizeAttrs>();
    const bool nearest = a.mode == static_cast<int64_t>(ResizeMode::kNearest);
    const bool inside = a.coordinates != static_cast<int64_t>(ResizeCoordinates::kCropAndResize);
    return nearest && inside ? 1 : 0;
  }
  const bool chooses = op == OpId::kReduceMax || op == OpId::kReduceMin || op == OpId::kMaxPool;
  const bool moves = op == OpId::kTranspose || op == OpId::kSlice || op == OpId::kSplit ||
                     op == OpId::kPad || kind_of(op) == OpKind::kGather || is_view(op);
  return chooses || moves ? 1 : 0;
}

bool keeps_size(OpId op) { return is_view(op) || op == OpId::kTranspose; }

}  // namespace

bool Lowering::sink_node(NodeId id, Substitution& sub) {
  const Node n = g_.node(id);
  const size_t moved = moved_inputs(n);
  if (moved == 0) return false;
  std::string why;
  std::vector<ValueId> in = n.inputs;
  std::optional<ByteType> type;
  for (size_t i = 0; i < moved; ++i) {
    const auto b = bytes_of(in[i], &why);
    if (!b || (type && !(*type == b->type))) return false;
    type = b->type;
    in[i] = b->q;
  }
  AnyAttrs attrs = n.attrs;
  // The padding becomes a byte, too.
  if (n.op == OpId::kPad) {
    auto& a = attrs.as<PadAttrs>();
    if (a.mode == static_cast<int64_t>(PadMode::kConstant)) {
      const ValueId given = in.size() > 2 ? in[2] : kNoValue;
      if (given != kNoValue && !g_.is_constant(given)) return false;
      const double v = given == kNoValue ? a.value : element_as_double(g_.value(given).constant, 0);
      if (v != 0) return false;
      a.value = type->z;
      if (given != kNoValue) in[2] = kNoValue;
      while (!in.empty() && in.back() == kNoValue) in.pop_back();
    }
  }
  std::vector<ValueId> bytes;
  if (g_.is_constant(in[0]) && keeps_size(n.op) &&
      std::all_of(in.begin(), in.end(), [&](ValueId v) {
        return v == kNoValue || g_.is_constant(v);
      })) {  // a constant weight stays a constant
    std::vector<HostTensor> tensors;
    for (ValueId v : in) tensors.push_back(v == kNoValue ? HostTensor() : g_.value(v).constant);
    const Value before = g_.value(in[0]);
    bytes.push_back(g_.add_constant(run_node(n.op, attrs.get(), tensors, 1)[0],
                                    before.name.empty() ? "" : before.name + ".moved",
                                    before.parameter && !before.name.empty()));
  } else {
    try {
      const NodeId made =
          g_.add_node(n.op, attrs, std::move(in), static_cast<int>(n.outputs.size()), n.name);
      g_.node(made).module = n.module;
      g_.node(made).source = n.source;
      bytes = g_.node(made).outputs;
    } catch (const std::exception&) {  // the op has no form for bytes
      return false;
    }
  }
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    const ValueId reals =
        emit(OpId::kDequantizeLinear, DequantizeAttrs{}, {bytes[k], type->scale, type->zero}, id);
    g_.value(reals).name = g_.value(n.outputs[k]).name;
    sub.replace(n.outputs[k], reals);
  }
  g_.remove_node(id);
  return true;
}

bool Lowering::raise() {
  find_users();
  bool changed = false;
  {
    Substitution sub(g_);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (g_.node(id).removed() || g_.node(id).op != OpId::kQuantizeLinear) continue;
      sub.apply(g_.node(id));
      const Node q = g_.node(id);
      std::string why;
      const auto type = target_of(q, &why);
      if (!type) continue;
      std::vector<NodeId> between;  // the last one first
      ValueId v = q.inputs[0];
      for (const Node* n = producer_of(g_, v);
           n != nullptr && keeps_size(n->op) && readers_of(v).size() == 1 &&
           !output_[static_cast<size_t>(v)];
           n = producer_of(g_, v)) {
        between.push_back(g_.value(v).producer);
        v = n->inputs[0];
      }
      if (between.empty() || g_.value(v).origin != ValueOrigin::kNode) continue;
      ValueId y = emit(OpId::kQuantizeLinear, QuantizeAttrs{}, {v, type->scale, type->zero}, id);
      for (size_t k = between.size(); k-- > 0;) {
        const Node n = g_.node(between[k]);
        std::vector<ValueId> in = n.inputs;
        in[0] = y;
        y = emit_any(n.op, n.attrs, std::move(in), between[k]);
      }
      if (y == kNoValue) continue;  // an op has no form for bytes
      g_.value(y).name = g_.value(q.outputs[0]).name;
      sub.drop(id, y);
      for (NodeId n : between) g_.remove_node(n);
      changed = true;
    }
    sub.finish();
  }
  if (changed) renumber();
  return changed;
}

void Lowering::renumber() {
  g_.sort_nodes();
  g_.compact();
  zeros_.clear(), transposed_.clear(), biases_.clear(), widened_.clear();
}

bool Lowering::sink() {
  bool changed = false;
  {
    Substitution sub(g_);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (g_.node(id).removed()) continue;
      sub.apply(g_.node(id));
      changed = sink_node(id, sub) || changed;
    }
    sub.finish();
  }
  if (changed) renumber();
  return changed;
}

}  // namespace wick::ir
