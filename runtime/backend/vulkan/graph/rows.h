// The table of the device's ops: every op that a program may have has a row next to its lowering,
// or one with the reason why there is no shader. An op of ops.def that has neither does not link.
#pragma once

#include <initializer_list>

#include "runtime/ops/op_info.h"

namespace wick::vulkan {

struct Lowered;
struct Cuts;

enum RowFlags : uint8_t {
  // Its shaders also store 16-bit floats if the device does; they compute in 32 bits.
  kStoresHalves = 1,
  // An input may be empty when no output is: a part of a concatenation, or what is summed.
  kEmptyInputs = 2,
  // It never reads values; so there are no errors that an empty call would have to report.
  kEmptyOutputs = 4,
  // Some of its outputs may be empty when others are not.
  kSomeEmptyOutputs = 8,
  // It computes nothing, so a call without results needs no check.
  kMoves = 16,
  // It copies elements unchanged, of tensors of any size.
  kCopies = 32,
};

// The numbers by which shaders know the op; -1: none.
struct ShaderFunctions {
  int unary = -1;    // WICK_FN_
  int binary = -1;   // WICK_BINARY_
  int integer = -1;  // WICK_INTEGER_
  int point = -1;    // WICK_POINT_
  int reduce = -1;   // WICK_REDUCE_
  bool f64 = false;  // float64 has the unary or binary one as well
};

constexpr bool is_f32(DType dtype) { return dtype == DType::kF32; }
constexpr bool is_index(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }
constexpr bool is_any(DType) { return true; }  // lowering checks by itself
constexpr bool is_arithmetic(DType dtype) { return is_float(dtype) || is_int(dtype); }
constexpr bool is_byte_or_sum(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI32;
}
constexpr bool is_byte_or_real(DType dtype) { return is_byte_or_sum(dtype) || is_f32(dtype); }

// The dtypes that a call's tensors may have.
struct RowTypes {
  bool (*all)(DType) = is_f32;
  bool (*indices)(DType) = is_index;       // for inputs of role i (ops.def)
  bool (*later_outputs)(DType) = nullptr;  // for outputs after the first; null: like `all`
};

struct VulkanRow {
  Status (*lower)(const OpCall&, Lowered&) = nullptr;  // null: no shader
  RowTypes types = {};
  uint32_t flags = 0;
  // Finds the dims along which a call is cut if a shader cannot access its tensors whole; null:
  // none.
  Status (*cut)(const OpCall&, Cuts&) = nullptr;
  ShaderFunctions function = {};
  // Bit i: lowering reads the values of input i on the host, and the device does not. Inputs of
  // roles a and n are never read by the device.
  uint32_t host_inputs = 0;
  const char* why_none = "";
};
constexpr uint32_t inputs(std::initializer_list<int> numbers) {
  uint32_t bits = 0;
  for (int i : numbers) bits |= 1u << i;
  return bits;
}

// Training ops and custom ops have a row that says why they have no shader.
const VulkanRow& vulkan_row(OpId op);

#define WICK_VULKAN_ROW_kInfer(Name) extern const VulkanRow kVulkan_##Name;
#define WICK_VULKAN_ROW_kControl(Name) extern const VulkanRow kVulkan_##Name;
#define WICK_VULKAN_ROW_kTrain(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_VULKAN_ROW_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_VULKAN_ROW_kInfer
#undef WICK_VULKAN_ROW_kControl
#undef WICK_VULKAN_ROW_kTrain

// Follows a lowering: WICK_VULKAN(DFT, {.lower = lower_dft});
#define WICK_VULKAN(Name, ...) constinit const VulkanRow kVulkan_##Name = __VA_ARGS__
// In no_shader.cc: WICK_NO_VULKAN(Shape, "the host knows the extents");
#define WICK_NO_VULKAN(Name, why) WICK_VULKAN(Name, {.why_none = why})

// Defined in cuts.cc.
Status cut_elementwise(const OpCall& call, Cuts& cuts);
Status cut_matmul(const OpCall& call, Cuts& cuts);
Status cut_linear(const OpCall& call, Cuts& cuts);        // by rows of x, then rows of the weight
Status cut_fused_matmul(const OpCall& call, Cuts& cuts);  // by rows of x
Status cut_conv(const OpCall& call, Cuts& cuts);
Status cut_fused_conv(const OpCall& call, Cuts& cuts);
Status cut_planes(const OpCall& call, Cuts& cuts);  // by images and channels
Status cut_quantize(const OpCall& call, Cuts& cuts);
Status cut_dequantize(const OpCall& call, Cuts& cuts);
Status cut_before_axis(const OpCall& call, Cuts& cuts);  // that of AxisAttrs
Status cut_batch_norm(const OpCall& call, Cuts& cuts);
Status cut_gather(const OpCall& call, Cuts& cuts);
Status cut_gather_elements(const OpCall& call, Cuts& cuts);
Status cut_kept_in_front(const OpCall& call, Cuts& cuts);  // dims before the first reduced one

}  // namespace wick::vulkan
