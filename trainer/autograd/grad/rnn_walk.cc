// y has the state before every step, so the gate sums of all steps are known beforehand: they are
// products over all steps, and so are the gradients of the weights and of x. The walk itself needs
// only one product per step, of the gates' gradient with R, and a few passes over [batch, hidden].
// Every factor that does not depend on the incoming gradient is computed beforehand.
#include "trainer/autograd/grad/rnn_walk.h"

#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

bool is(const RnnFunctionAttrs& f, RnnFunction kind, RnnFunction fallback) {
  return (f.kind == 0 ? fallback : static_cast<RnnFunction>(f.kind)) == kind;
}

bool relu_cell(const RnnFunctionAttrs& f) { return is(f, RnnFunction::kRelu, RnnFunction::kTanh); }

bool of_a_layer(const GradCtx& c) {
  const auto& a = c.attrs<RnnAttrs>();
  const Shape x = c.in_shape(0), r = c.in_shape(2);
  const DType dtype = c.in_dtype(0);
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  if (x[0] == 0 || x[1] == 0 || r[2] == 0 || a.clip > 0 || (c.inputs() > 7 && c.has(7)))
    return false;
  if (c.op() == OpId::kGRU && a.linear_before_reset == 0) return false;
  if (c.op() == OpId::kLSTM && a.input_forget != 0) return false;
  for (int64_t d = 0; d < r[0]; ++d) {
    const RnnFunctionAttrs &f = d == 1 ? a.back_f : a.f, &g = d == 1 ? a.back_g : a.g,
                           &h = d == 1 ? a.back_h : a.h;
    if (c.op() == OpId::kRNN) {
      if (!is(f, RnnFunction::kTanh, RnnFunction::kTanh) && !relu_cell(f)) return false;
      continue;
    }
    if (!is(f, RnnFunction::kSigmoid, RnnFunction::kSigmoid) ||
        !is(g, RnnFunction::kTanh, RnnFunction::kTanh)) {
      return false;
    }
    if (c.op() == OpId::kLSTM && !is(h, RnnFunction::kTanh, RnnFunction::kTanh)) return false;
  }
  return true;
}

// The gradients of one direction: of x [seq, batch, input], W, R, both biases concatenated, and the
// initial states.
struct Gradients {
  Tensor x, w, r, b, h, c;
};

struct Direction {
  OpId op;
  bool backward, relu;
  int64_t seq, batch, n;  // n: hidden
  Tensor x;               // [seq, batch, input]
  Tensor y;               // [seq, batch, hidden]
  Tensor w, r, b;         // b undefined where absent
  Tensor h0, c0;          // [batch, hidden], zeros where absent
  Tensor valid;           // [seq, batch, 1]: whether a sequence has the step; undefined: all
  Tensor gy, gh, gc;      // undefined: zeros
  Tensor before;          // [seq batch, hidden]: the states before the steps

  int64_t step_at(int64_t k) const { return backward ? seq - 1 - k : k; }

  // Returns, for each step of `steps` [seq, batch, n], the entry of the step before; `first` for
  // the first step.
  Tensor shifted(const Tensor& steps, const Tensor& first) const {
    Tensor one = first.unsqueeze(0);
    if (seq == 1) return one;
    return backward ? cat({steps.slice(0, 1, seq), one}) : cat({one, steps.slice(0, 0, seq - 1)});
  }
  Tensor rows(const Tensor& t) const { return t.reshape({seq * batch, t.raw_shape()[2]}); }
  Tensor steps(const Tensor& t) const { return t.reshape({seq, batch, t.raw_shape()[1]}); }

  Tensor part(const Tensor& in, const Tensor& weight, int64_t gate, int64_t bias) const {
    const int64_t from = gate * n, to = from + n;
    return linear(in, weight.slice(0, from, to),
                  b.defined() ? b.slice(0, bias + from, bias + to) : b);
  }
  Tensor x_part(int64_t gate) const { return part(rows(x), w, gate, 0); }
  Tensor h_part(int64_t gate) const { return part(before, r, gate, w.raw_shape()[0]); }

  // 0 where a sequence has ended.
  Tensor cut(const Tensor& t) const { return valid.defined() ? where(valid, t, 0) : t; }
  Tensor or_one(const Tensor& t) const { return valid.defined() ? where(valid, t, 1) : t; }

  // Gradients of what every step adds up: for x W' + Wb and for h R' + Rb.
  Gradients finish(const Tensor& dx, const Tensor& dh, bool want_x) const {
    Gradients g;
    if (want_x) g.x = steps(matmul(dx, w));
    g.w = matmul(dx.t(), rows(x));
    g.r = matmul(dh.t(), before);
    if (b.defined()) {
      const Tensor of_x = sum(dx, {0});
      g.b = cat({of_x, &dx == &dh ? of_x : sum(dh, {0})});
    }
    return g;
  }

  Tensor start(const Tensor& g) const {
    return g.defined() ? (valid.defined() ? where(valid.select(0, 0), g, 0) : g)
                       : zeros({batch, n}, x.dtype());
  }
  Tensor arrived(const Tensor& gys, int64_t t, const Tensor& later) const {
    return gys.defined() ? gys.select(0, t) + later : later;
  }
  // A sequence that has ended hands on what came.
  Tensor handed(int64_t t, const Tensor& now, const Tensor& came) const {
    return valid.defined() ? where(valid.select(0, t), now, came) : now;
  }

  Gradients plain(bool want_x) const {
    Tensor factor = relu ? gt(y, 0).to(y.dtype())
                         : formula::in_one_pass([](const auto& v) { return 1 - v * v; }, y);
    factor = cut(factor);
    const Tensor gys = gy.defined() ? cut(gy) : gy;
    std::vector<Tensor> sums(static_cast<size_t>(seq));
    Tensor dh = start(gh);
    for (int64_t k = seq - 1; k >= 0; --k) {
      const int64_t t = step_at(k);
      const Tensor came = arrived(gys, t, dh);
      Tensor& one = sums[static_cast<size_t>(t)];
      one = came * factor.select(0, t);
      dh = handed(t, matmul(one, r), came);
    }
    const Tensor all = cat(sums);
    Gradients g = finish(all, all, want_x);
    g.h = dh;
    return g;
  }

  // gates z r h
  Gradients gru(bool want_x) const {
    using formula::in_one_pass;
    const auto gate = [](const auto& p, const auto& q) { return sigmoid(p + q); };
    const Tensor z = in_one_pass(gate, x_part(0), h_part(0)),
                 reset = in_one_pass(gate, x_part(1), h_part(1)), hidden = h_part(2);
    const Tensor candidate =
        in_one_pass([](const auto& p, const auto& v, const auto& q) { return tanh(p + v * q); },
                    x_part(2), reset, hidden);
    const auto of_candidate = [](const auto& u, const auto& v) { return (1 - u) * (1 - v * v); };
    const auto of_z = [](const auto& h, const auto& v, const auto& u) {
      return (h - v) * (u * (1 - u));
    };
    const auto of_reset = [](const auto& u, const auto& q, const auto& v) {
      return u * q * (v * (1 - v));
    };
    const Tensor to_candidate = in_one_pass(of_candidate, z, candidate);
    const Tensor factors =
        cut(steps(cat({in_one_pass(of_z, before, candidate, z),
                       in_one_pass(of_reset, to_candidate, hidden, reset), to_candidate * reset},
                      1)));
    const Tensor keep = or_one(steps(z)), gys = gy.defined() ? cut(gy) : gy;
    std::vector<Tensor> sums(static_cast<size_t>(seq)), all_dh(sums);
    Tensor dh = start(gh);
    for (int64_t k = seq - 1; k >= 0; --k) {
      const int64_t t = step_at(k);
      const Tensor came = arrived(gys, t, dh);
      Tensor& one = sums[static_cast<size_t>(t)];
      one = cat({came, came, came}, 1) * factors.select(0, t);
      dh = formula::in_one_pass(
          [](const auto& u, const auto& v, const auto& s) { return u * v + s; }, came,
          keep.select(0, t), matmul(one, r));
      all_dh[static_cast<size_t>(t)] = came;
    }
    const Tensor of_h = cat(sums);
    const Tensor last = cat(all_dh) * rows(cut(steps(to_candidate)));
    Gradients g = finish(cat({of_h.slice(1, 0, 2 * n), last}, 1), of_h, want_x);
    g.h = dh;
    return g;
  }

  // gates i o f c
  Gradients lstm(bool want_x) const {
    using formula::in_one_pass;
    const auto gate = [](const auto& p, const auto& q) { return sigmoid(p + q); };
    const Tensor in = in_one_pass(gate, x_part(0), h_part(0)),
                 open = in_one_pass(gate, x_part(1), h_part(1)),
                 forget = in_one_pass(gate, x_part(2), h_part(2)),
                 candidate = in_one_pass([](const auto& p, const auto& q) { return tanh(p + q); },
                                         x_part(3), h_part(3));
    const auto times_add = [](const auto& u, const auto& v, const auto& s) { return u * v + s; };
    const Tensor added = steps(in * candidate), kept = steps(forget);
    std::vector<Tensor> cells(static_cast<size_t>(seq));
    Tensor c = c0;
    for (int64_t k = 0; k < seq; ++k) {
      const int64_t t = step_at(k);
      c = handed(t, in_one_pass(times_add, kept.select(0, t), c, added.select(0, t)), c);
      cells[static_cast<size_t>(t)] = c;
    }
    const Tensor all_cells = stack(cells), out = tanh(rows(all_cells));
    const auto squashed = [](const auto& u, const auto& v) { return u * (v * (1 - v)); };
    const auto of_tanh = [](const auto& u, const auto& v) { return u * (1 - v * v); };
    const Tensor factors =
        cut(steps(cat({in_one_pass(squashed, candidate, in), in_one_pass(squashed, out, open),
                       in_one_pass(squashed, rows(shifted(all_cells, c0)), forget),
                       in_one_pass(of_tanh, in, candidate)},
                      1)));
    const Tensor to_cell = cut(steps(in_one_pass(of_tanh, open, out))), keep = or_one(kept),
                 gys = gy.defined() ? cut(gy) : gy;
    std::vector<Tensor> sums(static_cast<size_t>(seq));
    Tensor dh = start(gh), dc = start(gc);
    for (int64_t k = seq - 1; k >= 0; --k) {
      const int64_t t = step_at(k);
      const Tensor came = arrived(gys, t, dh);
      dc = in_one_pass(times_add, came, to_cell.select(0, t), dc);
      Tensor& one = sums[static_cast<size_t>(t)];
      one = cat({dc, came, dc, dc}, 1) * factors.select(0, t);
      dc = dc * keep.select(0, t);
      dh = handed(t, matmul(one, r), came);
    }
    const Tensor all = cat(sums);
    Gradients g = finish(all, all, want_x);
    g.h = dh;
    g.c = dc;
    return g;
  }
};

Tensor together(const std::vector<Tensor>& parts, int dim) {
  return parts.size() == 1 ? parts[0].unsqueeze(dim) : stack(parts, dim);
}

}  // namespace

bool walk_back(GradCtx& c) {
  if (!formula::unrecorded() || !of_a_layer(c)) return false;
  const auto& a = c.attrs<RnnAttrs>();
  const bool batch_first = a.layout != 0;
  const auto given = [&](size_t i) { return i < c.inputs() && c.has(i); };
  const auto wants = [&](size_t i) { return i < c.inputs() && c.needs(i); };
  // The arguments of one direction; states are [dirs, batch, hidden] or [batch, dirs, hidden].
  const auto weight = [&](size_t i, int64_t d) {
    return given(i) ? c.in(i).select(0, d) : Tensor();
  };
  const auto state = [&](const Tensor& t, int64_t d) {
    return t.defined() ? t.select(batch_first ? 1 : 0, d) : t;
  };
  // Returns [seq, dirs, batch, hidden] or [batch, seq, dirs, hidden] as [seq, batch, hidden].
  const auto output = [&](const Tensor& t, int64_t d) {
    if (!t.defined()) return t;
    return batch_first ? t.select(2, d).transpose(0, 1).contiguous() : t.select(1, d).contiguous();
  };
  Direction one;
  one.op = c.op();
  one.x = batch_first ? c.in(0).transpose(0, 1).contiguous() : c.in(0);
  one.seq = one.x.raw_shape()[0], one.batch = one.x.raw_shape()[1];
  one.n = c.in_shape(2)[2];
  if (given(4)) {
    const Tensor lengths = c.in(4).to(DType::kI64).reshape({1, one.batch, 1});
    one.valid = gt(lengths, arange(one.seq).reshape({one.seq, 1, 1}));
  }
  std::vector<Tensor> w, r, b, h, cell;
  Tensor x;
  for (int64_t d = 0; d < c.in_shape(1)[0]; ++d) {
    one.backward = a.direction == 1 || d == 1;
    one.relu = c.op() == OpId::kRNN && relu_cell(d == 1 ? a.back_f : a.f);
    one.w = weight(1, d), one.r = weight(2, d), one.b = weight(3, d);
    one.y = output(c.out(0), d);
    const auto first = [&](size_t i) {
      return given(i) ? state(c.in(i), d) : zeros({one.batch, one.n}, one.x.dtype());
    };
    one.h0 = first(5), one.c0 = first(6);
    one.gy = output(c.g(0), d), one.gh = state(c.g(1), d);
    one.gc = c.outputs() > 2 ? state(c.g(2), d) : Tensor();
    // Behind a sequence's end y is 0, where one that runs backwards begins.
    const bool begins_late = one.valid.defined() && one.backward && given(5);
    one.before =
        one.rows(one.shifted(begins_late ? where(one.valid, one.y, one.h0) : one.y, one.h0));
    const Gradients g = c.op() == OpId::kLSTM  ? one.lstm(wants(0))
                        : c.op() == OpId::kGRU ? one.gru(wants(0))
                                               : one.plain(wants(0));
    if (wants(0)) x = x.defined() ? x + g.x : g.x;
    w.push_back(g.w), r.push_back(g.r), b.push_back(g.b), h.push_back(g.h), cell.push_back(g.c);
  }
  if (wants(0)) c.set(0, batch_first ? x.transpose(0, 1) : x);
  if (wants(1)) c.set(1, together(w, 0));
  if (wants(2)) c.set(2, together(r, 0));
  if (wants(3)) c.set(3, together(b, 0));
  if (wants(5)) c.set(5, together(h, batch_first ? 1 : 0));
  if (wants(6)) c.set(6, together(cell, batch_first ? 1 : 0));
  return true;
}

}  // namespace wick
