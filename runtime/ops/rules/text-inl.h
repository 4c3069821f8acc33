#pragma once

#include "runtime/ops/rules/index-inl.h"

namespace wick::rules {

template <class D>
Status tf_idf(RuleCtx<D>& c) {
  const TfIdfAttrs& a = c.template as<TfIdfAttrs>();
  const bool strings = c.in[0].dtype == DType::kString;
  if (!strings) WICK_TRY(need_index(c.in[0]));
  WICK_TRY(need_rank(c.in[0], 0, 2, "the tokens"));
  for (size_t i = 1; i < c.in.size(); ++i) {
    if (!c.has(i)) continue;
    WICK_TRY(need_rank(c.in[i], 1, 1, "a table of n-grams"));
    const DType want = i == 4 ? DType::kF32 : i == 1 && strings ? DType::kString : DType::kI64;
    if (c.in[i].dtype != want && (i != 4 || c.in[i].dtype != DType::kF64)) {
      return error(Code::kTypeMismatch, "input %zu is %s, must be %s", i, dtype_name(c.in[i].dtype),
                   dtype_name(want));
    }
  }
  if (a.output_size < 0 || a.min_gram_length < 1 || a.min_gram_length > a.max_gram_length ||
      a.max_skip_count < 0 || a.max_skip_count > INT32_MAX) {
    return Status(Code::kInvalidArgument,
                  "the lengths of n-grams must be 1 <= min <= max, and skips and the mode known");
  }
  if (c.has(4) && dim_known(c.in[4].shape[0]) && dim_value(c.in[4].shape[0]) < a.output_size) {
    return error(Code::kShapeMismatch, "%lld outputs have %s weights",
                 static_cast<long long>(a.output_size), to_text(c.in[4].shape).text);
  }
  BasicShape<D> out;
  if (c.in[0].rank() == 2) out.push_back(c.in[0].shape[0]);
  out.push_back(D(a.output_size));
  set_out(c, 0, DType::kF32, out);
  return {};
}

}  // namespace wick::rules
