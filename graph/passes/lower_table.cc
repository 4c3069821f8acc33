// Anything computed element by element from one byte tensor becomes a table of 256 bytes, which the
// reference kernels fill in: whole chains, x * sigmoid(x) and the like.
#include <algorithm>

#include "graph/interpreter/interpreter.h"
#include "graph/passes/qdq.h"
#include "runtime/registry/registry.h"

namespace wick::ir {
namespace {

constexpr size_t kMostNodes = 64;

bool is_elementwise(OpId op) {
  switch (kind_of(op)) {
    case OpKind::kUnary:
    case OpKind::kCast:
    case OpKind::kTest:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kLogic:
    case OpKind::kSelect: return true;
    default: return op == OpId::kIdentity;
  }
}

HostTensor all_bytes(DType t) {
  HostTensor bytes(t, Shape{256});
  for (int i = 0; i < 256; ++i)
    bytes.as<uint8_t>()[i] = static_cast<uint8_t>(t == DType::kI8 ? i - 128 : i);
  return bytes;
}
std::vector<int32_t> values(const HostTensor& t) {
  std::vector<int32_t> v(256);
  for (int64_t i = 0; i < 256; ++i)
    v[static_cast<size_t>(i)] = t.dtype() == DType::kI8 ? t.as<int8_t>()[i] : t.as<uint8_t>()[i];
  return v;
}

HostTensor dequantized(const Graph& g, HostTensor bytes, const ByteType& t) {
  const HostTensor in[] = {std::move(bytes), g.value(t.scale).constant.reshaped(Shape{}),
                           g.value(t.zero).constant.reshaped(Shape{})};
  const DequantizeAttrs a;
  return run_node(OpId::kDequantizeLinear, &a, {in, 3}, 1)[0];
}

}  // namespace

HostTensor Lowering::reals_of(const ByteType& type) const {
  return dequantized(g_, all_bytes(type.dtype), type);
}
std::vector<int32_t> Lowering::bytes_from(const HostTensor& reals, const ByteType& to) const {
  const HostTensor in[] = {reals, g_.value(to.scale).constant.reshaped(Shape{}),
                           g_.value(to.zero).constant.reshaped(Shape{})};
  const QuantizeAttrs a;
  return values(run_node(OpId::kQuantizeLinear, &a, {in, 3}, 1)[0]);
}

bool Lowering::collect(ValueId v, Elementwise* e) {
  if (v == kNoValue || e->seen.count(v) != 0) return true;
  e->seen[v] = 1;
  if (g_.is_constant(v)) {
    const HostTensor& t = g_.value(v).constant;
    e->rank = std::max(e->rank, t.shape().rank());
    return t.numel() == 1 && t.dtype() != DType::kString;
  }
  const Node* n = producer_of(g_, v);
  if (n == nullptr) return false;
  if (n->op == OpId::kDequantizeLinear) {
    std::string why;
    const auto b = bytes_of(v, &why);
    if (!b) return false;
    if (g_.is_constant(b->q)) {  // a quantized number
      const HostTensor& t = g_.value(b->q).constant;
      e->rank = std::max(e->rank, t.shape().rank());
      return t.numel() == 1;
    }
    const bool first = e->leaf.q == kNoValue;
    if (first) e->leaf = *b;
    return first || (e->leaf.q == b->q && e->leaf.type == b->type);
  }
  if (!is_elementwise(n->op) || n->outputs.size() != 1 || !n->regions.empty() ||
      e->nodes.size() >= kMostNodes)
    return false;
  const NodeId id = g_.value(v).producer;
  for (ValueId in : n->inputs) {
    if (!collect(in, e)) return false;
  }
  e->nodes.push_back(id);
  return true;
}

std::vector<int32_t> Lowering::table(const Elementwise& e, ValueId result, const ByteType& to) {
  const auto constant = [&](ValueId v) { return g_.value(v).constant; };
  std::map<ValueId, HostTensor> made;
  for (const auto& [v, seen] : e.seen) {
    if (g_.is_constant(v)) {
      made[v] = constant(v).reshaped(Shape{});
      continue;
    }
    const Node& n = *producer_of(g_, v);
    if (n.op != OpId::kDequantizeLinear) continue;
    const bool number = g_.is_constant(n.inputs[0]);
    std::string why;
    const Bytes b = *bytes_of(v, &why);
    made[v] = number ? dequantized(g_, constant(b.q).reshaped(Shape{}), b.type) : reals_of(b.type);
  }
  for (NodeId id : e.nodes) {
    const Node& n = g_.node(id);
    std::vector<HostTensor> in;
    for (ValueId v : n.inputs) in.push_back(v == kNoValue ? HostTensor() : made.at(v));
    made[n.outputs[0]] = run_any(g_, n, in)[0];
  }
  return bytes_from(made.at(result), to);
}

std::vector<int32_t> Lowering::clamp_table(const std::vector<NodeId>& clamps,
                                           const ByteType& type) const {
  HostTensor reals = reals_of(type);
  for (size_t i = clamps.size(); i-- > 0;) {
    const Node& n = g_.node(clamps[i]);
    std::vector<HostTensor> in = {reals};
    for (size_t k = 1; k < n.inputs.size(); ++k) {
      const ValueId v = n.inputs[k];
      in.push_back(v == kNoValue ? HostTensor() : g_.value(v).constant.reshaped(Shape{}));
    }
    reals = run_any(g_, n, in)[0];
  }
  return bytes_from(reals, type);
}

ValueId Lowering::look_up(const Bytes& b, const std::vector<int32_t>& entries, const ByteType& to,
                          NodeId like) {
  const DType from = b.type.dtype;
  ValueId q = b.q;
  std::vector<int32_t> whole = entries;
  bool same = from == to.dtype;
  for (int i = 0; same && i < 256; ++i)
    same = entries[static_cast<size_t>(i)] == (from == DType::kI8 ? i - 128 : i);
  if (same) return q;
  // A table of a table is one table.
  const Node* before = producer_of(g_, q);
  if (before != nullptr && before->op == OpId::kByteTable && g_.is_constant(before->inputs[1])) {
    const std::vector<int32_t> first = values(g_.value(before->inputs[1]).constant);
    const int32_t low = from == DType::kI8 ? -128 : 0;
    for (size_t i = 0; i < 256; ++i) whole[i] = entries[static_cast<size_t>(first[i] - low)];
    q = before->inputs[0];
  }
  HostTensor t(to.dtype, Shape{256});
  for (size_t i = 0; i < 256; ++i) t.as<uint8_t>()[i] = static_cast<uint8_t>(whole[i]);
  return emit(OpId::kByteTable, NoAttrs{}, {q, g_.add_constant(std::move(t))}, like);
}

ValueId Lowering::requantized(const Bytes& b, const ByteType& to, NodeId like) {
  if (b.type == to) return b.q;
  return look_up(b, bytes_from(reals_of(b.type), to), to, like);
}

// Finds tables as ONNX files write them, since ONNX has no such op: an element of 256 by a byte,
// where an int8 below 0 counts from the end.
bool find_tables(Graph& g) {
  bool changed = false;
  const size_t count = g.node_count();
  for (size_t i = 0; i < count; ++i) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kGather || n.attrs.as<AxisAttrs>().axis != 0 || !g.is_constant(n.inputs[0]))
      continue;
    const HostTensor table = g.value(n.inputs[0]).constant;
    const DType t = table.dtype();
    const Node* cast = producer_of(g, n.inputs[1]);
    if (table.numel() != 256 || table.shape().rank() != 1 || cast == nullptr ||
        cast->op != OpId::kCast || (t != DType::kI8 && t != DType::kU8 && t != DType::kF32))
      continue;
    const ValueId x = cast->inputs[0];
    const DType from = g.value(x).dtype, index = g.value(n.inputs[1]).dtype;
    if ((from != DType::kI8 && from != DType::kU8) ||
        (index != DType::kI32 && index != DType::kI64))
      continue;
    ValueId entries = n.inputs[0];
    if (from == DType::kI8) {
      HostTensor turned(t, Shape{256});
      const size_t half = table.nbytes() / 2;
      const char* bytes = static_cast<const char*>(table.data());
      std::copy_n(bytes + half, half, static_cast<char*>(turned.data()));
      std::copy_n(bytes, half, static_cast<char*>(turned.data()) + half);
      entries = g.add_constant(std::move(turned));
    }
    Node& made = g.node(static_cast<NodeId>(i));  // in place: its result has the same type
    made.op = OpId::kByteTable;
    made.attrs = NodeAttrs::of(NoAttrs{});
    made.inputs = {x, entries};
    changed = true;
  }
  return changed;
}

ValueId Lowering::by_table(ValueId v, const ByteType& to, NodeId like) {
  Elementwise e;
  if (g_.is_constant(v) || !collect(v, &e) || e.leaf.q == kNoValue) return kNoValue;
  const Value& leaf = g_.value(e.leaf.q);
  if (e.rank > (leaf.ranked ? leaf.shape.rank() : 0)) return kNoValue;
  return look_up(e.leaf, table(e, v, to), to, e.nodes.empty() ? like : e.nodes.back());
}

}  // namespace wick::ir
