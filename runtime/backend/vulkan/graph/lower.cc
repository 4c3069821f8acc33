#include "runtime/backend/vulkan/graph/lower.h"

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

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
    case OpId::kPad: return lower_layout;
    case OpId::kGather:
    case OpId::kGatherElements: return lower_gather;
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
  if (family == lower_layout || family == lower_gather) return dtype_size(dtype) == 4;
  if (family == lower_pointwise) return has_type(dtype);
  return dtype == DType::kF32;
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
  return family_of(op) != lower_layout && family_of(op) != lower_reduce;
}

bool is_copied(OpId op) { return family_of(op) == lower_layout && op != OpId::kPad; }

Status lower(const OpCall& call, Lowered& out) {
  out.alias = false;
  out.dispatches.clear();
  const LowerFunction family = family_of(call.op);
  auto check = [&](const TensorView& view, size_t input, const char* empty) -> Status {
    if (!is_copied(call.op)) {
      if (view.numel() > kMaxElements) return unsupported("a tensor too large for 32-bit indices");
      if (view.nbytes() > out.range) return unsupported("a tensor larger than a shader sees");
    }
    if (view.numel() == 0) return unsupported(empty);
    return takes(family, view.dtype, input) ? Status() : unsupported("no shader for this dtype");
  };
  for (size_t i = 0; i < call.in.size(); ++i) {
    const TensorView& view = call.in[i];
    if (view.present() && reads_input(call.op, i)) WICK_TRY(check(view, i, "an empty input"));
  }
  for (const TensorView& view : call.out) WICK_TRY(check(view, 0, "an empty output"));
  return family(call, out);
}

}  // namespace wick::vulkan
