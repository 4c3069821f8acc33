// Comparisons, logic, Where, tests, and Cast where float32 is exact between.
#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {
namespace {

constexpr int kDims = 6;  // what the push constants hold

// float32 holds what is between the two dtypes.
bool casts_by_float(DType from, DType to) {
  if (element_type(from) > WICK_TYPE_BOOL || element_type(to) > WICK_TYPE_BOOL) return false;
  return !is_16_bit_float(to) || (from != DType::kI32 && from != DType::kU32);
}

}  // namespace

int point_function(OpId op) {
  switch (op) {
    case OpId::kEqual: return WICK_POINT_EQUAL;
    case OpId::kLess: return WICK_POINT_LESS;
    case OpId::kLessOrEqual: return WICK_POINT_LESS_EQUAL;
    case OpId::kGreater: return WICK_POINT_GREATER;
    case OpId::kGreaterOrEqual: return WICK_POINT_GREATER_EQUAL;
    case OpId::kAnd: return WICK_POINT_AND;
    case OpId::kOr: return WICK_POINT_OR;
    case OpId::kXor: return WICK_POINT_XOR;
    case OpId::kNot: return WICK_POINT_NOT;
    case OpId::kWhere: return WICK_POINT_WHERE;
    case OpId::kIsNaN: return WICK_POINT_IS_NAN;
    case OpId::kIsInf: return WICK_POINT_IS_INF;
    case OpId::kCast: return WICK_POINT_CAST;
    default: return -1;
  }
}

Status lower_pointwise(const OpCall& call, Lowered& out) {
  const bool where = call.op == OpId::kWhere;
  const int function = point_function(call.op);
  if (call.op == OpId::kCast && !casts_by_float(call.in[0].dtype, call.out[0].dtype))
    return lower_cast(call, out);
  const bool unary = function >= WICK_POINT_FIRST_UNARY;
  // a, b, and what chooses between them
  const int a = where ? 1 : 0, b = unary ? a : a + 1, c = where ? 0 : a;
  const int operands[] = {a, b, c};
  WICK_ASSIGN(Dispatch d, walk_dispatch(ShaderId::k_pointwise, call,
                                        static_cast<uint32_t>(function), {operands, 3}, {}, kDims));
  add_spec(d, type_number(call.in[static_cast<size_t>(a)].dtype));
  add_spec(d, type_number(call.out[0].dtype));
  uint32_t option = 0;
  if (call.op == OpId::kIsInf) {
    const auto& t = *static_cast<const IsInfAttrs*>(call.attrs);
    option = (t.detect_positive != 0 ? 1u : 0u) | (t.detect_negative != 0 ? 2u : 0u);
  }
  add_spec(d, option);
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
