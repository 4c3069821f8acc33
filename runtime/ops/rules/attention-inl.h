#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// `name` must have the dims `want`, as far as they are known.
template <class D>
Status need_shape(const ValueInfo<D>& v, const BasicShape<D>& want, const char* name) {
  bool fits = v.rank() == want.rank();
  for (int i = 0; fits && i < want.rank(); ++i) fits = dim_equal(v.shape[i], want[i]) != Tri::kNo;
  if (fits) return {};
  return error(Code::kShapeMismatch, "%s must be %s, got %s", name, to_text(want).text,
               to_text(v.shape).text);
}

// The size of one head, where `heads` of them are packed in the last dim.
template <class D>
Status head_size(const ValueInfo<D>& v, int64_t heads, const char* name, D* size) {
  WICK_TRY(need_rank(v, 3, 3, name));
  const D& packed = v.shape[2];
  if (dim_known(packed) && dim_value(packed) % heads != 0) {
    return error(Code::kShapeMismatch,
                 "the last dimension of %s, %s, does not divide by %lld heads", name,
                 to_text(v.shape).text, static_cast<long long>(heads));
  }
  *size = dim_floor_div(packed, heads);
  return {};
}

// A last dim that may be one of two sizes.
template <class D>
Status need_either(const ValueInfo<D>& v, const BasicShape<D>& like, const D& one, const D& other,
                   const char* name) {
  BasicShape<D> want{like[0], like[1], one};
  if (v.rank() == 3 && dim_equal(v.shape[2], other) == Tri::kYes) want[2] = other;
  return need_shape(v, want, name);
}

template <class D>
Status linear_attention(RuleCtx<D>& c) {
  const auto& a = c.template as<LinearAttentionAttrs>();
  if (a.update_rule < 0 || a.update_rule > static_cast<int64_t>(LinearRule::kGatedDelta))
    return Status(Code::kInvalidArgument, "unknown update rule");
  if (a.q_num_heads < 1 || a.kv_num_heads < 1 || a.q_num_heads % a.kv_num_heads != 0) {
    return error(Code::kInvalidArgument,
                 "q_num_heads must be a multiple of kv_num_heads, both positive; they are %lld and "
                 "%lld",
                 static_cast<long long>(a.q_num_heads), static_cast<long long>(a.kv_num_heads));
  }
  const auto rule = static_cast<LinearRule>(a.update_rule);
  const bool gated = rule == LinearRule::kGated || rule == LinearRule::kGatedDelta;
  const bool delta = rule == LinearRule::kDelta || rule == LinearRule::kGatedDelta;
  if (c.has(4) != gated || c.has(5) != delta) {
    return error(Code::kInvalidArgument, "this update rule %s a decay and %s a beta",
                 gated ? "needs" : "takes no", delta ? "needs" : "takes no");
  }
  WICK_TRY(need_float(c.in[0]));
  for (size_t i = 1; i < c.in.size(); ++i) {
    if (!c.in[i].present()) continue;
    WICK_TRY(need_float(c.in[i]));
    if (i == 3 || c.in[i].dtype == c.in[0].dtype) continue;
    return error(Code::kTypeMismatch, "inputs but the state must have one dtype, got %s and %s",
                 dtype_name(c.in[0].dtype), dtype_name(c.in[i].dtype));
  }
  const D q_heads(a.q_num_heads), heads(a.kv_num_heads);
  D k_size(0), v_size(0);
  WICK_TRY(head_size(c.in[0], a.q_num_heads, "query", &k_size));
  WICK_TRY(head_size(c.in[2], a.kv_num_heads, "value", &v_size));
  const auto& query = c.in[0].shape;
  BasicShape<D> keys{query[0], query[1], dim_mul(heads, k_size)};
  WICK_TRY(need_shape(c.in[1], keys, "key"));
  WICK_TRY(need_shape(c.in[2], BasicShape<D>{query[0], query[1], c.in[2].shape[2]}, "value"));
  BasicShape<D> state{query[0], heads, k_size, v_size};
  if (c.has(3)) WICK_TRY(need_shape(c.in[3], state, "the state"));
  if (gated) WICK_TRY(need_either(c.in[4], keys, keys[2], heads, "decay"));
  if (delta) WICK_TRY(need_either(c.in[5], keys, heads, D(1), "beta"));
  set_out(c, 0, c.in[0].dtype, BasicShape<D>{query[0], query[1], dim_mul(q_heads, v_size)});
  set_out(c, 1, c.has(3) ? c.in[3].dtype : c.in[0].dtype, state);
  return {};
}

}  // namespace wick::rules
