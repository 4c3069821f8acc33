// Elementwise float64 in integer arithmetic.
#include "runtime/backend/vulkan/graph/broadcast.h"

namespace wick::vulkan {

Status lower_double(const OpCall& call, const ShaderFunctions& functions, Lowered& out) {
  if (!functions.f64) return unsupported("no shader for this op of float64");
  const bool unary = functions.binary < 0;
  const int function = unary ? WICK_DOUBLE_UNARY + functions.unary : functions.binary;
  const int operands[] = {0, unary ? 0 : 1};
  WICK_ASSIGN(const Dispatch d, walk_dispatch(ShaderId::k_double, call,
                                              static_cast<uint32_t>(function), {operands, 2}));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
