#include "runtime/backend/vulkan/graph/lower.h"

#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {
namespace {

using LowerFunction = Status (*)(const OpCall&, Lowered&);

LowerFunction family_of(OpId op) {
  switch (op) {
    case OpId::kMatMul:
    case OpId::kLinear:
    case OpId::kFusedLinear:
    case OpId::kFusedMatMul: return lower_matmul;
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
    case OpId::kPad:
    case OpId::kBitCast: return lower_layout;
    case OpId::kGather:
    case OpId::kGatherElements: return lower_gather;
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

// Arithmetic is in float32; what moves bits takes what its shaders' indices can reach.
bool takes(LowerFunction family, OpId op, DType dtype, size_t input) {
  if (family == lower_gather && input == 1) return dtype == DType::kI32 || dtype == DType::kI64;
  if (family == lower_layout || family == lower_gather) return is_movable(dtype);
  if (family == lower_elementwise && (is_float(dtype) || is_int(dtype))) return true;
  if (family == lower_reduce && dtype == DType::kF64) return true;
  if (op == OpId::kClip) return element_type(dtype) >= 0;
  if (family == lower_pointwise || family == lower_quantize) return element_type(dtype) >= 0;
  return dtype == DType::kF32;
}

// Nothing of one part of a whole, or a sum of nothing.
bool takes_empty_input(LowerFunction family, OpId op) {
  return op == OpId::kConcat || family == lower_reduce;
}
// That never look at values, whose errors must show where nothing is computed, too.
bool takes_empty_outputs(LowerFunction family) {
  return family == lower_elementwise || family == lower_pointwise || family == lower_layout ||
         family == lower_reduce || family == lower_matmul || family == lower_conv ||
         family == lower_pool || family == lower_norm;
}

}  // namespace

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
  if (op == OpId::kQLinearAdd || op == OpId::kQLinearMul) return input == 3;
  return family_of(op) != lower_layout && family_of(op) != lower_reduce;
}

Status lower(const OpCall& call, Lowered& out) {
  out.alias = false;
  out.dispatches.clear();
  const LowerFunction family = family_of(call.op);
  bool empty = true;
  for (const TensorView& view : call.out) empty = empty && view.numel() == 0;
  auto check = [&](const TensorView& view, size_t input) -> Status {
    if (view.numel() > kMaxElements) return unsupported("a tensor too large for 32-bit indices");
    return takes(family, call.op, view.dtype, input) ? Status()
                                                     : unsupported("no shader for this dtype");
  };
  for (size_t i = 0; i < call.in.size(); ++i) {
    const TensorView& view = call.in[i];
    if (!view.present() || !reads_input(call.op, i)) continue;
    WICK_TRY(check(view, i));
    if (view.numel() == 0 && !empty && !takes_empty_input(family, call.op))
      return unsupported("an empty input");
  }
  for (const TensorView& view : call.out) {
    WICK_TRY(check(view, 0));
    if (view.numel() == 0 && !empty && call.op != OpId::kSplit)
      return unsupported("an empty output");
  }
  if (empty && !takes_empty_outputs(family)) return unsupported("empty outputs");
  WICK_TRY(family(call, out));
  if (empty) out.dispatches.clear();
  return {};
}

}  // namespace wick::vulkan
