#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status unary_any(RuleCtx<D>& c) {
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  c.out[0].elements = c.in[0].elements;  // the Identity of a shape is that shape
  c.out[0].element_count = c.in[0].element_count;
  return {};
}
template <class D>
Status unary_number(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status unary_float(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status unary_bool(RuleCtx<D>& c) {
  WICK_TRY(need_bool(c.in[0]));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status unary_int(RuleCtx<D>& c) {
  WICK_TRY(need_int(c.in[0]));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status float_test(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  set_out(c, 0, DType::kBool, c.in[0].shape);
  return {};
}
template <class D>
Status clip(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(same_dtype(c));
  for (size_t i = 1; i < 3; ++i) {
    if (c.has(i) && c.in[i].rank() != 0 &&
        !(c.in[i].rank() == 1 && dim_equal(c.in[i].shape[0], D(1)) != Tri::kNo)) {
      return error(Code::kShapeMismatch, "bounds must be scalars, got %s",
                   to_text(c.in[i].shape).text);
    }
  }
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status cast(RuleCtx<D>& c) {
  const auto& a = c.template as<CastAttrs>();
  int64_t to = a.to;
  auto castable = [](DType t) { return is_number(t) || t == DType::kBool || is_small(t); };
  if (to <= 0 || to >= kDTypeCount || !castable(static_cast<DType>(to)) ||
      !castable(c.in[0].dtype)) {
    return error(Code::kTypeMismatch, "cannot cast %s to dtype %lld", dtype_name(c.in[0].dtype),
                 static_cast<long long>(to));
  }
  set_out(c, 0, static_cast<DType>(to), c.in[0].shape);
  return {};
}

template <class D>
Status binary_as(RuleCtx<D>& c, DType out) {
  WICK_TRY(same_dtype(c));
  BasicShape<D> shape;
  WICK_TRY(broadcast(c.in[0].shape, c.in[1].shape, &shape));
  set_out(c, 0, out, shape);
  return {};
}
template <class D>
Status binary_number(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  return binary_as(c, c.in[0].dtype);
}
template <class D>
Status binary_int(RuleCtx<D>& c) {
  WICK_TRY(need_int(c.in[0]));
  return binary_as(c, c.in[0].dtype);
}
template <class D>
Status binary_float(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  return binary_as(c, c.in[0].dtype);
}
// A slope may be repeated along x, but x not along the slope.
template <class D>
Status need_slope(const BasicShape<D>& x, const BasicShape<D>& slope) {
  const int lead = x.rank() - slope.rank();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < slope.rank(); ++i)
    fits = dim_equal(slope[i], D(1)) != Tri::kNo || dim_equal(slope[i], x[lead + i]) != Tri::kNo;
  return fits ? Status() : shapes_differ("the slope does not broadcast to x", slope, x);
}
template <class D>
Status prelu(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_slope(c.in[0].shape, c.in[1].shape));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
// The exponent may have its own dtype (ONNX); the result has the base's.
template <class D>
Status pow(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(need_number(c.in[1]));
  BasicShape<D> shape;
  WICK_TRY(broadcast(c.in[0].shape, c.in[1].shape, &shape));
  set_out(c, 0, c.in[0].dtype, shape);
  return {};
}
template <class D>
Status binary_bool(RuleCtx<D>& c) {
  WICK_TRY(need_bool(c.in[0]));
  return binary_as(c, DType::kBool);
}
template <class D>
Status compare(RuleCtx<D>& c) {
  const bool equal_only = c.in[0].dtype == DType::kBool || c.in[0].dtype == DType::kString;
  if (!is_number(c.in[0].dtype) && !(c.op == OpId::kEqual && equal_only)) {
    return error(Code::kTypeMismatch, "cannot compare %s", dtype_name(c.in[0].dtype));
  }
  return binary_as(c, DType::kBool);
}
template <class D>
Status where(RuleCtx<D>& c) {
  WICK_TRY(need_bool(c.in[0]));
  if (c.in[1].dtype != c.in[2].dtype) {
    return error(Code::kTypeMismatch, "both choices must have one dtype, got %s and %s",
                 dtype_name(c.in[1].dtype), dtype_name(c.in[2].dtype));
  }
  BasicShape<D> choice, shape;
  WICK_TRY(broadcast(c.in[1].shape, c.in[2].shape, &choice));
  WICK_TRY(broadcast(c.in[0].shape, choice, &shape));
  set_out(c, 0, c.in[1].dtype, shape);
  return {};
}

}  // namespace wick::rules
