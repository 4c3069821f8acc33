// Turns a Linear over weights in blocks of 4 or 8 bits, which DequantizeLinear makes reals of, into
// one BlockLinear that multiplies by them as they are stored. This is exact: the same reals in the
// same order.
#include <algorithm>

#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/core/narrow.h"
#include "runtime/core/quantized_dtype.h"

namespace wick::ir {
namespace {

int64_t number(const HostTensor& t, int64_t i) {
  if (t.dtype() == DType::kI8) return t.as<int8_t>()[i];
  if (t.dtype() == DType::kU8) return t.as<uint8_t>()[i];
  return static_cast<int64_t>(narrow_at(t.dtype(), t.data(), i));
}

// Gets the zero point of all blocks if they have a single one.
bool same_everywhere(const HostTensor& t, int64_t* zero) {
  *zero = t.numel() == 0 ? 0 : number(t, 0);
  for (int64_t i = 1; i < t.numel(); ++i) {
    if (number(t, i) != *zero) return false;
  }
  return true;
}

// Blocks holds inputs 1 to 3 of BlockLinear.
struct Blocks {
  ValueId weight, scale, zero = kNoValue;
  BlockLinearAttrs attrs;
};

bool blocks_of(const Graph& g, const Node& n, Blocks* b) {
  const auto& a = n.attrs.as<DequantizeAttrs>();
  b->weight = n.inputs[0], b->scale = n.inputs[1], b->attrs.block_size = a.block_size;
  const bool size =
      a.block_size >= 16 && a.block_size <= 256 && (a.block_size & (a.block_size - 1)) == 0;
  if (!size || !g.is_constant(b->weight) || !g.is_constant(b->scale)) return false;
  const HostTensor &w = g.value(b->weight).constant, &s = g.value(b->scale).constant;
  const bool real = s.dtype() == DType::kF32 || s.dtype() == DType::kF16;
  if (!is_block_type(w.dtype()) || w.shape().rank() != 2 || !real) return false;
  if (a.axis != 1 && a.axis != -1) return false;
  const Shape want{w.shape()[0], (w.shape()[1] + a.block_size - 1) / a.block_size};
  if (!(s.shape() == want) || g.value(n.outputs[0]).dtype != DType::kF32) return false;
  if (n.inputs.size() < 3 || n.inputs[2] == kNoValue) return true;
  const Node* from = producer_of(g, n.inputs[2]);
  const bool spread = from != nullptr && from->op == OpId::kExpand;
  b->zero = spread ? from->inputs[0] : n.inputs[2];
  if (!g.is_constant(b->zero)) return false;
  const HostTensor& z = g.value(b->zero).constant;
  if (z.dtype() != w.dtype()) return false;
  if (same_everywhere(z, &b->attrs.zero_point)) {
    b->zero = kNoValue;
    return true;
  }
  b->attrs.zero_point = 0;
  return !spread && z.shape() == want;
}

}  // namespace

bool keep_blocks(Graph& g) {
  const auto users = g.users();
  bool changed = false;
  const size_t count = g.node_count();
  for (size_t i = 0; i < count; ++i) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kDequantizeLinear || n.attrs.as<DequantizeAttrs>().block_size == 0) continue;
    const ValueId made = n.outputs[0];
    const std::vector<NodeId>& readers = users[static_cast<size_t>(made)];
    const auto is_weight = [&](NodeId id) {
      const Node& user = g.node(id);
      return user.op == OpId::kLinear && user.inputs[1] == made && user.inputs[0] != made &&
             g.value(user.inputs[0]).dtype == DType::kF32;
    };
    Blocks b;
    if (g.is_output(made) || readers.empty() ||
        !std::all_of(readers.begin(), readers.end(), is_weight) || !blocks_of(g, n, &b))
      continue;
    for (NodeId id : readers) {  // in place: the result has the same type
      Node& user = g.node(id);
      const ValueId bias = user.inputs.size() > 2 ? user.inputs[2] : kNoValue;
      user.op = OpId::kBlockLinear;
      user.attrs = NodeAttrs::of(b.attrs);
      user.inputs = {user.inputs[0], b.weight, b.scale, b.zero, bias};
    }
    changed = true;
  }
  return changed;
}

}  // namespace wick::ir
