#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// Like numpy.matmul: an operand of rank 1 is a row or a column whose dim is dropped again.
template <class D>
Status matmul_shape(RuleCtx<D>& c, BasicShape<D>* result) {
  const auto &a = c.in[0].shape, &b = c.in[1].shape;
  if (a.rank() == 0 || b.rank() == 0)
    return shapes_differ("operands must have rank 1 or more", a, b);
  D ka = a[a.rank() - 1], kb = b[b.rank() == 1 ? 0 : b.rank() - 2];
  if (dim_equal(ka, kb) == Tri::kNo) {
    return error(Code::kShapeMismatch, "inner dimensions differ: %s x %s", to_text(a).text,
                 to_text(b).text);
  }
  BasicShape<D> batch_a, batch_b;
  BasicShape<D>& out = *result;
  for (int i = 0; i + 2 < a.rank(); ++i) batch_a.push_back(a[i]);
  for (int i = 0; i + 2 < b.rank(); ++i) batch_b.push_back(b[i]);
  WICK_TRY(broadcast(batch_a, batch_b, &out));
  if (a.rank() > 1) out.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) out.push_back(b[b.rank() - 1]);
  return {};
}
template <class D>
Status matmul(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(same_dtype(c));
  BasicShape<D> out;
  WICK_TRY(matmul_shape(c, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status need_vector(const RuleCtx<D>& c, size_t i, const D& extent, const char* name) {
  if (!c.has(i)) return {};
  if (c.in[i].rank() == 1 && dim_equal(c.in[i].shape[0], extent) != Tri::kNo) return {};
  BasicShape<D> want{extent};
  return error(Code::kShapeMismatch, "%s must be %s, got %s", name, to_text(want).text,
               to_text(c.in[i].shape).text);
}

template <class D>
Status linear(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  const auto &x = c.in[0].shape, &w = c.in[1].shape;
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "input"));
  WICK_TRY(need_rank(c.in[1], 2, 2, "weight"));
  if (dim_equal(x[x.rank() - 1], w[1]) == Tri::kNo) {
    return error(Code::kShapeMismatch,
                 "last input dimension differs from in_features: input %s, weight %s; reshape the "
                 "input or change the layer",
                 to_text(x).text, to_text(w).text);
  }
  WICK_TRY(need_vector(c, 2, w[0], "bias"));
  auto out = x;
  out[x.rank() - 1] = w[0];
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

// Checks inputs 3, 4, 5 of a fused op: scale[channels], shift[channels], residual like the output.
template <class D>
Status check_epilogue(RuleCtx<D>& c, const D& channels) {
  if (c.has(3) != c.has(4)) return Status(Code::kInvalidArgument, "scale and shift come together");
  WICK_TRY(need_vector(c, 3, channels, "scale"));
  WICK_TRY(need_vector(c, 4, channels, "shift"));
  if (c.has(5)) {
    const auto &r = c.in[5].shape, &o = c.out[0].shape;
    bool same = r.rank() == o.rank();
    for (int i = 0; same && i < r.rank(); ++i) same = dim_equal(r[i], o[i]) != Tri::kNo;
    if (!same) return shapes_differ("residual must have the output's shape", r, o);
  }
  return {};
}

template <class D>
Status fused_linear(RuleCtx<D>& c) {
  WICK_TRY(linear(c));
  return check_epilogue(c, c.in[1].shape[0]);
}

template <class D>
Status fused_matmul(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "input"));
  WICK_TRY(need_rank(c.in[1], 2, 2, "weight"));
  auto out = c.in[0].shape;
  const auto& w = c.in[1].shape;
  if (dim_equal(out[out.rank() - 1], w[0]) == Tri::kNo)
    return shapes_differ("inner dimensions differ", out, w);
  WICK_TRY(need_vector(c, 2, w[1], "bias"));
  out[out.rank() - 1] = w[1];
  set_out(c, 0, c.in[0].dtype, out);
  return check_epilogue(c, w[1]);
}

}  // namespace wick::rules
