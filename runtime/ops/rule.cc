#include "runtime/ops/rule.h"

#include "runtime/ops/check_attrs.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/rules/arity-inl.h"

namespace wick {
namespace {

Status infer_listed(RuleCtx<int64_t>& ctx) {
  WICK_TRY(rules::check_arity(ctx));
  const OpInfo* info = find_op(ctx.op);
  WICK_TRY(check_attrs(*info, ctx.attrs, ctx.in.size()));
  Rule<int64_t> rule = op_table().rules[info - all_ops().data()];
  if (rule != nullptr) return rule(ctx);
  return Status(Code::kUnsupported,
                "not selected, this program has only the ops of its wick_selected_ops()");
}

}  // namespace

// A hostile file may contain any int64 as a dimension or an attribute. Rules compute sums and
// products of them with dim_add and dim_mul, which saturate, and every output shape's byte count is
// checked. (Compiled with -fwrapv: a sum that only an error text or a comparison reads may still
// wrap.)
Status infer_shapes(RuleCtx<int64_t>& ctx) {
  for (size_t i = 0; i < ctx.in.size() && !takes_containers(ctx.op); ++i) {
    if (!is_container(ctx.in[i].dtype)) continue;
    return error(Code::kTypeMismatch, "input %zu must be a tensor, got %s", i,
                 dtype_name(ctx.in[i].dtype));
  }
  WICK_TRY(ctx.custom != nullptr ? infer_custom(*ctx.custom, ctx) : infer_listed(ctx));
  for (const ValueInfo<int64_t>& v : ctx.out) {
    auto bytes = checked_bytes(v.shape, dtype_bits(v.dtype));
    if (!bytes.ok()) return bytes.status();
  }
  return {};
}

}  // namespace wick
