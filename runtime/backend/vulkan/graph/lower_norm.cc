#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {
namespace {

constexpr int64_t kLongRow = 64;

int64_t product(const Shape& s, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; ++i) n *= s[i];
  return n;
}

Status lower_batch_norm(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  Dispatch d = flat_dispatch(WICK_STORED(call.out[0].dtype, batch_norm), call.out[0].numel());
  add_push(d, call.out[0].numel());
  add_push(d, x[1]);
  add_push(d, product(x, 2, x.rank()));
  add_push(d, static_cast<float>(static_cast<const BatchNormAttrs*>(call.attrs)->epsilon));
  for (int i = 0; i < 5; ++i) add_operand(d, i);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_softmax(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += x.rank();
  if (x.rank() == 0) return unsupported("a softmax of a scalar");
  int at = static_cast<int>(axis);
  int64_t inner = product(x, at + 1, x.rank());
  int64_t rows = product(x, 0, at) * inner;
  Dispatch d;
  // Long rows are given to a subgroup each, short ones to 16 invocations.
  const int64_t lanes = out.can.subgroup;
  const bool subgroups = lanes >= 8 && lanes <= WICK_FLAT_SIZE && x[at] >= kLongRow;
  d.shader = subgroups ? WICK_STORED(call.out[0].dtype, softmax_subgroup)
                       : WICK_STORED(call.out[0].dtype, softmax);
  d.groups[0] = groups_for(rows, subgroups ? WICK_FLAT_SIZE / lanes : WICK_SOFTMAX_ROWS);
  add_spec(d, call.op == OpId::kLogSoftmax ? 1 : 0);
  add_push(d, rows);
  add_push(d, x[at]);
  add_push(d, inner);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

constexpr VulkanRow softmax() {
  return {.lower = lower_softmax, .flags = kStoresHalves | kEmptyOutputs, .cut = cut_before_axis};
}

}  // namespace

WICK_VULKAN(BatchNorm, {.lower = lower_batch_norm,
                        .flags = kStoresHalves | kEmptyOutputs,
                        .cut = cut_batch_norm});
WICK_VULKAN(Softmax, softmax());
WICK_VULKAN(LogSoftmax, softmax());

}  // namespace wick::vulkan
