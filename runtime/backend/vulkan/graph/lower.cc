#include "runtime/backend/vulkan/graph/lower.h"

#include <algorithm>

#include "runtime/backend/vulkan/graph/dispatch_builder.h"
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
    case OpId::kQGemm: return lower_byte_gemm;
    case OpId::kQLinearConv:
    case OpId::kConvInteger: return lower_byte_conv;
    case OpId::kConv:
    case OpId::kFusedConv: return lower_conv;
    case OpId::kMaxPool:
    case OpId::kAveragePool: return lower_pool;
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
    case OpId::kPad: return lower_layout;
    case OpId::kResize: return lower_resize;
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

// Arithmetic is in float32; what moves bits takes what its shaders' indices can reach.
bool takes(LowerFunction family, DType dtype, size_t input) {
  if (family == lower_gather && input == 1) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_recurrent && input == 4) return dtype == DType::kI32;
  if (family == lower_scatter && input == 1) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_scatter || family == lower_scan) return is_element(dtype);
  if (family == lower_reduce && reduces_words(dtype)) return true;
  if (family == lower_byte_gemm && dtype == DType::kF32) return true;    // the result's
  if (family == lower_byte_matmul && dtype == DType::kF32) return true;  // a scale
  if (family == lower_byte_matmul || family == lower_byte_gemm || family == lower_byte_conv)
    return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI32;
  if (family == lower_layout || family == lower_gather || family == lower_resize)
    return dtype_size(dtype) == 4;
  if (family == lower_pointwise) return has_type(dtype);
  return dtype == DType::kF32;
}

// Whose shaders also store 16 bits; they compute in 32.
bool stores_halves(LowerFunction family) {
  return family == lower_elementwise || family == lower_matmul || family == lower_conv ||
         family == lower_pool || family == lower_norm || family == lower_reduce;
}

}  // namespace

Capabilities capabilities_of(const DeviceInfo& device) {
  Capabilities can;
  can.f16_storage = device.f16_storage;
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
  if (op == OpId::kQGemm) return input == 3 || input == 6;
  if (op == OpId::kQLinearConv) return input == 3 || input == 8;
  if (op == OpId::kConvInteger) return input == 1;
  return family != lower_layout && family != lower_reduce && family != lower_resize;
}

Status lower(const OpCall& call, Lowered& out) {
  out.alias = false;
  out.dispatches.clear();
  out.table.clear();
  const LowerFunction family = family_of(call.op);
  const bool half =
      call.out[0].dtype == DType::kF16 && stores_halves(family) && out.can.f16_storage;
  auto check = [&](const TensorView& view, size_t input, const char* empty) -> Status {
    if (view.numel() > kMaxElements) return unsupported("a tensor too large for 32-bit indices");
    if (view.numel() == 0) return unsupported(empty);
    if (half && view.dtype == DType::kF16) return {};
    return takes(family, view.dtype, input) && !half ? Status()
                                                     : unsupported("no shader for this dtype");
  };
  for (size_t i = 0; i < call.in.size(); ++i) {
    const TensorView& view = call.in[i];
    if (view.present() && reads_input(call.op, i)) WICK_TRY(check(view, i, "an empty input"));
  }
  for (const TensorView& view : call.out) WICK_TRY(check(view, 0, "an empty output"));
  return family(call, out);
}

}  // namespace wick::vulkan
