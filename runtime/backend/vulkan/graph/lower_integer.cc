// Elementwise integer arithmetic of every width.
#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {

Status lower_integer(const OpCall& call, int function, Lowered& out) {
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
