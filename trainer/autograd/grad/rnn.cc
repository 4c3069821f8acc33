// Recurrent cells: the gradient is that of the same steps computed again in other ops. For the
// cells that layers create, if nothing is recorded, rnn_walk.cc computes it. The other ops of this
// family have no gradient.
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/rnn_walk.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor applied(const RnnFunctionAttrs& a, RnnFunction fallback, const Tensor& x) {
  switch (a.kind == 0 ? fallback : static_cast<RnnFunction>(a.kind)) {
    case RnnFunction::kDefault:
    case RnnFunction::kTanh: return tanh(x);
    case RnnFunction::kSigmoid: return sigmoid(x);
    case RnnFunction::kRelu: return relu(x);
    case RnnFunction::kAffine: return x * a.alpha + a.beta;
    case RnnFunction::kLeakyRelu: return where(lt(x, 0), x * a.alpha, x);
    case RnnFunction::kThresholdedRelu: return where(lt(x, a.alpha), 0, x);
    case RnnFunction::kScaledTanh: return tanh(x * a.beta) * a.alpha;
    case RnnFunction::kHardSigmoid: return clamp(x * a.alpha + a.beta, 0, 1);
    case RnnFunction::kElu: return where(lt(x, 0), expm1(x) * a.alpha, x);
    case RnnFunction::kSoftsign: return x / (abs(x) + 1);
    case RnnFunction::kSoftplus: return softplus(x);
  }
  return x;
}

// The weights and the step of one direction. h and c are [batch, hidden], and so are the outputs of
// a step.
struct Cell {
  const RnnAttrs& a;
  OpId op;
  bool back;
  int64_t n;  // hidden
  Tensor r, rb, p;
  RnnFunction first = op == OpId::kRNN ? RnnFunction::kTanh : RnnFunction::kSigmoid;

  Tensor f(const Tensor& x) const { return applied(back ? a.back_f : a.f, first, clip(x)); }
  Tensor g(const Tensor& x) const {
    return applied(back ? a.back_g : a.g, RnnFunction::kTanh, clip(x));
  }
  Tensor out(const Tensor& x) const {
    return applied(back ? a.back_h : a.h, RnnFunction::kTanh, x);
  }
  Tensor clip(const Tensor& x) const { return a.clip > 0 ? clamp(x, -a.clip, a.clip) : x; }
  Tensor gate(const Tensor& sums, int64_t k) const { return sums.slice(1, k * n, (k + 1) * n); }
  Tensor h_part(const Tensor& h, int64_t from, int64_t to) const {
    Tensor s = matmul(h, r.slice(0, from * n, to * n).t());
    return rb.defined() ? s + rb.slice(0, from * n, to * n) : s;
  }
  Tensor peep(const Tensor& sum, const Tensor& c, int64_t k) const {
    return p.defined() ? sum + p.slice(0, k * n, (k + 1) * n) * c : sum;
  }

  void step(const Tensor& x, Tensor* h, Tensor* c) const {
    if (op == OpId::kRNN) {
      *h = f(x + h_part(*h, 0, 1));
    } else if (op == OpId::kGRU) {
      Tensor both = x.slice(1, 0, 2 * n) + h_part(*h, 0, 2);
      Tensor z = f(gate(both, 0)), reset = f(gate(both, 1)), last = gate(x, 2);
      last = a.linear_before_reset != 0 ? last + reset * h_part(*h, 2, 3)
                                        : last + h_part(reset * *h, 2, 3);
      *h = z * *h + (1 - z) * g(last);
    } else {
      Tensor sums = x + h_part(*h, 0, 4);
      Tensor i = f(peep(gate(sums, 0), *c, 0));
      Tensor forget = a.input_forget != 0 ? 1 - i : f(peep(gate(sums, 2), *c, 2));
      *c = forget * *c + i * g(gate(sums, 3));
      *h = f(peep(gate(sums, 1), *c, 1)) * out(*c);
    }
  }
};

Tensor of_direction(const std::vector<Tensor>& in, size_t i, int64_t d) {
  return i < in.size() && in[i].defined() ? in[i].select(0, d) : Tensor();
}

// Returns the outputs of one direction: [seq, batch, hidden], then the last states.
std::vector<Tensor> direction(OpId op, const RnnAttrs& a, const std::vector<Tensor>& in,
                              const Tensor& x, int64_t d) {
  const bool back = d == 1, backward = a.direction == 1 || back;
  const int64_t seq = x.raw_shape()[0], batch = x.raw_shape()[1], n = in[2].raw_shape()[2];
  const Tensor w = of_direction(in, 1, d), b = of_direction(in, 3, d);
  const int64_t rows = w.raw_shape()[0];
  Cell cell{a,
            op,
            back,
            n,
            of_direction(in, 2, d),
            b.defined() ? b.slice(0, rows, 2 * rows) : b,
            of_direction(in, 7, d)};
  auto first = [&](size_t i) {
    Tensor none = zeros({batch, n}, x.dtype());
    return i >= in.size() || !in[i].defined() ? none : in[i].select(a.layout == 0 ? 0 : 1, d);
  };
  Tensor h = first(5), c = first(6), lengths;
  if (in.size() > 4 && in[4].defined()) lengths = in[4].to(DType::kI64).reshape({batch, 1});
  Tensor xs = matmul(x, w.t());
  if (b.defined()) xs = xs + b.slice(0, 0, rows);
  const Tensor nothing = zeros({batch, n}, x.dtype());
  std::vector<Tensor> ys(static_cast<size_t>(seq));
  for (int64_t k = 0; k < seq; ++k) {
    const int64_t t = backward ? seq - 1 - k : k;
    Tensor next = h, memory = c;
    cell.step(xs.select(0, t), &next, &memory);
    if (lengths.defined()) {  // shorter sequences keep their state, and output 0
      const Tensor valid = gt(lengths, t);
      h = where(valid, next, h);
      c = where(valid, memory, c);
      ys[static_cast<size_t>(t)] = where(valid, next, nothing);
    } else {
      h = ys[static_cast<size_t>(t)] = next;
      c = memory;
    }
  }
  if (lengths.defined() && seq > 0) {
    h = where(gt(lengths, 0), h, nothing);
    c = where(gt(lengths, 0), c, nothing);
  }
  return {seq == 0 ? zeros({0, batch, n}, x.dtype()) : stack(ys), h, c};
}

void recurrent(GradCtx& c) {
  if (walk_back(c)) return;
  const RnnAttrs a = c.attrs<RnnAttrs>();
  const OpId op = c.op();
  const size_t outputs = c.outputs();
  grad_through(c, [&](const std::vector<Tensor>& in) {
    const bool first = a.layout != 0;  // whether the batch is the first dim
    const Tensor x = first ? in[0].transpose(0, 1) : in[0];
    std::vector<std::vector<Tensor>> parts(3);
    for (int64_t d = 0; d < in[1].raw_shape()[0]; ++d) {
      std::vector<Tensor> one = direction(op, a, in, x, d);
      for (size_t k = 0; k < 3; ++k) parts[k].push_back(one[k]);
    }
    Tensor y = stack(parts[0], 1);  // [seq, dirs, batch, hidden]
    std::vector<Tensor> out = {first ? y.permute({2, 0, 1, 3}) : y};
    for (size_t k = 1; k < outputs; ++k) out.push_back(stack(parts[k], first ? 1 : 0));
    return out;
  });
}

}  // namespace

WICK_GRAD(RNN, 255, 1, 16, recurrent);
WICK_GRAD(GRU, 255, 1, 16, recurrent);
WICK_GRAD(LSTM, 255, 1, 16, recurrent);
WICK_NONDIFF(TfIdfVectorizer, NonDiff::kIntegerOutput);
WICK_NONDIFF(SequenceConstruct, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceInsert, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceErase, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceAt, NonDiff::kInferenceOnly);
WICK_NONDIFF(SequenceLength, NonDiff::kIntegerOutput);
WICK_NONDIFF(SplitToSequence, NonDiff::kInferenceOnly);
WICK_NONDIFF(ConcatFromSequence, NonDiff::kInferenceOnly);
WICK_NONDIFF(Optional, NonDiff::kInferenceOnly);
WICK_NONDIFF(OptionalHasElement, NonDiff::kIntegerOutput);
WICK_NONDIFF(OptionalGetElement, NonDiff::kInferenceOnly);

}  // namespace wick
