#include "runtime/backend/vulkan/graph/lower.h"

#include <algorithm>

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/backend/vulkan/graph/whole_element.h"

namespace wick::vulkan {
namespace {

using LowerFunction = Status (*)(const OpCall&, Lowered&);

LowerFunction family_of(OpId op) {
  switch (op) {
    case OpId::kMatMul:
    case OpId::kLinear:
    case OpId::kFusedLinear:
    case OpId::kFusedMatMul: return lower_matmul;
    case OpId::kMatMulInteger:
    case OpId::kQLinearMatMul: return lower_byte_matmul;
    case OpId::kFusedElementwise: return lower_chain;
    case OpId::kFusedAttention: return lower_attention;
    case OpId::kBlockLinear: return lower_block_linear;
    case OpId::kDynamicLinear: return lower_dynamic_linear;
    case OpId::kQGemm: return lower_byte_gemm;
    case OpId::kQLinearConv:
    case OpId::kConvInteger: return lower_byte_conv;
    case OpId::kConv:
    case OpId::kFusedConv: return lower_conv;
    case OpId::kMaxPool:
    case OpId::kAveragePool:
    case OpId::kMaxPoolIndices:
    case OpId::kLpPool: return lower_pool;
    case OpId::kSoftmax:
    case OpId::kLogSoftmax:
    case OpId::kBatchNorm: return lower_norm;
    case OpId::kIdentity:
    case OpId::kReshape:
    case OpId::kFlatten:
    case OpId::kSqueeze:
    case OpId::kUnsqueeze:
    case OpId::kTranspose:
    case OpId::kExpand:
    case OpId::kConcat:
    case OpId::kSplit:
    case OpId::kSlice:
    case OpId::kPad:
    case OpId::kBitCast: return lower_layout;
    case OpId::kResize: return lower_resize;
    case OpId::kGridSample:
    case OpId::kAffineGrid: return lower_sample;
    case OpId::kRoiAlign:
    case OpId::kMaxRoiPool: return lower_roi;
    case OpId::kConvTranspose:
    case OpId::kCol2Im:
    case OpId::kDeformConv: return lower_window;
    case OpId::kGather:
    case OpId::kGatherElements: return lower_gather;
    case OpId::kGatherND:
    case OpId::kScatterElements:
    case OpId::kScatterND: return lower_scatter;
    case OpId::kArgMax:
    case OpId::kArgMin:
    case OpId::kTopK:
    case OpId::kCumSum:
    case OpId::kCumProd:
    case OpId::kTrilu: return lower_scan;
    case OpId::kRNN:
    case OpId::kGRU:
    case OpId::kLSTM: return lower_recurrent;
    case OpId::kLinearAttention: return lower_linear_attention;
    case OpId::kDFT: return lower_dft;
    case OpId::kDet: return lower_det;
    case OpId::kQuantizeLinear:
    case OpId::kDequantizeLinear:
    case OpId::kDynamicQuantizeLinear:
    case OpId::kByteTable:
    case OpId::kQLinearAdd:
    case OpId::kQLinearMul: return lower_quantize;
    case OpId::kEqual:
    case OpId::kLess:
    case OpId::kLessOrEqual:
    case OpId::kGreater:
    case OpId::kGreaterOrEqual:
    case OpId::kAnd:
    case OpId::kOr:
    case OpId::kXor:
    case OpId::kNot:
    case OpId::kWhere:
    case OpId::kIsNaN:
    case OpId::kIsInf:
    case OpId::kCast: return lower_pointwise;
    case OpId::kReduceSum:
    case OpId::kReduceMean:
    case OpId::kReduceMax:
    case OpId::kReduceMin:
    case OpId::kReduceProd: return lower_reduce;
    default: return lower_elementwise;
  }
}

// Outputs behind the first, as `takes` counts them.
constexpr size_t kLaterOutput = 256;

// Arithmetic is in float32; what moves bits takes what its shaders' indices can reach.
bool takes(LowerFunction family, OpId op, DType dtype, size_t input) {
  if (family == lower_roi && input == 2) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_pool && input >= kLaterOutput) return dtype == DType::kI64;
  if (family == lower_gather && input == 1) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_recurrent && input == 4) return dtype == DType::kI32;
  if (family == lower_scatter && input == 1) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_scatter || family == lower_scan) return is_element(dtype);
  if (family == lower_block_linear || family == lower_dynamic_linear || family == lower_attention)
    return true;  // they look themselves: dtypes differ by the input
  if (family == lower_reduce && reduces_words(dtype)) return true;
  if (family == lower_byte_gemm && dtype == DType::kF32) return true;    // the result's
  if (family == lower_byte_matmul && dtype == DType::kF32) return true;  // a scale
  if (family == lower_byte_matmul || family == lower_byte_gemm || family == lower_byte_conv)
    return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI32;
  if (family == lower_layout || family == lower_gather) return is_movable(dtype);
  if (family == lower_resize) return dtype_size(dtype) == 4;
  if (family == lower_elementwise && (is_float(dtype) || is_int(dtype))) return true;
  if (op == OpId::kClip) return element_type(dtype) >= 0;
  if (family == lower_pointwise || family == lower_quantize) return element_type(dtype) >= 0;
  return dtype == DType::kF32;
}

// Whose shaders also store 16 bits where the device does; they compute in 32.
bool stores_halves(LowerFunction family) {
  return family == lower_matmul || family == lower_conv || family == lower_pool ||
         family == lower_norm || family == lower_reduce;
}

// Nothing of one part of a whole, or a sum of nothing.
bool takes_empty_input(LowerFunction family, OpId op) {
  return op == OpId::kConcat || op == OpId::kMatMul || family == lower_reduce;
}
// That never look at values, whose errors must show where nothing is computed, too.
bool takes_empty_outputs(LowerFunction family) {
  return family == lower_elementwise || family == lower_pointwise || family == lower_layout ||
         family == lower_reduce || family == lower_matmul || family == lower_conv ||
         family == lower_pool || family == lower_norm;
}

// A call without results is the device's where the same call of some elements would be: not every
// op that ends up in a family has a shader.
Status ask_as_if_full(LowerFunction family, const OpCall& call, Lowered& out) {
  constexpr size_t kMost = 8;
  TensorView views[2 * kMost];
  if (call.in.size() > kMost || call.out.size() > kMost) return unsupported("empty outputs");
  auto full = [](TensorView v) {
    for (int i = 0; i < v.rank(); ++i) v.shape[i] = v.shape[i] == 0 ? 1 : v.shape[i];
    return v;
  };
  // What is read now, an empty list of axes among it, has no element to be made up.
  for (size_t i = 0; i < call.in.size(); ++i)
    views[i] = reads_input(call.op, i) ? full(call.in[i]) : call.in[i];
  for (size_t i = 0; i < call.out.size(); ++i) views[kMost + i] = full(call.out[i]);
  OpCall asked = call;
  asked.in = {views, call.in.size()};
  asked.out = {views + kMost, call.out.size()};
  const Status s = family(asked, out);
  out.alias = false;
  out.dispatches.clear();
  out.table.clear();
  return s;
}

}  // namespace

Capabilities capabilities_of(const DeviceInfo& device) {
  Capabilities can;
  can.f16_storage = device.f16_storage;
  can.f16_ieee = device.f16_ieee;
  can.bindings = std::min(device.limits.maxPerStageDescriptorStorageBuffers, kMaxBindings);
  can.integer_dot = device.integer_dot;
  can.matrix_units = device.matrix_units;
  can.subgroup = device.subgroup_arithmetic ? device.subgroup_size : 0;
  return can;
}

Result<uint32_t> activation_function(int64_t activation) {
  switch (static_cast<Activation>(activation)) {
    case Activation::kNone: return uint32_t{WICK_FN_NONE};
    case Activation::kRelu: return uint32_t{WICK_FN_RELU};
    case Activation::kClip: return uint32_t{WICK_FN_CLIP};
    case Activation::kLeakyRelu: return uint32_t{WICK_FN_LEAKY_RELU};
    case Activation::kSigmoid: return uint32_t{WICK_FN_SIGMOID};
    case Activation::kTanh: return uint32_t{WICK_FN_TANH};
    case Activation::kSilu: return uint32_t{WICK_FN_SILU};
    case Activation::kHardSwish: return uint32_t{WICK_FN_HARD_SWISH};
    case Activation::kGeluTanh: return uint32_t{WICK_FN_GELU_TANH};
    case Activation::kGeluErf: return uint32_t{WICK_FN_GELU_ERF};
    default: return unsupported("no shader for this activation");
  }
}

bool reads_input(OpId op, size_t input) {
  if (input == 0 || op == OpId::kConcat) return true;
  const LowerFunction family = family_of(op);
  if (family == lower_scan || family == lower_dft) return false;
  if (op == OpId::kQLinearAdd || op == OpId::kQLinearMul) return input == 3;
  if (op == OpId::kAffineGrid || op == OpId::kCol2Im) return false;
  if (op == OpId::kQGemm) return input <= 3 || input == 6;
  if (op == OpId::kQLinearConv) return input == 3 || input == 8;
  if (op == OpId::kConvInteger) return input < 3;
  return family != lower_layout && family != lower_reduce && family != lower_resize;
}

bool is_copied(OpId op) { return family_of(op) == lower_layout && op != OpId::kPad; }

Status resolve(OpCall& call, ShapeArgs& args) {
  if (call.args != nullptr || !has_shape_args(call.op)) return {};
  call.args = &args;
  const Status s = resolve_shape_args(call.op, call.attrs, call.in, &args);
  return s.code() == Code::kNeedsValue ? unsupported("numbers that only a run knows") : s;
}

Status lower(const OpCall& asked, Lowered& out) {
  ShapeArgs args;
  OpCall call = asked;
  WICK_TRY(resolve(call, args));
  out.alias = false;
  out.dispatches.clear();
  out.table.clear();
  const LowerFunction family = family_of(call.op);
  const bool half =
      call.out[0].dtype == DType::kF16 && stores_halves(family) && out.can.f16_storage;
  bool empty = true;
  for (const TensorView& view : call.out) empty = empty && view.numel() == 0;
  auto check = [&](const TensorView& view, size_t input) -> Status {
    if (!is_copied(call.op) && !empty) {
      if (view.numel() > kMaxElements) return unsupported("a tensor too large for 32-bit indices");
      if (view.nbytes() > out.range) return unsupported("a tensor larger than a shader sees");
    }
    if (half && view.dtype == DType::kF16) return {};
    return takes(family, call.op, view.dtype, input) && !half
               ? Status()
               : unsupported("no shader for this dtype");
  };
  for (size_t i = 0; i < call.in.size(); ++i) {
    const TensorView& view = call.in[i];
    if (!view.present() || !reads_input(call.op, i)) continue;
    WICK_TRY(check(view, i));
    if (view.numel() == 0 && !empty && !takes_empty_input(family, call.op))
      return unsupported("an empty input");
  }
  for (size_t i = 0; i < call.out.size(); ++i) {
    WICK_TRY(check(call.out[i], i == 0 ? 0 : kLaterOutput + i));
    if (call.out[i].numel() == 0 && !empty && call.op != OpId::kSplit)
      return unsupported("an empty output");
  }
  if (empty && !takes_empty_outputs(family)) return unsupported("empty outputs");
  if (empty) return family == lower_layout ? Status() : ask_as_if_full(family, call, out);
  WICK_TRY(family(call, out));
  const bool fits = out.table.size() * sizeof(uint32_t) <= out.range;
  return fits ? Status() : unsupported("a table larger than a shader sees");
}

}  // namespace wick::vulkan
