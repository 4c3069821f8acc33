// Rules of ops whose sizes depend on values, and of nodes with regions (which have no rule of their
// own: their types are those of their regions).
#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status control(RuleCtx<D>&) {
  return Status(Code::kUnsupported, "a node with regions has no shape rule");
}

// Counts the numbers from start towards limit, limit excluded. step != 0. INT64_MAX: more than any
// tensor holds.
inline int64_t range_count(int64_t start, int64_t limit, int64_t step) {
  if (step > 0 ? start >= limit : start <= limit) return 0;
  auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
       by = static_cast<uint64_t>(step);
  uint64_t far = step > 0 ? to - from : from - to;
  uint64_t count = (far - 1) / (step > 0 ? by : uint64_t{0} - by);
  return count >= static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(count) + 1;
}

template <class D>
Status range(RuleCtx<D>& c) {
  constexpr const char* kNames[] = {"start", "limit", "step"};
  D v[3];
  for (size_t i = 0; i < 3; ++i) {
    if (c.in[i].dtype != DType::kI64)
      return error(Code::kTypeMismatch, "%s must be int64, got %s", kNames[i],
                   dtype_name(c.in[i].dtype));
    DimArgs<D, 1> one;
    WICK_TRY(read_dims(c, i, IntList<1>{}, kNames[i], &one));
    if (one.count != 1) return error(Code::kInvalidArgument, "%s must be one number", kNames[i]);
    v[i] = one.values[0];
  }
  if (dim_known(v[2]) && dim_value(v[2]) == 0)
    return Status(Code::kInvalidArgument, "step must not be 0");
  if (c.args != nullptr) c.args->range = {dim_value(v[0]), dim_value(v[2])};
  D count = dim_open(v[0]);
  if (dim_known(v[0]) && dim_known(v[1]) && dim_known(v[2])) {
    count = D(range_count(dim_value(v[0]), dim_value(v[1]), dim_value(v[2])));
  } else if (dim_known(v[2]) && dim_value(v[2]) == 1) {
    count = dim_max(v[1] - v[0], D(0));
  } else if (dim_known(v[2]) && dim_value(v[2]) > 1) {
    int64_t step = dim_value(v[2]);
    count = dim_max(dim_floor_div(v[1] - v[0] + D(step - 1), step), D(0));
  }
  set_out(c, 0, DType::kI64, BasicShape<D>{count});
  return {};
}

// The upper bound: every box of every class, or as many as the limit allows.
template <class D>
Status non_max_suppression(RuleCtx<D>& c) {
  const auto &boxes = c.in[0].shape, &scores = c.in[1].shape;
  WICK_TRY(need_rank(c.in[0], 3, 3, "boxes"));
  WICK_TRY(need_rank(c.in[1], 3, 3, "scores"));
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!c.has(i)) continue;
    DType want = i == 2 ? DType::kI64 : c.in[0].dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    if (c.in[i].dtype != want) {
      return error(Code::kTypeMismatch, "input %zu must be %s, got %s", i, dtype_name(want),
                   dtype_name(c.in[i].dtype));
    }
    if (i < 2) continue;
    if (c.in[i].rank() > 1 ||
        (c.in[i].rank() == 1 && dim_equal(c.in[i].shape[0], D(1)) == Tri::kNo))
      return error(Code::kShapeMismatch, "input %zu must be one number", i);
  }
  if (dim_equal(boxes[2], D(4)) == Tri::kNo || dim_equal(boxes[0], scores[0]) == Tri::kNo ||
      dim_equal(boxes[1], scores[2]) == Tri::kNo) {
    return shapes_differ("boxes [b,n,4] and scores [b,c,n] do not fit", boxes, scores);
  }
  D each = scores[2];
  if (c.has(2) && c.in[2].elements != nullptr && c.in[2].element_count == 1 &&
      dim_known(c.in[2].elements[0])) {
    each = dim_min(each, D(dim_max(dim_value(c.in[2].elements[0]), int64_t{0})));
  }
  if (!c.has(2)) each = D(0);
  WICK_TRY(keep_number(c, 2, 0));
  set_out(c, 0, DType::kI64, BasicShape<D>{dim_mul(dim_mul(scores[0], scores[1]), each), D(3)});
  return {};
}

}  // namespace wick::rules
