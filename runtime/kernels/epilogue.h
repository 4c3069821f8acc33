// Converts the optional inputs of Linear, Conv and their fused forms to an Epilogue.
#pragma once

#include "runtime/kernels/gemm/tile.h"
#include "runtime/kernels/kernel.h"

namespace wick {

inline const float* optional_input(Span<const TensorView> in, size_t i) {
  return i < in.size() && in[i].present() ? in[i].as<float>() : nullptr;
}

// Reads inputs 2 to 5: bias, scale, shift, residual. `attrs` is null for the unfused ops.
inline Epilogue make_epilogue(const KernelCtx& ctx, Span<const TensorView> in,
                              const EpilogueAttrs* attrs) {
  Epilogue e;
  e.edition = ctx.edition;
  e.bias = optional_input(in, 2);
  if (attrs == nullptr) return e;
  e.scale = optional_input(in, 3);
  e.shift = optional_input(in, 4);
  e.residual = optional_input(in, 5);
  e.act = static_cast<Activation>(attrs->activation);
  if (has_loop(e.act)) e.loop = activation_loop(e.act, e.edition);  // find_kernel() has asked, too
  e.alpha = static_cast<float>(attrs->alpha);
  e.beta = static_cast<float>(attrs->beta);
  return e;
}

// Ids of packed-weight layouts: the version of the packing code, a kind, and the unit, which
// depends on the target's registers. Files store packed forms under these ids, and a form with an
// unknown id is packed again: raise the version when you change the bytes of any kind
// (tests/kernels/packed_form_test.cc checks them). Older files had no version, which reads as 0.
constexpr uint32_t kPackedVersion = 1;
enum class PackedKind : uint32_t {
  kGemmPanels = 1,  // Linear's weight, [outputs, inputs]
  kConvPixels = 2,
  kConvChannels = 3,
  kDepthwise = 4,
  kMatMulPanels = 5,    // MatMul's weight, [inputs, outputs]: same size, other bytes
  kIntegerRows = 7,     // ConvInteger's weight, pairs of int16; 6 was MatMulInteger's
  kRecurrentInput = 8,  // a recurrent cell's W, direction after direction
  kRecurrentState = 9,  // its R, with GRU's candidate in separate panels
  kBlockWords = 10,     // BlockLinear's weight: words of 32 bits of k, one row per lane
  kBlockScales = 11,    // its scales
  kBlockZeros = 12,     // its zero points, one byte each
  kByteRows = 13,       // QLinearConv's weight, words of k, and their sums
  kBytePanels = 14,     // QGemm's and DynamicLinear's weight, [outputs, inputs]
  kByteMatrix = 15,     // input b of QLinearMatMul and MatMulInteger: same size, other bytes
  kByteTaps = 16,       // QLinearConv's weight for depthwise convolutions
  kTransposed = 17,     // ConvTranspose's weight, phase after phase
  kBlockedTaps = 18,    // Conv's depthwise weight: a vector of channels per tap
  kWinograd = 19,       // Conv's weight transformed, kMatMulPanels of [inputs, outputs] per place
  kPairRows = 20,       // of pairs.h: FusedLinear's weight; the unit's bit 15: words
  kPairColumns = 21,    // FusedMatMul's weight
  kPairTaps = 22,       // Conv's weight
  kConvFinite = 23,     // kConvChannels, and behind it a number: 1 where all weights are finite
  kBlockedTransposed = 24  // ConvTranspose's weight, position after position of its kernel
};
constexpr uint32_t packed_layout(PackedKind kind, int64_t unit) {
  return kPackedVersion << 24 | static_cast<uint32_t>(kind) << 16 | static_cast<uint32_t>(unit);
}

}  // namespace wick
