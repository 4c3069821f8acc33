#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status tree_ensemble(RuleCtx<D>& c) {
  const TreeEnsembleAttrs& a = c.template as<TreeEnsembleAttrs>();
  const DType t = c.in[0].dtype;
  if (t != DType::kF32 && t != DType::kF64)
    return error(Code::kTypeMismatch, "the rows must be float32 or float64, got %s", dtype_name(t));
  WICK_TRY(need_rank(c.in[0], 2, 2, "the rows"));
  constexpr const char* kNames[] = {"",        "nodes",  "splits", "roots", "leaf starts",
                                    "targets", "weights"};
  for (size_t i = 1; i < c.in.size(); ++i) {
    const int rank = i == 1 ? 2 : 1;
    WICK_TRY(need_rank(c.in[i], rank, rank, kNames[i]));
    const DType want = i == 2 || i == 6 ? t : DType::kI32;
    if (c.in[i].dtype != want) {
      return error(Code::kTypeMismatch, "%s must be %s, got %s", kNames[i], dtype_name(want),
                   dtype_name(c.in[i].dtype));
    }
  }
  const auto &nodes = c.in[1].shape, &starts = c.in[4].shape;
  if (dim_equal(nodes[1], D(4)) == Tri::kNo)
    return error(Code::kShapeMismatch, "nodes must be [n,4], got %s", to_text(nodes).text);
  if (dim_equal(c.in[2].shape[0], nodes[0]) == Tri::kNo)
    return shapes_differ("each node needs a split", nodes, c.in[2].shape);
  if (dim_equal(starts[0], D(0)) == Tri::kYes)
    return Status(Code::kShapeMismatch,
                  "leaf starts must have an entry more than there are leaves");
  if (dim_equal(c.in[5].shape[0], c.in[6].shape[0]) == Tri::kNo)
    return shapes_differ("each weight needs a target", c.in[5].shape, c.in[6].shape);
  if (a.n_targets < 1 || a.n_targets > INT32_MAX)
    return error(Code::kInvalidArgument, "n_targets is %lld, must be 1 or more, and an int32",
                 static_cast<long long>(a.n_targets));
  set_out(c, 0, t, BasicShape<D>{c.in[0].shape[0], D(a.n_targets)});
  return {};
}

template <class D>
Status look_up(RuleCtx<D>& c) {
  if (c.in[0].dtype != DType::kString) WICK_TRY(need_number(c.in[0]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_rank(c.in[1], 1, 1, "the keys"));
  set_out(c, 0, DType::kI64, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
