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
Status layer_norm_grad(RuleCtx<D>& c) {
  const int64_t rows = c.template as<LayerNormGradAttrs>().row_dims;
  const auto &x = c.in[1].shape, &w = c.in[2].shape;
  WICK_TRY(need_float(c.in[1]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_grad_shape(x, c.in[0].shape));
  if (rows < 1 || rows > x.rank())
    return error(Code::kInvalidArgument, "row_dims must be 1 to %d, got %lld", x.rank(),
                 static_cast<long long>(rows));
  const int lead = x.rank() - static_cast<int>(rows);
  bool fits = w.rank() == static_cast<int>(rows);
  for (int d = 0; fits && d < w.rank(); ++d) fits = dim_equal(w[d], x[lead + d]) != Tri::kNo;
  if (!fits) return shapes_differ("the weight has the shape of the normalized dims", x, w);
  set_out(c, 0, c.in[1].dtype, x);
  set_out(c, 1, c.in[1].dtype, w);
  set_out(c, 2, c.in[1].dtype, w);
  return {};
}
template <class D>
Status group_norm_grad(RuleCtx<D>& c) {
  WICK_TRY(check_channels(c, 1, 2));
  WICK_TRY(need_grad_shape(c.in[1].shape, c.in[0].shape));
  const int64_t groups = c.template as<GroupNormGradAttrs>().groups;
  const D& channels = c.in[1].shape[1];
  if (groups < 1 || (dim_known(channels) && dim_value(channels) % groups != 0))
    return error(Code::kInvalidArgument, "the channels of %s are not divisible by %lld groups",
                 to_text(c.in[1].shape).text, static_cast<long long>(groups));
  const BasicShape<D> vector{channels};
  set_out(c, 0, c.in[1].dtype, c.in[1].shape);
  set_out(c, 1, c.in[1].dtype, vector);
  set_out(c, 2, c.in[1].dtype, vector);
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
