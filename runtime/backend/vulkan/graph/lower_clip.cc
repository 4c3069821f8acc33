// Clip for every number type, with bounds from attributes or tensors.
#include <limits>

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/core/half.h"

namespace wick::vulkan {
namespace {

template <class T>
uint64_t whole_bound(double v) {
  using Limits = std::numeric_limits<T>;
  const T whole = v <= static_cast<double>(Limits::lowest()) ? Limits::lowest()
                  : v >= static_cast<double>(Limits::max())  ? Limits::max()
                                                             : static_cast<T>(v);
  return static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(whole));
}

// Returns an attribute as an element of the dtype.
uint64_t bound(DType dtype, double v) {
  switch (dtype) {
    case DType::kF32: return std::bit_cast<uint32_t>(static_cast<float>(v));
    case DType::kF64: return std::bit_cast<uint64_t>(v);
    case DType::kF16: return Half(static_cast<float>(v)).bits;
    case DType::kBF16: return BFloat16(static_cast<float>(v)).bits;
    case DType::kI8: return whole_bound<int8_t>(v);
    case DType::kU8: return whole_bound<uint8_t>(v);
    case DType::kI16: return whole_bound<int16_t>(v);
    case DType::kU16: return whole_bound<uint16_t>(v);
    case DType::kI32: return whole_bound<int32_t>(v);
    case DType::kU32: return whole_bound<uint32_t>(v);
    case DType::kI64: return whole_bound<int64_t>(v);
    default: return whole_bound<uint64_t>(v);
  }
}

Status lower_number_clip(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ClipAttrs*>(call.attrs);
  const DType dtype = call.in[0].dtype;
  const bool tensor[] = {call.in.size() > 1 && call.in[1].present(),
                         call.in.size() > 2 && call.in[2].present()};
  // The bounds are compared in float32, which has more precision than 16 bits.
  if (is_16_bit_float(dtype) && !(tensor[0] && tensor[1])) {
    const auto exact = [&](double v) {
      const auto f = static_cast<float>(v);
      return static_cast<float>(dtype == DType::kF16 ? static_cast<float>(Half(f))
                                                     : static_cast<float>(BFloat16(f))) == f;
    };
    if ((!tensor[0] && !exact(a.min)) || (!tensor[1] && !exact(a.max)))
      return unsupported("bounds that 16 bits do not hold");
  }
  for (size_t i = 1; i < call.in.size(); ++i) {
    if (call.in[i].present() && call.in[i].numel() != 1) return unsupported("bounds of no number");
  }
  Dispatch d = flat_dispatch(ShaderId::k_clip, words_of(dtype, call.out[0].numel()));
  add_spec(d, type_number(dtype));
  add_spec(d, tensor[0] ? 1 : 0);
  add_spec(d, tensor[1] ? 1 : 0);
  add_push(d, call.out[0].numel());
  for (double v : {a.min, a.max}) {
    const uint64_t bits = bound(dtype, v);
    add_push(d, static_cast<uint32_t>(bits));
    add_push(d, static_cast<uint32_t>(bits >> 32));
  }
  add_operand(d, 0);
  add_operand(d, tensor[0] ? 1 : 0);
  add_operand(d, tensor[1] ? 2 : 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

// Clip of floats with bounds from attributes is a unary function.
Status lower_clip(const OpCall& call, Lowered& out) {
  bool other = !is_float(call.in[0].dtype) || call.in[0].dtype == DType::kF64;
  for (size_t i = 1; i < call.in.size(); ++i) other = other || call.in[i].present();
  if (other) return lower_number_clip(call, out);
  const auto& a = *static_cast<const ClipAttrs*>(call.attrs);
  return lower_arithmetic(call, {.unary = WICK_FN_CLIP}, static_cast<float>(a.min),
                          static_cast<float>(a.max), out);
}

}  // namespace

WICK_VULKAN(Clip, {.lower = lower_clip,
                   .types = {has_type},
                   .flags = kEmptyOutputs,
                   .cut = cut_elementwise});

}  // namespace wick::vulkan
