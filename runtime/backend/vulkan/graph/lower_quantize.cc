// Conversions between reals and quantized integers or small floats; elementwise ops from bytes to
// bytes.
#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/bytes/qlinear.h"

namespace wick::vulkan {
namespace {

// The constants of per_element.glsl, followed by the shader's own.
Dispatch per_element(const OpCall& call, ShaderId shader, int64_t axis, int64_t block) {
  const TensorView &x = call.in[0], &scale = call.in[1], &y = call.out[0];
  const bool zero = call.in.size() > 2 && call.in[2].present();
  const TensorView& zeros = zero ? call.in[2] : scale;
  Dispatch d = flat_dispatch(shader, words_of(y.dtype, y.numel()));
  for (DType t : {x.dtype, scale.dtype, zeros.dtype, y.dtype}) add_spec(d, type_number(t));
  add_spec(d, zero ? 1 : 0);
  add_spec(d, scale.numel() == 1 ? 1 : 0);
  add_spec(d, zeros.numel() == 1 ? 1 : 0);
  add_spec(d, block > 0 ? 1 : 0);
  int64_t extent = 1, inner = 1, blocks = 1;
  if (scale.numel() != 1 || zeros.numel() != 1) {
    const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    extent = x.shape[at];
    for (int i = at + 1; i < x.rank(); ++i) inner *= x.shape[i];
    if (block > 0) blocks = (scale.numel() != 1 ? scale : zeros).shape[at];
  }
  add_push(d, y.numel());
  add_push(d, extent);
  add_push(d, inner);
  add_push(d, block > 0 ? block : int64_t{1});
  add_push(d, blocks);
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, zero ? 2 : 1);
  add_operand(d, out_operand(0));
  return d;
}

Status lower_quantize_linear(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const QuantizeAttrs*>(call.attrs);
  const DType division = division_dtype(call.in[0].dtype, call.in[1].dtype, a.precision);
  if (division == DType::kF64 && is_small_float(call.out[0].dtype))
    return unsupported("a quotient of float64");
  Dispatch d = per_element(call, ShaderId::k_quantize, a.axis, a.block_size);
  add_spec(d, type_number(division));
  add_spec(d, a.saturate != 0 ? 1 : 0);
  return out.dispatches.push_back(d);
}

Status lower_dequantize_linear(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const DequantizeAttrs*>(call.attrs);
  return out.dispatches.push_back(per_element(call, ShaderId::k_dequantize, a.axis, a.block_size));
}

// One dispatch computes the range, the next one the bytes.
Status lower_dynamic(const OpCall& call, Lowered& out) {
  Dispatch range;
  range.shader = ShaderId::k_quantize_range;
  add_push(range, call.in[0].numel());
  add_operand(range, 0);
  add_operand(range, out_operand(1));
  add_operand(range, out_operand(2));
  WICK_TRY(out.dispatches.push_back(range));
  OpCall quantize = call;
  const TensorView in[] = {call.in[0], call.out[1], call.out[2]};
  quantize.in = {in, 3};
  Dispatch d = per_element(quantize, ShaderId::k_quantize, 0, 0);
  add_spec(d, type_number(DType::kF32));
  add_spec(d, 1);
  // The dispatch before writes these: declaring them as outputs orders the two.
  d.operand[1] = out_operand(1);
  d.operand[2] = out_operand(2);
  return out.dispatches.push_back(d);
}

Status lower_qlinear_binary(const OpCall& call, Lowered& out) {
  for (size_t i : {1, 2, 4, 5, 6, 7}) {
    if (call.in[i].data == nullptr) return unsupported("scales that only a run knows");
  }
  ByteBinary f;
  if (!byte_binary(call.op, call.in, &f).ok()) return unsupported("scales that are none");
  const int operands[] = {0, 3};
  const uint32_t own[] = {std::bit_cast<uint32_t>(f.a),     std::bit_cast<uint32_t>(f.b),
                          static_cast<uint32_t>(f.a_zero),  static_cast<uint32_t>(f.b_zero),
                          std::bit_cast<uint32_t>(f.to.lo), std::bit_cast<uint32_t>(f.to.hi),
                          static_cast<uint32_t>(f.to.zero)};
  WICK_ASSIGN(Dispatch d,
              walk_dispatch(ShaderId::k_qlinear_binary, call, call.op == OpId::kQLinearAdd ? 1 : 0,
                            {operands, 2}, {own, std::size(own)}));
  add_spec(d, type_number(call.in[0].dtype));
  add_spec(d, type_number(call.in[3].dtype));
  return out.dispatches.push_back(d);
}

Status lower_qlinear_prelu(const OpCall& call, Lowered& out) {
  for (size_t i : {1, 2, 4, 5}) {
    if (call.in[i].data == nullptr) return unsupported("scales that only a run knows");
  }
  BytePRelu f;
  if (!byte_prelu(call.in, &f).ok()) return unsupported("scales that are none");
  // Products of other scales may be subnormal, which a device may read as 0.
  constexpr float kLeast = 1e-20f, kMost = 1e20f;
  for (float s : {f.x_scale, f.y_scale}) {
    if (s < kLeast || s > kMost) return unsupported("a scale below 1e-20 or above 1e20");
  }
  const int operands[] = {0, 3};
  const uint32_t own[] = {std::bit_cast<uint32_t>(f.x_scale), std::bit_cast<uint32_t>(f.y_scale),
                          static_cast<uint32_t>(f.x_zero),    std::bit_cast<uint32_t>(f.to.lo),
                          std::bit_cast<uint32_t>(f.to.hi),   static_cast<uint32_t>(f.to.zero)};
  WICK_ASSIGN(const Dispatch d,
              walk_dispatch(ShaderId::k_qlinear_prelu, call, type_number(call.in[0].dtype),
                            {operands, 2}, {own, std::size(own)}));
  return out.dispatches.push_back(d);
}

Status lower_byte_table(const OpCall& call, Lowered& out) {
  if (call.in[1].numel() != 256) return unsupported("a table of other than 256 entries");
  const DType y = call.out[0].dtype;
  Dispatch d = flat_dispatch(ShaderId::k_byte_table, words_of(y, call.out[0].numel()));
  add_spec(d, call.in[0].dtype == DType::kI8 ? 128 : 0);
  add_spec(d, log_bits(y));
  add_push(d, call.out[0].numel());
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(QuantizeLinear,
            {.lower = lower_quantize_linear, .types = {has_type}, .cut = cut_quantize});
WICK_VULKAN(DequantizeLinear,
            {.lower = lower_dequantize_linear, .types = {has_type}, .cut = cut_dequantize});
WICK_VULKAN(DynamicQuantizeLinear, {.lower = lower_dynamic, .types = {has_type}});
WICK_VULKAN(ByteTable, {.lower = lower_byte_table, .types = {has_type}});
static constexpr uint32_t kScalesAndZeros = inputs({1, 2, 4, 5, 6, 7});
WICK_VULKAN(QLinearAdd,
            {.lower = lower_qlinear_binary, .types = {has_type}, .host_inputs = kScalesAndZeros});
WICK_VULKAN(QLinearMul,
            {.lower = lower_qlinear_binary, .types = {has_type}, .host_inputs = kScalesAndZeros});
WICK_VULKAN(QLinearPRelu, {.lower = lower_qlinear_prelu,
                           .types = {has_type},
                           .host_inputs = inputs({1, 2, 4, 5})});

}  // namespace wick::vulkan
