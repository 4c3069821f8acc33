// Convolutions over three spatial dims.
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {

Status lower_conv3d(const OpCall& call, const ConvAttrs& conv, const EpilogueAttrs& epilogue,
                    Lowered& out) {
  if (call.out[0].dtype != DType::kF32) return unsupported("no shader for this dtype");
  const Shape& w = call.in[1].shape;
  const WindowShape s(call.in[0].shape, call.out[0].shape, conv, [&](int i) { return w[2 + i]; });
  if (!s.fits()) return unsupported("a window too large for 32-bit indices");
  const Shape& y = call.out[0].shape;
  Dispatch d = rows_dispatch(ShaderId::k_conv3d_direct_f32, y, conv.group);
  const uint32_t parts = add_epilogue(call, d);
  WICK_ASSIGN(const Ending ending, ending_of(epilogue));
  add_spec(d, ending.function);
  add_spec(d, parts);
  add_spec(d, static_cast<uint32_t>(channel_rows(y, conv.group)));
  add_push(d, w[0] / conv.group);
  add_push(d, conv.group);
  add_push(d, w[1]);
  add_push(d, ending.alpha);
  add_push(d, ending.beta);
  add_window(d, s);
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
