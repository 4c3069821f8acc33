// Elementwise float64, by integers.
#include "runtime/backend/vulkan/graph/broadcast.h"

namespace wick::vulkan {
namespace {

int function_of(const OpCall& call) {
  switch (call.op) {
    case OpId::kAdd: return WICK_BINARY_ADD;
    case OpId::kSub: return WICK_BINARY_SUB;
    case OpId::kMul: return WICK_BINARY_MUL;
    case OpId::kDiv: return WICK_BINARY_DIV;
    case OpId::kMax: return WICK_BINARY_MAX;
    case OpId::kMin: return WICK_BINARY_MIN;
    case OpId::kMod:
      return static_cast<const ModAttrs*>(call.attrs)->fmod != 0 ? WICK_BINARY_FMOD
                                                                 : WICK_BINARY_FLOOR_MOD;
    case OpId::kRelu: return WICK_DOUBLE_UNARY + WICK_FN_RELU;
    case OpId::kNeg: return WICK_DOUBLE_UNARY + WICK_FN_NEG;
    case OpId::kAbs: return WICK_DOUBLE_UNARY + WICK_FN_ABS;
    case OpId::kSign: return WICK_DOUBLE_UNARY + WICK_FN_SIGN;
    case OpId::kFloor: return WICK_DOUBLE_UNARY + WICK_FN_FLOOR;
    case OpId::kCeil: return WICK_DOUBLE_UNARY + WICK_FN_CEIL;
    case OpId::kRound: return WICK_DOUBLE_UNARY + WICK_FN_ROUND;
    case OpId::kSqrt: return WICK_DOUBLE_UNARY + WICK_FN_SQRT;
    case OpId::kReciprocal: return WICK_DOUBLE_UNARY + WICK_FN_RECIPROCAL;
    case OpId::kExp: return WICK_DOUBLE_UNARY + WICK_FN_EXP;
    case OpId::kLog: return WICK_DOUBLE_UNARY + WICK_FN_LOG;
    default: return -1;
  }
}

}  // namespace

Status lower_double(const OpCall& call, Lowered& out) {
  const int function = function_of(call);
  if (function < 0) return unsupported("no shader for this op of float64");
  const bool unary = function >= WICK_DOUBLE_UNARY;
  const int operands[] = {0, unary ? 0 : 1};
  WICK_ASSIGN(const Dispatch d, walk_dispatch(ShaderId::k_double, call,
                                              static_cast<uint32_t>(function), {operands, 2}));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
