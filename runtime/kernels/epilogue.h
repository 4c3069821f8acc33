// The optional inputs of Linear, Conv and their fused forms, as an Epilogue.
#pragma once

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/tile.h"

namespace wick {

inline const float* optional_input(Span<const TensorView> in, size_t i) {
  return i < in.size() && in[i].present() ? in[i].as<float>() : nullptr;
}

// Inputs 2 to 5: bias, scale, shift, residual. `attrs` is null for the unfused ops.
inline Epilogue make_epilogue(Span<const TensorView> in, const EpilogueAttrs* attrs) {
  Epilogue e;
  e.bias = optional_input(in, 2);
  if (attrs == nullptr) return e;
  e.scale = optional_input(in, 3);
  e.shift = optional_input(in, 4);
  e.residual = optional_input(in, 5);
  e.act = static_cast<Activation>(attrs->activation);
  e.alpha = static_cast<float>(attrs->alpha);
  e.beta = static_cast<float>(attrs->beta);
  return e;
}

// Ids of packed-weight layouts: the version of the packing code, a kind, and the unit that the
// target's registers decide. Files keep forms by these ids, and a form of an id that nobody asks
// for is packed again: whoever changes what a form of any kind looks like raises the version
// (tests/kernels/packed_form_test.cc knows the bytes). Files of before had none: version 0.
constexpr uint32_t kPackedVersion = 1;
enum class PackedKind : uint32_t {
  kGemmPanels = 1,  // of Linear's weight, [outputs, inputs]
  kConvPixels = 2,
  kConvChannels = 3,
  kDepthwise = 4,
  kMatMulPanels = 5,    // of MatMul's, [inputs, outputs]: as many bytes, other ones
  kIntegerRows = 7,     // of ConvInteger's weight, pairs of int16; 6 was MatMulInteger's
  kRecurrentInput = 8,  // of a recurrent cell's W, direction after direction
  kRecurrentState = 9,  // of its R: GRU's candidate in panels of its own
  kBlockWords = 10,     // of BlockLinear's weight: 32 bits of k side by side, a row a lane
  kBlockScales = 11,    // of its scales
  kBlockZeros = 12,     // of its zero points, a byte each
  kByteRows = 13,       // of QLinearConv's weight, words of k, and their sums
  kBytePanels = 14,     // of QGemm's and DynamicLinear's, [outputs, inputs]
  kByteMatrix = 15,     // of QLinearMatMul's second input and MatMulInteger's: as many, other ones
  kByteTaps = 16,       // of QLinearConv's weight where each channel has its own
  kTransposed = 17,     // of ConvTranspose's weight, a phase after the other
  kBlockedTaps = 18     // of Conv's where each channel has its own, a vector of channels a tap
};
constexpr uint32_t packed_layout(PackedKind kind, int64_t unit) {
  return kPackedVersion << 24 | static_cast<uint32_t>(kind) << 16 | static_cast<uint32_t>(unit);
}

}  // namespace wick
