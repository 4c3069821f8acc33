// Variants of convolution: ConvTranspose, Col2Im, DeformConv.
#include <numeric>

#include "runtime/backend/vulkan/graph/window.h"
#include "runtime/ops/conv_transpose.h"

namespace wick::vulkan {
namespace {

// An absent input is replaced by input 1, which is not read.
void add_optional(const OpCall& call, size_t i, Dispatch& d) {
  const bool given = i < call.in.size() && call.in[i].present();
  add_spec(d, given ? 1 : 0);
  add_operand(d, given ? static_cast<int>(i) : 1);
}

Status lower_conv_transpose(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ConvTransposeAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &w = call.in[1].shape, &y = call.out[0].shape;
  WindowShape s(x, y, a.conv, [&](int i) { return w[2 + i]; });
  int64_t k_step[3], q_step[3];
  for (int d = 0; d < 3; ++d) {
    const int i = d - (5 - x.rank());
    if (i >= 0) s.pad[d] = transposed_pad(a, x[2 + i], w[2 + i], y[2 + i], i);
    const int64_t g = std::gcd(s.stride[d], s.dilation[d]);
    k_step[d] = s.stride[d] / g, q_step[d] = s.dilation[d] / g;
    // the sum from which a source position is computed
    if (s.out[d] + s.pad[d] + s.kernel[d] * s.dilation[d] + k_step[d] > kMaxElements)
      return unsupported("a window too large for 32-bit indices");
  }
  Dispatch d = rows_dispatch(ShaderId::k_conv_transpose_f32, y, a.conv.group);
  add_spec(d, static_cast<uint32_t>(channel_rows(y, a.conv.group)));
  add_push(d, a.conv.group);
  add_push(d, x[1] / a.conv.group);
  add_push(d, w[1]);
  add_window(d, s);
  add_pushes(d, k_step);
  add_pushes(d, q_step);
  add_operand(d, 0);
  add_operand(d, 1);
  add_optional(call, 2, d);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_col2im(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const Col2ImAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  const int spatial = y.rank() - 2;
  int64_t positions = 1;
  WICK_TRY(out.table.resize(static_cast<size_t>(spatial) * WICK_COL2IM_WORDS));
  for (int i = 0; i < spatial; ++i) {
    uint32_t* to = out.table.data() + i * WICK_COL2IM_WORDS;
    const int64_t block = call.args->blocks.extent[i], stride = a.strides.at_or(i, 1),
                  dilation = a.dilations.at_or(i, 1), pad = a.pads.at_or(i, 0);
    const int64_t room = y[2 + i] + pad + a.pads.at_or(i + spatial, 0);
    const int64_t g = std::gcd(stride, dilation);
    if (room + stride > kMaxElements || block * dilation > kMaxElements)
      return unsupported("a window too large for 32-bit indices");
    to[WICK_COL2IM_EXTENT] = static_cast<uint32_t>(y[2 + i]);
    to[WICK_COL2IM_BLOCK] = static_cast<uint32_t>(block);
    to[WICK_COL2IM_WINDOWS] =
        static_cast<uint32_t>((room - (block - 1) * dilation - 1) / stride + 1);
    to[WICK_COL2IM_STRIDE] = static_cast<uint32_t>(stride);
    to[WICK_COL2IM_DILATION] = static_cast<uint32_t>(dilation);
    to[WICK_COL2IM_PAD] = static_cast<uint32_t>(pad);
    to[WICK_COL2IM_K_STEP] = static_cast<uint32_t>(stride / g);
    to[WICK_COL2IM_Q_STEP] = static_cast<uint32_t>(dilation / g);
    positions *= block;
    if (positions > kMaxElements) return unsupported("a window too large for 32-bit indices");
  }
  if (positions * y[1] != x[1]) return unsupported("another size than its shape says");
  Dispatch d = flat_dispatch(ShaderId::k_col2im_f32, call.out[0].numel());
  add_spec(d, static_cast<uint32_t>(spatial));
  add_push(d, call.out[0].numel());
  add_push(d, positions);
  add_push(d, x[2]);
  add_operand(d, 0);
  add_operand(d, kTableOperand);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_deform_conv(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const DeformConvAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &w = call.in[1].shape, &y = call.out[0].shape;
  const WindowShape s(x, y, a.conv, [&](int i) { return w[2 + i]; });
  if (!s.fits()) return unsupported("a window too large for 32-bit indices");
  Dispatch d = rows_dispatch(ShaderId::k_deform_conv_f32, y, a.conv.group);
  add_spec(d, static_cast<uint32_t>(x.rank() - 2));
  add_spec(d, static_cast<uint32_t>(channel_rows(y, a.conv.group)));
  add_push(d, x[1]);
  add_push(d, w[1]);
  add_push(d, y[1]);
  add_push(d, y[1] / a.conv.group);
  add_push(d, x[1] / a.offset_group);
  add_window(d, s);
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  add_optional(call, 3, d);
  add_optional(call, 4, d);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(ConvTranspose, {.lower = lower_conv_transpose});
WICK_VULKAN(Col2Im, {.lower = lower_col2im});
WICK_VULKAN(DeformConv, {.lower = lower_deform_conv});

}  // namespace wick::vulkan
