#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status need_index(const ValueInfo<D>& v) {
  if (v.dtype == DType::kI64 || v.dtype == DType::kI32) return {};
  return error(Code::kTypeMismatch, "indices must be int32 or int64, got %s", dtype_name(v.dtype));
}

// indices[b..., q..., k] address x[b..., k dims, rest...]; `out` becomes [b..., q..., rest...].
template <class D>
Status indexed_shape(const RuleCtx<D>& c, int64_t batch, BasicShape<D>* out) {
  const auto &x = c.in[0].shape, &indices = c.in[1].shape;
  WICK_TRY(need_index(c.in[1]));
  if (x.rank() == 0 || indices.rank() == 0 || batch < 0 ||
      batch >= (x.rank() < indices.rank() ? x.rank() : indices.rank())) {
    return shapes_differ("ranks too small for the indices", x, indices);
  }
  const D& last = indices[indices.rank() - 1];
  if (!dim_known(last)) return needs_value();
  int64_t k = dim_value(last);
  if (k < 0 || k > x.rank() - batch)
    return shapes_differ("indices name more dimensions than there are", x, indices);
  for (int i = 0; i < batch; ++i) {
    if (dim_equal(x[i], indices[i]) == Tri::kNo)
      return shapes_differ("batch dimensions differ", x, indices);
  }
  if (indices.rank() - 1 + x.rank() - batch - k > kMaxRank)
    return shapes_differ("the result would exceed rank 8", x, indices);
  for (int i = 0; i + 1 < indices.rank(); ++i) out->push_back(indices[i]);
  for (int i = static_cast<int>(batch + k); i < x.rank(); ++i) out->push_back(x[i]);
  return {};
}

template <class D>
Status gather_nd(RuleCtx<D>& c) {
  BasicShape<D> out;
  WICK_TRY(indexed_shape(c, c.template as<GatherNDAttrs>().batch_dims, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status scatter_nd(RuleCtx<D>& c) {
  if (c.in[2].dtype != c.in[0].dtype) {
    return error(Code::kTypeMismatch, "updates are %s, the input %s", dtype_name(c.in[2].dtype),
                 dtype_name(c.in[0].dtype));
  }
  BasicShape<D> want;
  WICK_TRY(indexed_shape(c, 0, &want));
  bool fits = want.rank() == c.in[2].rank();
  for (int i = 0; fits && i < want.rank(); ++i)
    fits = dim_equal(want[i], c.in[2].shape[i]) != Tri::kNo;
  if (!fits)
    return shapes_differ("updates have another shape than is addressed", c.in[2].shape, want);
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

// The upper bound: every element. See data_dependent_axis (op_info.h).
template <class D>
Status nonzero(RuleCtx<D>& c) {
  const auto& x = c.in[0].shape;
  set_out(c, 0, DType::kI64, BasicShape<D>{D(x.rank()), product(x, 0, x.rank())});
  return {};
}

template <class D>
Status topk(RuleCtx<D>& c) {
  const auto& a = c.template as<TopKAttrs>();
  auto out = c.in[0].shape;
  WICK_TRY(need_number(c.in[0]));
  WICK_ASSIGN(int axis, normalize_axis(a.axis, out.rank()));
  IntList<1> attr{a.k};
  DimArgs<D, 1> k;
  WICK_TRY(read_dims(c, 1, attr, "k", &k));
  if (k.count != 1) return Status(Code::kInvalidArgument, "k must be one number");
  if (dim_known(k.values[0]) &&
      (dim_value(k.values[0]) < 0 ||
       (dim_known(out[axis]) && dim_value(k.values[0]) > dim_value(out[axis])))) {
    return error(Code::kInvalidArgument, "k = %lld is out of range for axis %d of %s",
                 static_cast<long long>(dim_value(k.values[0])), axis, to_text(out).text);
  }
  out[axis] = k.values[0];
  set_out(c, 0, c.in[0].dtype, out);
  set_out(c, 1, DType::kI64, out);
  return {};
}

template <class D>
Status unique(RuleCtx<D>& c) {
  const auto& axis_attr = c.template as<UniqueAttrs>().axis;
  const auto& x = c.in[0].shape;
  BasicShape<D> values{product(x, 0, x.rank())};
  D count = values[0];
  if (!axis_attr.empty()) {
    WICK_ASSIGN(int axis, normalize_axis(axis_attr[0], x.rank()));
    values = x;
    count = x[axis];
  }
  set_out(c, 0, c.in[0].dtype, values);
  for (size_t i = 1; i < 4; ++i) set_out(c, i, DType::kI64, BasicShape<D>{count});
  return {};
}

template <class D>
Status cumulate(RuleCtx<D>& c) {
  WICK_TRY(need_number(c.in[0]));
  const auto& x = c.in[0].shape;
  if (!c.has(1)) {
    WICK_TRY(normalize_axis(c.template as<CumulateAttrs>().axis, x.rank()).status());
  } else {
    WICK_TRY(need_index(c.in[1]));
    WICK_TRY(need_one(c.in[1], "axis"));
  }
  WICK_TRY(keep_number(c, 1, c.template as<CumulateAttrs>().axis));
  if (c.args != nullptr) {
    WICK_ASSIGN(c.args->number.value, normalize_axis(c.args->number.value, x.rank()));
  }
  set_out(c, 0, c.in[0].dtype, x);
  return {};
}

template <class D>
Status trilu(RuleCtx<D>& c) {
  WICK_TRY(need_rank(c.in[0], 2, kMaxRank, "the input"));
  if (c.has(1)) {
    if (c.in[1].dtype != DType::kI64)
      return error(Code::kTypeMismatch, "k must be int64, got %s", dtype_name(c.in[1].dtype));
    WICK_TRY(need_one(c.in[1], "k"));
  }
  WICK_TRY(keep_number(c, 1, c.template as<TriluAttrs>().k));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
