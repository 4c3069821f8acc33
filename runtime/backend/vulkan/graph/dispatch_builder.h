// Helpers for the lowerings.
#pragma once

#include <bit>

#include "runtime/backend/vulkan/graph/lower.h"
#include "runtime/backend/vulkan/graph/rows.h"
#include "runtime/backend/vulkan/shaders/constants.inc"

namespace wick::vulkan {

constexpr int64_t kMaxElements = int64_t{1} << 30;  // shaders use 32-bit indices, also for strides

inline void add_spec(Dispatch& d, uint32_t v) { d.spec[d.spec_count++] = v; }
inline void add_push(Dispatch& d, uint32_t v) { d.push[d.push_words++] = v; }
inline void add_push(Dispatch& d, int64_t v) { add_push(d, static_cast<uint32_t>(v)); }
inline void add_push(Dispatch& d, float v) { add_push(d, std::bit_cast<uint32_t>(v)); }
inline void add_operand(Dispatch& d, int index) {
  d.operand[d.operands++] = static_cast<int16_t>(index);
}
constexpr int out_operand(int i) { return ~i; }

// Every device supports 65535 groups per dimension; flat shaders loop when that is not enough.
constexpr uint32_t kMaxGroups = 65535;
inline uint32_t groups_for(int64_t n, int64_t each) {
  int64_t groups = (n + each - 1) / each;
  return groups > kMaxGroups ? kMaxGroups : static_cast<uint32_t>(groups);
}
inline Dispatch flat_dispatch(ShaderId shader, int64_t n) {
  Dispatch d;
  d.shader = shader;
  d.groups[0] = groups_for(n, WICK_FLAT_SIZE);
  return d;
}

// Selects the shader variant by the storage type of the call's floats.
#define WICK_STORED(dtype, name) \
  ((dtype) == DType::kF16 ? ShaderId::k_##name##_f16 : ShaderId::k_##name##_f32)

// Fills words with one value, or with two alternating ones for 64-bit elements.
inline Dispatch fill_dispatch(int64_t words, uint32_t value, uint32_t value_high, int output) {
  Dispatch d = flat_dispatch(ShaderId::k_fill, words);
  add_push(d, words);
  add_push(d, value);
  add_push(d, value_high);
  add_operand(d, out_operand(output));
  return d;
}

inline Status unsupported(const char* why) { return Status(Code::kUnsupported, why); }

// What ends a product: a function of epilogue.glsl, with its numbers. Without an activation it is
// Relu's, which alpha = 1 turns off.
struct Ending {
  uint32_t function = 0;
  float alpha = 0, beta = 0;
};
// kUnsupported if there is no shader for the activation.
Result<Ending> ending_of(const EpilogueAttrs& epilogue);

// Adds bindings 0..6 of a product with an epilogue; returns the WICK_HAS_ parts that are present.
uint32_t add_epilogue(const OpCall& call, Dispatch& d);

// Elementwise arithmetic, in the shader of the call's dtype. alpha and beta are those of a unary
// function.
Status lower_arithmetic(const OpCall& call, const ShaderFunctions& functions, float alpha,
                        float beta, Lowered& out);
Status lower_integer(const OpCall& call, int function, Lowered& out);
Status lower_double(const OpCall& call, const ShaderFunctions& functions, Lowered& out);

Status lower_byte_gemm(const OpCall& call, Lowered& out);
Status lower_cast(const OpCall& call, Lowered& out);
Status lower_conv3d(const OpCall& call, const ConvAttrs& conv, const EpilogueAttrs& epilogue,
                    Lowered& out);

}  // namespace wick::vulkan
