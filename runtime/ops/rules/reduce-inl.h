#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status reduce_any(RuleCtx<D>& c) {
  const auto& a = c.template as<ReduceAttrs>();
  const auto& x = c.in[0].shape;
  if (c.in[0].dtype != DType::kBool) WICK_TRY(need_number(c.in[0]));
  AxisMask axes;
  WICK_TRY(read_axes(c, 1, a.axes, x.rank(), &axes));
  const bool noop = axes.count == 0 && a.noop_with_empty_axes != 0;
  for (int i = 0; axes.count == 0 && !noop && i < x.rank(); ++i) axes.set[i] = true;
  for (int i = 0; c.args != nullptr && i < kMaxRank; ++i) c.args->reduce.set[i] = axes.set[i];
  if (noop) {
    set_out(c, 0, c.in[0].dtype, x);
    return {};
  }
  BasicShape<D> out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!axes.set[i]) {
      out.push_back(x[i]);
    } else if (a.keepdims != 0) {
      out.push_back(D(1));
    }
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}
template <class D>
Status reduce_number(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  return reduce_any(c);
}
template <class D>
Status arg_reduce(RuleCtx<D>& c) {
  const auto& a = c.template as<ArgAttrs>();
  const auto& x = c.in[0].shape;
  WICK_TRY(need_number(c.in[0]));
  WICK_ASSIGN(int axis, normalize_axis(a.axis, x.rank()));
  if (dim_equal(x[axis], D(0)) == Tri::kYes) {
    return error(Code::kShapeMismatch, "axis %d of %s is empty: there is no largest element", axis,
                 to_text(x).text);
  }
  BasicShape<D> out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      out.push_back(x[i]);
    } else if (a.keepdims != 0) {
      out.push_back(D(1));
    }
  }
  set_out(c, 0, DType::kI64, out);
  return {};
}

}  // namespace wick::rules
