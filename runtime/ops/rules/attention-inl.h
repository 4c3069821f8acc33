#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// Checks that `name` has the dims `want`, as far as they are known.
template <class D>
Status need_shape(const ValueInfo<D>& v, const BasicShape<D>& want, const char* name) {
  bool fits = v.rank() == want.rank();
  for (int i = 0; fits && i < want.rank(); ++i) fits = dim_equal(v.shape[i], want[i]) != Tri::kNo;
  if (fits) return {};
  return error(Code::kShapeMismatch, "%s must be %s, got %s", name, to_text(want).text,
               to_text(v.shape).text);
}

// Computes the size of one head, where `heads` of them are packed in the last dim.
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

// Checks a shape whose last dim may have one of two sizes.
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

// Computes x's dims after a permutation.
template <class D>
Status permuted(const BasicShape<D>& x, const DimList& perm, const char* name, BasicShape<D>* out) {
  *out = x;
  if (perm.empty()) return {};
  bool seen[kMaxRank] = {}, sound = perm.count == x.rank();
  for (int i = 0; sound && i < x.rank(); ++i) {
    const int64_t from = perm[i];
    sound = from >= 0 && from < x.rank() && !seen[from];
    if (!sound) break;
    seen[from] = true;
    (*out)[i] = x[static_cast<int>(from)];
  }
  if (sound) return {};
  return error(Code::kInvalidArgument, "%s must be a permutation of %d dims", name, x.rank());
}

// Checks keys or values against the queries: batch dims are equal or 1, and their heads divide the
// queries'.
template <class D>
Status check_heads(const BasicShape<D>& q, const BasicShape<D>& x, const char* name) {
  for (int i = 0; i + 2 < q.rank(); ++i) {
    if (dim_equal(x[i], D(1)) == Tri::kYes || dim_equal(x[i], q[i]) != Tri::kNo) continue;
    const bool heads = i + 3 == q.rank() && dim_known(x[i]) && dim_known(q[i]);
    if (heads && dim_value(x[i]) > 0 && dim_value(q[i]) % dim_value(x[i]) == 0) continue;
    return error(Code::kShapeMismatch, "%s %s do not serve queries %s", name, to_text(x).text,
                 to_text(q).text);
  }
  return {};
}

// Checks a step and its operands, which begin at input `*next`.
template <class D>
Status check_attention_step(RuleCtx<D>& c, int64_t step, const BasicShape<D>& scores,
                            size_t* next) {
  const int operands = attention_operands(step);
  for (int i = 0; i < operands; ++i, ++*next) {
    if (!c.has(*next)) return Status(Code::kInvalidArgument, "a step lacks an operand");
    const ValueInfo<D>& x = c.in[*next];
    const bool condition = operands == 2 && i == 0;
    if (x.dtype != (condition ? DType::kBool : c.in[0].dtype)) {
      return error(Code::kTypeMismatch, "a step's operand must be %s, got %s",
                   dtype_name(condition ? DType::kBool : c.in[0].dtype), dtype_name(x.dtype));
    }
    bool fits = x.rank() <= scores.rank();
    for (int d = 0; fits && d < x.rank(); ++d) {
      const bool one = dim_equal(x.shape[d], D(1)) != Tri::kNo;
      fits = one || (attention_phase(step) >= 2 &&
                     dim_equal(x.shape[d], scores[scores.rank() - x.rank() + d]) != Tri::kNo);
    }
    if (!fits) return shapes_differ("a step's operand does not fit", x.shape, scores);
  }
  return {};
}

template <class D>
Status fused_attention(RuleCtx<D>& c) {
  const auto& a = c.template as<FusedAttentionAttrs>();
  const DType dtype = c.in[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return error(Code::kTypeMismatch, "queries must be float32 or float64, got %s",
                 dtype_name(dtype));
  }
  const int rank = c.in[0].rank();
  constexpr const char* kNames[] = {"queries", "keys", "values"};
  for (size_t i = 0; i < 3; ++i) {
    WICK_TRY(need_rank(c.in[i], rank < 2 ? 2 : rank, rank < 2 ? kMaxRank : rank, kNames[i]));
    if (c.in[i].dtype != dtype)
      return error(Code::kTypeMismatch, "queries, keys and values must have one dtype");
  }
  BasicShape<D> q, k, v;
  WICK_TRY(permuted(c.in[0].shape, a.q_perm, "q_perm", &q));
  WICK_TRY(permuted(c.in[1].shape, a.k_perm, "k_perm", &k));
  WICK_TRY(permuted(c.in[2].shape, a.v_perm, "v_perm", &v));
  if (dim_equal(q[rank - 1], k[rank - 1]) == Tri::kNo)
    return shapes_differ("sizes of queries and keys differ", q, k);
  if (dim_equal(k[rank - 2], v[rank - 2]) == Tri::kNo)
    return shapes_differ("as many keys as values are needed", k, v);
  WICK_TRY(check_heads(q, k, "keys"));
  WICK_TRY(check_heads(q, v, "values"));
  BasicShape<D> scores = q;
  scores[rank - 1] = k[rank - 2];
  size_t next = 3;
  int phase = 0;
  for (int64_t step : a.steps.span()) {
    if (attention_phase(step) < phase)
      return Status(Code::kInvalidArgument, "unknown steps, or in another order");
    phase = attention_phase(step);
    WICK_TRY(check_attention_step(c, step, scores, &next));
  }
  if (next != c.in.size()) return Status(Code::kInvalidArgument, "operands of no step");
  q[rank - 1] = v[rank - 1];
  BasicShape<D> out;
  WICK_TRY(permuted(q, a.out_perm, "out_perm", &out));
  set_out(c, 0, dtype, out);
  return {};
}

}  // namespace wick::rules
