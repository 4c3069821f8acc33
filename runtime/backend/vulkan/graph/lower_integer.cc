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
  const TensorView &a = call.in[0], &b = call.in[unary ? 0 : 1], &y = call.out[0];
  if (!is_int(a.dtype) || !is_int(b.dtype)) return unsupported("an integer and another");
  const Shape* shapes[] = {&a.shape, &b.shape};
  const BroadcastDims dims = broadcast_dims(y.shape, shapes);
  Dispatch d = flat_dispatch(ShaderId::k_integer, words_of(y.dtype, y.numel()));
  add_spec(d, static_cast<uint32_t>(function));
  add_spec(d, static_cast<uint32_t>(dims.rank));
  add_push(d, y.numel());
  add_push(d, type_number(a.dtype));
  add_push(d, type_number(b.dtype));
  for (int64_t v : dims.dims) add_push(d, v);
  for (int64_t v : dims.strides[0]) add_push(d, v);
  for (int64_t v : dims.strides[1]) add_push(d, v);
  add_operand(d, 0);
  add_operand(d, unary ? 0 : 1);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
