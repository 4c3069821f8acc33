#pragma once

#include "runtime/ops/rules/elementwise-inl.h"

namespace wick::rules {

template <class D>
Status need_string(const ValueInfo<D>& v, const char* name) {
  if (v.dtype == DType::kString) return {};
  return error(Code::kTypeMismatch, "%s must hold strings, got %s", name, dtype_name(v.dtype));
}

// Checks that the input is one string, such as a delimiter or a pattern.
template <class D>
Status need_one_string(const ValueInfo<D>& v, const char* name) {
  WICK_TRY(need_string(v, name));
  if (v.rank() == 0 || (v.rank() == 1 && dim_equal(v.shape[0], D(1)) != Tri::kNo)) return {};
  return error(Code::kShapeMismatch, "%s must be one string, got %s", name, to_text(v.shape).text);
}

template <class D>
Status string_concat(RuleCtx<D>& c) {
  WICK_TRY(need_string(c.in[0], "the first input"));
  return binary_as(c, DType::kString);
}

// The number of pieces depends on the strings.
template <class D>
Status string_split(RuleCtx<D>& c) {
  WICK_TRY(need_string(c.in[0], "the input"));
  if (c.has(1)) WICK_TRY(need_one_string(c.in[1], "the delimiter"));
  auto out = c.in[0].shape;
  if (out.rank() == kMaxRank)
    return error(Code::kShapeMismatch, "the result would have a rank over %d", kMaxRank);
  set_out(c, 1, DType::kI64, out);
  out.push_back(D(0));
  set_out(c, 0, DType::kString, out);
  return {};
}

// The upper bound is every word; where none is left the result is one empty string.
template <class D>
Status string_normalizer(RuleCtx<D>& c) {
  WICK_TRY(need_string(c.in[0], "the input"));
  WICK_TRY(need_rank(c.in[0], 1, 2, "the input"));
  if (c.in[0].rank() == 2 && dim_equal(c.in[0].shape[0], D(1)) == Tri::kNo) {
    return error(Code::kShapeMismatch, "the input must be [C] or [1,C], got %s",
                 to_text(c.in[0].shape).text);
  }
  if (c.has(1)) {
    WICK_TRY(need_string(c.in[1], "the stop words"));
    WICK_TRY(need_rank(c.in[1], 1, 1, "the stop words"));
  }
  auto out = c.in[0].shape;
  D& words = out[out.rank() - 1];
  words = dim_max(words, D(1));
  set_out(c, 0, DType::kString, out);
  return {};
}

template <class D>
Status cast_string(RuleCtx<D>& c) {
  const auto& a = c.template as<CastAttrs>();
  const DType from = c.in[0].dtype;
  const DType to = a.to > 0 && a.to < kDTypeCount ? static_cast<DType>(a.to) : DType::kNone;
  auto number = [](DType t) { return is_number(t) || t == DType::kBool || is_small(t); };
  const bool fits = (from == DType::kString && (number(to) || to == DType::kString)) ||
                    (to == DType::kString && number(from));
  if (!fits) {
    return error(Code::kTypeMismatch, "cannot cast %s to dtype %lld", dtype_name(from),
                 static_cast<long long>(a.to));
  }
  set_out(c, 0, to, c.in[0].shape);
  return {};
}

template <class D>
Status regex_full_match(RuleCtx<D>& c) {
  WICK_TRY(need_string(c.in[0], "the input"));
  WICK_TRY(need_one_string(c.in[1], "the pattern"));
  set_out(c, 0, DType::kBool, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
