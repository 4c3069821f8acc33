// Comparisons, logic, Where, tests, and Casts that are exact by way of float32.
#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {
namespace {

constexpr int kDims = 6;  // as many as the push constants hold

// Returns whether float32 can represent the values of the cast.
bool casts_by_float(DType from, DType to) {
  if (element_type(from) > WICK_TYPE_BOOL || element_type(to) > WICK_TYPE_BOOL) return false;
  return !is_16_bit_float(to) || (from != DType::kI32 && from != DType::kU32);
}

Status lower_pointwise(const OpCall& call, Lowered& out) {
  const bool where = call.op == OpId::kWhere;
  const int function = vulkan_row(call.op).function.point;
  const bool unary = function >= WICK_POINT_FIRST_UNARY;
  // a, b, and the condition
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

Status lower_any_cast(const OpCall& call, Lowered& out) {
  const bool by_float = casts_by_float(call.in[0].dtype, call.out[0].dtype);
  return by_float ? lower_pointwise(call, out) : lower_cast(call, out);
}

constexpr VulkanRow point(int function,
                          Status (*lower)(const OpCall&, Lowered&) = lower_pointwise) {
  return {.lower = lower,
          .types = {has_type},
          .flags = kEmptyOutputs,
          .cut = cut_elementwise,
          .function = {.point = function}};
}

}  // namespace

WICK_VULKAN(Equal, point(WICK_POINT_EQUAL));
WICK_VULKAN(Less, point(WICK_POINT_LESS));
WICK_VULKAN(LessOrEqual, point(WICK_POINT_LESS_EQUAL));
WICK_VULKAN(Greater, point(WICK_POINT_GREATER));
WICK_VULKAN(GreaterOrEqual, point(WICK_POINT_GREATER_EQUAL));
WICK_VULKAN(And, point(WICK_POINT_AND));
WICK_VULKAN(Or, point(WICK_POINT_OR));
WICK_VULKAN(Xor, point(WICK_POINT_XOR));
WICK_VULKAN(Not, point(WICK_POINT_NOT));
WICK_VULKAN(Where, point(WICK_POINT_WHERE));
WICK_VULKAN(IsNaN, point(WICK_POINT_IS_NAN));
WICK_VULKAN(IsInf, point(WICK_POINT_IS_INF));
WICK_VULKAN(Cast, point(WICK_POINT_CAST, lower_any_cast));

}  // namespace wick::vulkan
