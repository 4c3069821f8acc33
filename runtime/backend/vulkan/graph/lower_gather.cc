#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {

namespace {

Status lower_gather(const OpCall& call, Lowered& out) {
  const Shape &x = call.in[0].shape, &indices = call.in[1].shape;
  int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return unsupported("an axis out of range");
  const int at = static_cast<int>(axis);
  const bool elements = call.op == OpId::kGatherElements;
  const Strides strides = contiguous_strides(x);
  const DType dtype = call.in[0].dtype;
  const int bits = dtype_bits(dtype);
  Dispatch d = flat_dispatch(bits == 64   ? ShaderId::k_gather_64
                             : bits == 32 ? ShaderId::k_gather_32
                                          : ShaderId::k_gather_packed,
                             words_of(dtype, call.out[0].numel()));
  add_spec(d, elements ? 1 : 0);
  add_spec(d, call.in[1].dtype == DType::kI64 ? 1 : 0);
  add_spec(d, static_cast<uint32_t>(elements ? indices.rank() : 1));
  add_spec(d, log_bits(dtype));
  add_push(d, call.out[0].numel());
  add_push(d, x[at]);
  add_push(d, strides[at]);
  add_push(d, numel(indices));
  add_push(d, strides[at]);  // elements after the axis
  d.fault_push = d.push_words;
  add_push(d, uint32_t{0});
  for (int i = 0; i < kMaxRank; ++i)
    add_push(d, elements && i < indices.rank() ? indices[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i)
    add_push(d, elements && i < x.rank() && i != at ? strides[i] : int64_t{0});
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(Gather, {.lower = lower_gather, .types = {is_movable}, .cut = cut_gather});
WICK_VULKAN(GatherElements,
            {.lower = lower_gather, .types = {is_movable}, .cut = cut_gather_elements});

}  // namespace wick::vulkan
