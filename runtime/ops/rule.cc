#include "runtime/ops/rule.h"

#include "runtime/ops/rules/table-inl.h"

namespace wick {

// Compiled with -fwrapv: a hostile file may hold any int64 as a dimension, so sums and products may
// wrap inside a rule. A wrapped result is caught here: no shape leaves unless its byte count is
// sound.
Status infer_shapes(RuleCtx<int64_t>& ctx) {
  WICK_TRY(rules::infer<int64_t>(ctx));
  for (const ValueInfo<int64_t>& v : ctx.out) {
    auto bytes = checked_bytes(v.shape, dtype_bits(v.dtype));
    if (!bytes.ok()) return bytes.status();
  }
  return {};
}

}  // namespace wick
