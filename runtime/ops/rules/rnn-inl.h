#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

inline int rnn_gates(OpId op) { return op == OpId::kLSTM ? 4 : op == OpId::kGRU ? 3 : 1; }

template <class D>
Status need_shape(const RuleCtx<D>& c, size_t i, const BasicShape<D>& want, const char* name) {
  if (!c.has(i)) return {};
  const auto& got = c.in[i].shape;
  bool fits = got.rank() == want.rank();
  for (int d = 0; fits && d < want.rank(); ++d) fits = dim_equal(got[d], want[d]) != Tri::kNo;
  return fits ? Status() : shapes_differ(name, got, want);
}

template <class D>
Status recurrent(RuleCtx<D>& c) {
  const RnnAttrs& a = c.template as<RnnAttrs>();
  WICK_TRY(need_float(c.in[0]));
  for (size_t i = 1; i < c.in.size(); ++i) {
    if (!c.has(i)) continue;
    if (i == 4 ? c.in[i].dtype != DType::kI32 : c.in[i].dtype != c.in[0].dtype) {
      return error(Code::kTypeMismatch, "input %zu is %s, must be %s", i, dtype_name(c.in[i].dtype),
                   dtype_name(i == 4 ? DType::kI32 : c.in[0].dtype));
    }
  }
  WICK_TRY(need_rank(c.in[0], 3, 3, "X"));
  WICK_TRY(need_rank(c.in[1], 3, 3, "W"));
  WICK_TRY(need_rank(c.in[2], 3, 3, "R"));
  const auto &x = c.in[0].shape, &r = c.in[2].shape;
  const int gates = rnn_gates(c.op);
  D hidden = r[2], dirs(a.direction == 2 ? 2 : 1);
  if (a.hidden_size > 0) {
    if (dim_equal(hidden, D(a.hidden_size)) == Tri::kNo) {
      return error(Code::kShapeMismatch, "hidden_size is %lld, R is %s",
                   static_cast<long long>(a.hidden_size), to_text(r).text);
    }
    hidden = D(a.hidden_size);
  }
  D seq = x[a.layout == 0 ? 0 : 1], batch = x[a.layout == 0 ? 1 : 0];
  D rows = dim_mul(hidden, D(gates));
  BasicShape<D> state =
      a.layout == 0 ? BasicShape<D>{dirs, batch, hidden} : BasicShape<D>{batch, dirs, hidden};
  WICK_TRY(need_shape(c, 1, {dirs, rows, x[2]}, "W, and the shape it should have"));
  WICK_TRY(need_shape(c, 2, {dirs, rows, hidden}, "R, and the shape it should have"));
  WICK_TRY(need_shape(c, 3, {dirs, dim_mul(rows, D(2))}, "B, and the shape it should have"));
  WICK_TRY(need_shape(c, 4, {batch}, "sequence_lens, and the shape it should have"));
  WICK_TRY(need_shape(c, 5, state, "initial_h, and the shape it should have"));
  WICK_TRY(need_shape(c, 6, state, "initial_c, and the shape it should have"));
  WICK_TRY(need_shape(c, 7, {dirs, dim_mul(hidden, D(3))}, "P, and the shape it should have"));
  set_out(c, 0, c.in[0].dtype,
          a.layout == 0 ? BasicShape<D>{seq, dirs, batch, hidden}
                        : BasicShape<D>{batch, seq, dirs, hidden});
  for (size_t i = 1; i < c.out.size(); ++i) set_out(c, i, c.in[0].dtype, state);
  return {};
}

}  // namespace wick::rules
