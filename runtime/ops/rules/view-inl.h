// Rules of views beyond slice and transpose, and of their inverses, which write src where the view
// reads.
#pragma once

#include "runtime/ops/rules/layout-inl.h"

namespace wick::rules {

// Computes the first and last element that sizes and strides reach from `offset`; false when they
// do not fit into 64 bits. Without elements: 0 and -1.
inline bool strided_reach(const StridedAttrs& a, int64_t* first, int64_t* last) {
  *first = *last = a.offset;
  for (int64_t i = 0; i < a.sizes.count; ++i) {
    if (a.sizes[i] != 0) continue;
    *first = 0;
    *last = -1;
    return true;
  }
  for (int64_t i = 0; i < a.sizes.count; ++i) {
    int64_t far;
    if (__builtin_mul_overflow(a.sizes[i] - 1, a.strides[i], &far)) return false;
    int64_t* end = far < 0 ? first : last;
    if (__builtin_add_overflow(*end, far, end)) return false;
  }
  return true;
}

template <class D>
Status strided_shape(RuleCtx<D>& c, BasicShape<D>* out) {
  const auto& a = c.template as<StridedAttrs>();
  const auto& x = c.in[0].shape;
  if (a.sizes.count != a.strides.count)
    return Status(Code::kInvalidArgument, "sizes and strides must have one length");
  for (int64_t i = 0; i < a.sizes.count; ++i) {
    if (a.sizes[i] < 0) return Status(Code::kInvalidArgument, "sizes must not be negative");
    out->push_back(D(a.sizes[i]));
  }
  int64_t first, last;
  bool fits = strided_reach(a, &first, &last) && first >= 0;
  int64_t held = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (!dim_known(x[i])) return {};  // checked again when sizes are known
    held = dim_mul(held, dim_value(x[i]));
  }
  if (!fits || last >= held) {
    return error(Code::kShapeMismatch, "sizes, strides and offset reach outside the %lld elements",
                 static_cast<long long>(held));
  }
  return {};
}

template <class D>
Status as_strided(RuleCtx<D>& c) {
  BasicShape<D> out;
  WICK_TRY(strided_shape(c, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

// x, src of the view's shape -> like x.
template <class D>
Status scatter_like(RuleCtx<D>& c, const BasicShape<D>& part) {
  WICK_TRY(same_dtype(c));
  const auto& src = c.in[1].shape;
  bool same = src.rank() == part.rank();
  for (int i = 0; same && i < src.rank(); ++i) same = dim_equal(src[i], part[i]) != Tri::kNo;
  if (!same) return shapes_differ("src must have the shape of the part it replaces", src, part);
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}
template <class D>
Status as_strided_scatter(RuleCtx<D>& c) {
  BasicShape<D> part;
  WICK_TRY(strided_shape(c, &part));
  return scatter_like(c, part);
}
template <class D>
Status slice_scatter(RuleCtx<D>& c) {
  ValueInfo<D> part;
  RuleCtx<D> s{c.op, c.attrs, Span<const ValueInfo<D>>(c.in.begin(), 1),
               Span<ValueInfo<D>>(&part, 1)};
  WICK_TRY(slice(s));
  return scatter_like(c, part.shape);
}

}  // namespace wick::rules
