// Elementwise arithmetic of integers, of every width.
#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {
namespace {

int function_of(const OpCall& call) {
  switch (call.op) {
    case OpId::kAdd: return WICK_INTEGER_ADD;
    case OpId::kSub: return WICK_INTEGER_SUB;
    case OpId::kMul: return WICK_INTEGER_MUL;
    case OpId::kDiv: return WICK_INTEGER_DIV;
    case OpId::kMax: return WICK_INTEGER_MAX;
    case OpId::kMin: return WICK_INTEGER_MIN;
    case OpId::kMod:
      return static_cast<const ModAttrs*>(call.attrs)->fmod != 0 ? WICK_INTEGER_FMOD
                                                                 : WICK_INTEGER_FLOOR_MOD;
    case OpId::kBitwiseAnd: return WICK_INTEGER_AND;
    case OpId::kBitwiseOr: return WICK_INTEGER_OR;
    case OpId::kBitwiseXor: return WICK_INTEGER_XOR;
    case OpId::kBitShift:
      return static_cast<const BitShiftAttrs*>(call.attrs)->right != 0 ? WICK_INTEGER_SHIFT_RIGHT
                                                                       : WICK_INTEGER_SHIFT_LEFT;
    case OpId::kPow: return WICK_INTEGER_POW;
    case OpId::kNeg: return WICK_INTEGER_NEG;
    case OpId::kAbs: return WICK_INTEGER_ABS;
    case OpId::kSign: return WICK_INTEGER_SIGN;
    case OpId::kRelu: return WICK_INTEGER_RELU;
    case OpId::kBitwiseNot: return WICK_INTEGER_NOT;
    default: return -1;
  }
}

}  // namespace

Status lower_integer(const OpCall& call, Lowered& out) {
  const int function = function_of(call);
  if (function < 0) return unsupported("no shader for this op of integers");
  const bool unary = function >= WICK_INTEGER_FIRST_UNARY;
  const int operands[] = {0, unary ? 0 : 1};
  const DType a = call.in[0].dtype, b = call.in[unary ? 0 : 1].dtype;
  if (!is_int(a) || !is_int(b)) return unsupported("an integer and another");
  const uint32_t types[] = {type_number(a), type_number(b)};
  WICK_ASSIGN(const Dispatch d,
              walk_dispatch(ShaderId::k_integer, call, static_cast<uint32_t>(function),
                            {operands, 2}, {types, 2}));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
