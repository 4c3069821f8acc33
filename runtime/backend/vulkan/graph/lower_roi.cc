// RoiAlign and MaxRoiPool.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {
namespace {

Status lower_roi_align(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const RoiAlignAttrs*>(call.attrs);
  const Shape& x = call.in[0].shape;
  Dispatch d = flat_dispatch(ShaderId::k_roi_align_f32, call.out[0].numel());
  d.fault_text =
      "a batch index is out of bounds, or a region too large to choose its samples by size";
  add_spec(d, a.max != 0 ? 1 : 0);
  add_spec(d, a.half_pixel != 0 ? 1 : 0);
  add_spec(d, call.in[2].dtype == DType::kI64 ? 1 : 0);
  add_push(d, call.out[0].numel());
  add_push(d, x[1]);
  add_push(d, x[0]);
  for (int64_t v : {x[2], x[3], a.output_height, a.output_width, a.sampling_ratio}) add_push(d, v);
  add_push(d, static_cast<float>(a.spatial_scale));
  d.fault_push = d.push_words;
  add_push(d, uint32_t{0});
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

Status lower_max_roi_pool(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const MaxRoiPoolAttrs*>(call.attrs);
  const Shape& x = call.in[0].shape;
  if (x[0] > (1 << 24)) return unsupported("more images than a float counts");
  Dispatch d = flat_dispatch(ShaderId::k_max_roi_pool_f32, call.out[0].numel());
  d.fault_text = "a region is of an image that is not there";
  add_push(d, call.out[0].numel());
  add_push(d, x[1]);
  add_push(d, x[0]);
  for (int64_t v : {x[2], x[3], a.pooled_shape[0], a.pooled_shape[1]}) add_push(d, v);
  add_push(d, static_cast<float>(a.spatial_scale));
  d.fault_push = d.push_words;
  add_push(d, uint32_t{0});
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(RoiAlign, {.lower = lower_roi_align});
WICK_VULKAN(MaxRoiPool, {.lower = lower_max_roi_pool});

}  // namespace wick::vulkan
