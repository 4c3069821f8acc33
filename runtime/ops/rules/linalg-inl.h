#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// The rule of every linalg op: matrices are the last two dims, the other dims are a batch.
template <class D>
Status linalg(RuleCtx<D>& c) {
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  // Eig's vectors have one dim more.
  WICK_TRY(need_rank(c.in[0], 2, c.op == OpId::kEig ? kMaxRank - 1 : kMaxRank, "input"));
  const auto& a = c.in[0].shape;
  const int batch = a.rank() - 2;
  const D m = a[batch], n = a[batch + 1], k = dim_min(m, n);
  const bool factors = c.op == OpId::kQr || c.op == OpId::kSvd || c.op == OpId::kLuFactor;
  if (!factors && dim_equal(m, n) == Tri::kNo) {
    return error(Code::kShapeMismatch, "needs square matrices, got %s", to_text(a).text);
  }
  // Sets output i: the batch dims, then up to two dims of its own.
  auto out = [&](size_t i, int rank, const D& rows, const D& cols, DType dtype = DType::kNone) {
    BasicShape<D> s;
    for (int d = 0; d < batch; ++d) s.push_back(a[d]);
    if (rank > 0) s.push_back(rows);
    if (rank > 1) s.push_back(cols);
    if (rank > 2) s.push_back(D(2));  // complex numbers
    set_out(c, i, dtype == DType::kNone ? c.in[0].dtype : dtype, s);
  };
  switch (c.op) {
    case OpId::kSolve:
    case OpId::kTriangularSolve: {
      const auto& b = c.in[1].shape;
      bool fits = b.rank() == a.rank();
      for (int d = 0; fits && d <= batch; ++d) fits = dim_equal(a[d], b[d]) != Tri::kNo;
      if (!fits) return shapes_differ("the two sides do not fit", a, b);
      out(0, 2, n, b[batch + 1]);
      return {};
    }
    case OpId::kDet: out(0, 0, n, n); return {};
    case OpId::kSlogDet:
      out(0, 0, n, n);
      out(1, 0, n, n);
      return {};
    case OpId::kEigh:
      out(0, 1, n, n);
      out(1, 2, n, n);
      return {};
    case OpId::kQr: {
      const D inner = c.template as<FactorAttrs>().full != 0 ? m : k;
      out(0, 2, m, inner);
      out(1, 2, inner, n);
      return {};
    }
    case OpId::kSvd: {
      const bool full = c.template as<FactorAttrs>().full != 0;
      out(0, 2, m, full ? m : k);
      out(1, 1, k, k);
      out(2, 2, full ? n : k, n);
      return {};
    }
    case OpId::kLuFactor:
      out(0, 2, m, n);
      out(1, 1, k, k, DType::kI32);
      out(2, 1, m, m, DType::kI64);
      return {};
    case OpId::kEig:
      out(0, 2, n, D(2));
      out(1, 3, n, n);
      return {};
    default: out(0, 2, n, n); return {};  // Cholesky, Inverse
  }
}

}  // namespace wick::rules
