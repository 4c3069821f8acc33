#include "graph/passes/lower_qdq.h"
#include "graph/ir/byte_ops.h"

#include <algorithm>
#include <cmath>

#include "graph/interpreter/interpreter.h"
#include "graph/passes/qdq.h"
#include "graph/rewrite/pass.h"
#include "runtime/kernels/bytes/requantize.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

bool is_qdq(OpId op) { return op == OpId::kQuantizeLinear || op == OpId::kDequantizeLinear; }

// Returns whether the node only moves constant bytes: weights, as some files have them.
bool moves_bytes(const Graph& g, const Node& n) {
  const DType t = n.outputs.empty() ? DType::kNone : g.value(n.outputs[0]).dtype;
  if (t != DType::kI8 && t != DType::kU8 && t != DType::kI32) return false;
  return n.op == OpId::kTranspose || n.op == OpId::kReshape || n.op == OpId::kSqueeze ||
         n.op == OpId::kUnsqueeze || n.op == OpId::kIdentity;
}

}  // namespace

int LowerReport::integer_nodes() const {
  int n = 0;
  for (const auto& [op, count] : integer) n += count;
  return n;
}
std::string LowerReport::text() const {
  std::string text;
  for (const StayedFloat& s : stayed)
    text.append(s.op).append(" '").append(s.name).append("': ").append(s.reason).append("\n");
  return text;
}

ValueId Lowering::emit_any(OpId op, const AnyAttrs& attrs, std::vector<ValueId> in, NodeId like) {
  const Node from = g_.node(like);
  if (in[0] == kNoValue) return kNoValue;  // the op that makes it was refused
  try {
    const NodeId id = g_.add_node(op, attrs, std::move(in), 1, from.name);
    Node& made = g_.node(id);
    made.module = from.module;
    made.source = from.source;
    // It reads its inputs as well as the nodes that find_users() has seen.
    for (ValueId v : made.inputs) {
      if (v != kNoValue && static_cast<size_t>(v) < users_.size())
        users_[static_cast<size_t>(v)].push_back(id);
    }
    return made.outputs[0];
  } catch (const Error& e) {  // the integer op's rule is stricter
    return refuse(e.what());
  }
}

void Lowering::check_scales() const {
  for (size_t i = 0; i < g_.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = g_.node(id);
    if (n.op != OpId::kQuantizeLinear || !g_.is_constant(n.inputs[1])) continue;
    const HostTensor& s = g_.value(n.inputs[1]).constant;
    if (s.dtype() != DType::kF32) continue;
    for (int64_t k = 0; k < s.numel(); ++k) {
      if (is_scale(s.as<float>()[k])) continue;
      std::string text = "[";
      text.append(node_text(g_, id)).append("] the scale must be finite and > 0, element ");
      text.append(std::to_string(k)).append(" is ").append(std::to_string(s.as<float>()[k]));
      throw Error(text);
    }
  }
}

// Folds weights that a file quantizes, or moves, when it runs.
bool Lowering::fold_quantized() {
  Substitution sub(g_);
  for (size_t i = 0; i < g_.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    sub.apply(g_.node(id));
    const Node n = g_.node(id);
    if (n.op != OpId::kQuantizeLinear && !moves_bytes(g_, n)) continue;
    if (n.removed() || sub.is_output(n.outputs[0])) continue;
    std::vector<HostTensor> in;
    bool constant = true;
    for (ValueId v : n.inputs) {
      constant = constant && (v == kNoValue || g_.is_constant(v));
      in.push_back(constant && v != kNoValue ? g_.value(v).constant : HostTensor());
    }
    if (!constant) continue;
    const std::string name = g_.value(n.inputs[0]).name;
    const bool parameter = g_.value(n.inputs[0]).parameter && !name.empty();
    HostTensor q = run_node(n.op, n.attrs.get(), in, 1)[0];
    const char* how = n.op == OpId::kQuantizeLinear ? ".quantized" : ".moved";
    sub.drop(id, g_.add_constant(std::move(q), name.empty() ? "" : name + how, parameter));
  }
  return sub.finish();
}

bool Lowering::is_clamp(const Node& n) const {
  if (n.op == OpId::kRelu) return true;
  if (n.op != OpId::kClip) return false;
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const ValueId v = n.inputs[i];
    if (v != kNoValue && (!g_.is_constant(v) || g_.value(v).constant.numel() != 1)) return false;
  }
  return true;
}

// Returns whether everything that reads v quantizes it, directly or after a clamp.
bool Lowering::only_quantized(ValueId v, std::string* why) const {
  if (static_cast<size_t>(v) >= users_.size()) return true;  // made just now, for bytes
  if (output_[static_cast<size_t>(v)]) {
    *why = "its result is a float output of the graph";
    return false;
  }
  for (NodeId user : readers_of(v)) {
    const Node& n = g_.node(user);
    const bool data = n.inputs[0] == v;
    if (data && n.op == OpId::kQuantizeLinear) continue;
    if (data && is_clamp(n)) {
      if (!only_quantized(n.outputs[0], why)) return false;
      continue;
    }
    *why = "its result is read as float by " + node_text(g_, user);
    return false;
  }
  return true;
}

ValueId Lowering::lower_quantize(NodeId id) {
  const Node q = g_.node(id);
  ValueId v = q.inputs[0];
  if (g_.value(v).origin != ValueOrigin::kNode) return kNoValue;
  std::string why;
  const auto to = target_of(q, &why);
  if (!to) {
    stays(g_.value(v).producer, "of its result " + why);
    return kNoValue;
  }
  if (const ValueId y = by_table(v, *to, id); y != kNoValue) return y;
  std::vector<NodeId> clamps;
  const Node* core = producer_of(g_, v);
  while (core != nullptr && is_clamp(*core)) {
    clamps.push_back(g_.value(v).producer);
    v = core->inputs[0];
    core = producer_of(g_, v);
  }
  if (core == nullptr) return kNoValue;
  const NodeId at = g_.value(v).producer;
  if (is_qdq(core->op)) return kNoValue;  // per channel, or of 16 bits
  const ValueId y = only_quantized(v, &why_) ? lower_core(at, *to) : kNoValue;
  if (y == kNoValue) {
    stays(at, why_);
    for (NodeId clamp : clamps) stays(clamp, "what it clamps stays float");
    return kNoValue;
  }
  if (clamps.empty()) return y;
  return look_up({y, *to}, clamp_table(clamps, *to), *to, clamps.back());
}

void Lowering::find_users() {
  users_ = g_.users();
  output_.assign(g_.value_count(), false);
  for (const GraphOutput& o : g_.outputs()) output_[static_cast<size_t>(o.value)] = true;
}

std::vector<NodeId> Lowering::readers_of(ValueId v) const {
  std::vector<NodeId> readers;
  if (static_cast<size_t>(v) >= users_.size()) return readers;
  for (NodeId user : users_[static_cast<size_t>(v)]) {
    if (!g_.node(user).removed()) readers.push_back(user);
  }
  return readers;
}

bool Lowering::lower_quantized() {
  find_users();
  Substitution sub(g_);
  const size_t count = g_.node_count();
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<NodeId>(i);
    if (g_.node(id).removed()) continue;
    sub.apply(g_.node(id));
    if (g_.node(id).op != OpId::kQuantizeLinear) continue;
    ValueId y = lower_quantize(id);
    if (y == kNoValue) continue;
    const ValueId old = g_.node(id).outputs[0];
    if (!sub.may_replace(old, y)) y = emit(OpId::kIdentity, NoAttrs{}, {y}, id);
    if (g_.value(y).name.empty()) g_.value(y).name = g_.value(old).name;
    sub.drop(id, y);
  }
  return sub.finish();
}

// Lowers layers whose result is read as reals, or that are the last ones.
bool Lowering::lower_float_results() {
  find_users();
  Substitution sub(g_);
  const size_t count = g_.node_count();
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<NodeId>(i);
    if (g_.node(id).removed()) continue;
    sub.apply(g_.node(id));
    const Node n = g_.node(id);
    ValueId y = kNoValue, bias = kNoValue;
    NodeId product = id;
    if (n.op == OpId::kLinear) {
      y = linear(id, n.inputs[0], n.inputs[1], false, input_or_none(n, 2), nullptr);
    } else if (n.op == OpId::kMatMul && by_matrix(n)) {
      const std::vector<NodeId> readers = readers_of(n.outputs[0]);
      const bool at_the_sum = readers.size() == 1 && g_.node(readers[0]).op == OpId::kAdd &&
                              is_layer(g_.node(readers[0]), &product, &bias) && product == id;
      if (at_the_sum) continue;
      y = matmul(n, product = id, kNoValue, nullptr);
    } else if (n.op == OpId::kAdd && is_layer(n, &product, &bias)) {
      y = matmul(Node(g_.node(product)), product, bias, nullptr);
    } else {
      continue;
    }
    if (y == kNoValue) {
      stays(product, why_);
      continue;
    }
    if (const auto why = reasons_.find(n.outputs[0]); why != reasons_.end())
      reasons_.emplace(y, std::string(why->second));  // why a bias is added as float
    g_.value(y).name = g_.value(n.outputs[0]).name;
    sub.drop(id, y);
  }
  return sub.finish();
}

// Removes dead nodes without renumbering values, since reasons_ refers to them.
void Lowering::drop_dead() {
  g_.sort_nodes();
  std::vector<bool> read(g_.value_count(), false);
  for (const GraphOutput& o : g_.outputs()) read[static_cast<size_t>(o.value)] = true;
  for (size_t i = g_.node_count(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = g_.node(id);
    if (n.removed()) continue;
    if (std::none_of(n.outputs.begin(), n.outputs.end(),
                     [&](ValueId v) { return read[static_cast<size_t>(v)]; })) {
      g_.remove_node(id);
      continue;
    }
    for (ValueId v : n.inputs) {
      if (v != kNoValue) read[static_cast<size_t>(v)] = true;
    }
  }
}

void Lowering::write_report() {
  if (report_ == nullptr) return;
  const auto users = g_.users();
  std::vector<bool> behind(g_.value_count(), false);  // computed as reals from a DequantizeLinear
  for (size_t i = 0; i < g_.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = g_.node(id);
    if (n.removed()) continue;
    // Some files have these themselves: sums of bytes, which float ops turn into other numbers.
    const bool sums = n.op == OpId::kMatMulInteger || n.op == OpId::kConvInteger;
    if (is_byte_op(n.op) || sums) ++report_->integer[op_info(n.op)->name];
    if (n.op == OpId::kDequantizeLinear || is_byte_op(n.op)) {
      for (ValueId v : n.outputs) behind[static_cast<size_t>(v)] = is_float(g_.value(v).dtype);
      continue;
    }
    const auto from = std::find_if(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return v != kNoValue && behind[static_cast<size_t>(v)];
    });
    if (from == n.inputs.end() || n.op == OpId::kQuantizeLinear || n.op == OpId::kShape) continue;
    for (ValueId v : n.outputs) behind[static_cast<size_t>(v)] = is_float(g_.value(v).dtype);
    std::string why;
    const auto known = reasons_.find(n.outputs[0]);
    if (known != reasons_.end()) why = known->second;
    const std::vector<NodeId>& readers = users[static_cast<size_t>(n.outputs[0])];
    const auto reader = std::find_if(readers.begin(), readers.end(), [&](NodeId id) {
      return g_.node(id).op != OpId::kQuantizeLinear;
    });
    for (ValueId v : n.inputs) {
      const Node* made = producer_of(g_, v);
      const bool reals = made != nullptr && is_float(g_.value(v).dtype) && !is_qdq(made->op);
      if (reals && (why.empty() || why == kNoForm))
        why = "its input is float: " + node_text(g_, g_.value(v).producer);
    }
    if (why.empty() && readers.empty()) why = "its result is a float output of the graph";
    if (why.empty() && reader != readers.end())
      why = "its result is read as float by " + node_text(g_, *reader);
    if (why.empty()) why = kNoForm;
    const std::string name = n.name.empty() ? g_.value(n.outputs[0]).name : n.name;
    report_->stayed.push_back({op_info(n.op)->name, name, why});
  }
}

bool Lowering::run() {
  const bool any =
      std::any_of(g_.nodes().begin(), g_.nodes().end(), [](const Node& n) { return is_qdq(n.op); });
  if (!any) {
    if (report_ != nullptr) write_report();
    return false;
  }
  if (report_ != nullptr) report_->quantized = true;
  check_scales();
  bool changed = fold_quantized();
  changed = sink() || changed;
  changed = raise() || changed;
  changed = lower_quantized() || changed;
  drop_dead();
  changed = lower_float_results() || changed;
  drop_dead();
  write_report();
  g_.compact();
  return changed;
}

bool lower_qdq(Graph& g, LowerReport* report) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    for (Graph& region : g.node(static_cast<NodeId>(i)).regions)
      changed = lower_qdq(region, report) || changed;
  }
  if (find_tables(g)) {
    remove_dead(g);  // casts to an index
    changed = true;
  }
  changed = Lowering(g, report).run() || changed;
  if (changed) verify(g, "after lowering");
  return changed;
}

Graph lowered(Graph graph, LowerReport* report) {
  lower_qdq(graph, report);
  return graph;
}

}  // namespace wick::ir
