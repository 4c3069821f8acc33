#pragma once

#include "runtime/ops/rules/matmul-inl.h"

namespace wick::rules {

template <class D>
Status check_channels(RuleCtx<D>& c, size_t x, size_t first) {
  WICK_TRY(need_float(c.in[x]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_rank(c.in[x], 2, kMaxRank, "input"));
  for (size_t i = first; i < c.in.size(); ++i)
    WICK_TRY(need_vector(c, i, c.in[x].shape[1], "per-channel input"));
  return {};
}
template <class D>
Status batch_norm(RuleCtx<D>& c) {
  WICK_TRY(check_channels(c, 0, 1));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status batch_norm_train(RuleCtx<D>& c) {
  WICK_TRY(check_channels(c, 0, 1));
  BasicShape<D> channels{c.in[0].shape[1]};
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  set_out(c, 1, c.in[0].dtype, channels);
  set_out(c, 2, c.in[0].dtype, channels);
  return {};
}
template <class D>
Status batch_norm_grad(RuleCtx<D>& c) {
  WICK_TRY(check_channels(c, 1, 2));
  WICK_TRY(need_grad_shape(c.in[1].shape, c.in[0].shape));
  BasicShape<D> channels{c.in[1].shape[1]};
  set_out(c, 0, c.in[1].dtype, c.in[1].shape);
  set_out(c, 1, c.in[1].dtype, channels);
  set_out(c, 2, c.in[1].dtype, channels);
  return {};
}
template <class D>
Status softmax(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  const int rank = c.in[0].rank() > 0 ? c.in[0].rank() : 1;  // a scalar is a row of one
  WICK_ASSIGN(int axis, normalize_axis(c.template as<AxisAttrs>().axis, rank));
  (void)axis;
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
