// RNN, GRU and LSTM over whole sequences. A gate's sum is (x-part + Wb) + (h-part + Rb): each part
// is one fma chain from +0, k ascending, as in Linear. The state is rounded to the tensor's type
// after every step. Each sequence and direction is a task.
#include <cmath>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/kernels/sequence/rnn.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

using scalar_math::F;

struct FloatMath {
  static float expm1(float x) { return scalar_math::expm1(F(x)).v; }
  static float softplus(float x) { return scalar_math::softplus(F(x)).v; }
};
struct DoubleMath {
  static double expm1(double x) { return std::expm1(x); }
  static double softplus(double x) {
    return std::isnan(x) ? x : std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  }
};

template <class R>
R clip_to(R x, R lo, R hi) {
  R r = x <= lo ? lo : x;
  return r >= hi ? hi : r;
}

// One of a cell's functions, with its defaults filled in.
template <class R>
struct Function {
  RnnFunction kind;
  R alpha, beta;
  Edition edition;

  Function(const RnnFunctionAttrs& a, RnnFunction fallback, Edition e)
      : kind(rnn_function(a, fallback)),
        alpha(static_cast<R>(a.alpha)),
        beta(static_cast<R>(a.beta)),
        edition(e) {}
  R operator()(R x) const {
    using M = std::conditional_t<std::is_same_v<R, float>, FloatMath, DoubleMath>;
    switch (kind) {
      case RnnFunction::kDefault:
      case RnnFunction::kTanh: return tanh_of(edition, x);
      case RnnFunction::kSigmoid: return sigmoid_of(edition, x);
      case RnnFunction::kRelu: return x <= 0 ? R(0) : x;
      case RnnFunction::kAffine: return std::fma(alpha, x, beta);
      case RnnFunction::kLeakyRelu: return x < 0 ? x * alpha : x;
      case RnnFunction::kThresholdedRelu: return x < alpha ? R(0) : x;
      case RnnFunction::kScaledTanh: return alpha * tanh_of(edition, beta * x);
      case RnnFunction::kHardSigmoid: return clip_to(std::fma(alpha, x, beta), R(0), R(1));
      case RnnFunction::kElu: return x < 0 ? alpha * M::expm1(x) : x;
      case RnnFunction::kSoftsign: return x / (1 + std::fabs(x));
      case RnnFunction::kSoftplus: return M::softplus(x);
    }
    return x;
  }
};

using Sizes = RnnSizes;

// The vectors of `hidden` elements that a task uses: the gates, the state and (LSTM) the cell
// state, or (GRU) the reset state.
constexpr int64_t kSlots = 6;

template <class T>
Status plan(const KernelQuery& q, KernelPlan* p) {
  Sizes s(q.in, q.as<RnnAttrs>());
  size_t bytes = sizeof(Real<T>) * kSlots;
  for (int64_t n : {s.dirs, s.batch, s.hidden}) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(n), &bytes))
      return Status(Code::kShapeMismatch, "too many sequences");
  }
  p->scratch_bytes = bytes;
  return {};
}

template <class X, class T>
Real<T> chain(const X* x, const T* w, int64_t n) {
  Real<T> acc = 0;
  for (int64_t k = 0; k < n; ++k) acc = std::fma(static_cast<Real<T>>(x[k]), load(w[k]), acc);
  return acc;
}

// The weights and functions of one direction, and the steps of the three cells. h: the state.
template <class T>
struct Cell {
  using R = Real<T>;
  const Sizes& s;
  const RnnAttrs& a;
  const T *w, *r, *wb, *rb, *p;  // wb, rb, p may be null
  Function<R> f, g, h;
  R limit;
  Poll* poll;

  R x_part(const T* x, int64_t row) const {
    R sum = chain(x, w + row * s.input, s.input);
    return wb == nullptr ? sum : sum + load(wb[row]);
  }
  R h_part(const R* state, int64_t row) const {
    R sum = chain(state, r + row * s.hidden, s.hidden);
    return rb == nullptr ? sum : sum + load(rb[row]);
  }
  R clip(R v) const { return limit > 0 ? clip_to(v, -limit, limit) : v; }
  R sum(const T* x, const R* state, int64_t row) const {
    if ((*poll)(s.input + s.hidden)) return 0;
    return x_part(x, row) + h_part(state, row);
  }
  static R rounded(R v) { return load(static_cast<T>(v)); }

  void rnn_step(const T* x, R* state, R* next) const {
    for (int64_t j = 0; j < s.hidden; ++j) next[j] = f(clip(sum(x, state, j)));
    for (int64_t j = 0; j < s.hidden; ++j) state[j] = rounded(next[j]);
  }
  // The gates z r h; `slots`: z, r (then r h), the candidate.
  void gru_step(const T* x, R* state, R* slots) const {
    const int64_t n = s.hidden;
    R *z = slots, *reset = slots + n, *candidate = slots + 2 * n;
    for (int64_t j = 0; j < n; ++j) z[j] = f(clip(sum(x, state, j)));
    for (int64_t j = 0; j < n; ++j) reset[j] = f(clip(sum(x, state, n + j)));
    if (a.linear_before_reset != 0) {
      for (int64_t j = 0; j < n && !(*poll)(s.input + s.hidden); ++j) {
        R inner = std::fma(reset[j], h_part(state, 2 * n + j), x_part(x, 2 * n + j));
        candidate[j] = g(clip(inner));
      }
    } else {
      for (int64_t j = 0; j < n; ++j) reset[j] = reset[j] * state[j];
      for (int64_t j = 0; j < n; ++j) candidate[j] = g(clip(sum(x, reset, 2 * n + j)));
    }
    for (int64_t j = 0; j < n; ++j)
      state[j] = rounded(std::fma(z[j], state[j], (1 - z[j]) * candidate[j]));
  }
};

// The gates i o f c are in four slots; the cell state is kept in Real<T>.
template <class T>
void lstm_step(const Cell<T>& c, const T* x, Real<T>* state, Real<T>* cell, Real<T>* slots) {
  using R = Real<T>;
  const int64_t n = c.s.hidden;
  for (int64_t j = 0; j < 4 * n; ++j) slots[j] = c.sum(x, state, j);
  for (int64_t j = 0; j < n; ++j) {
    R i = slots[j], o = slots[n + j], forget = slots[2 * n + j];
    if (c.p != nullptr) {
      i = std::fma(load(c.p[j]), cell[j], i);
      forget = std::fma(load(c.p[2 * n + j]), cell[j], forget);
    }
    i = c.f(c.clip(i));
    forget = c.a.input_forget != 0 ? 1 - i : c.f(c.clip(forget));
    cell[j] = std::fma(forget, cell[j], i * c.g(c.clip(slots[3 * n + j])));
    if (c.p != nullptr) o = std::fma(load(c.p[n + j]), cell[j], o);
    state[j] = Cell<T>::rounded(c.f(c.clip(o)) * c.h(cell[j]));
  }
}

template <OpId op, class T>
Cell<T> cell_of(const Sizes& s, const RnnAttrs& a, Span<const TensorView> in, int64_t d,
                Edition edition, Poll* poll) {
  const auto at = [&](size_t i, int64_t stride) -> const T* {
    return i < in.size() && in[i].present() ? in[i].as<T>() + d * stride : nullptr;
  };
  const int64_t rows = s.gates * s.hidden;
  const T* b = at(3, 2 * rows);
  const bool back = d == 1;
  const auto first = op == OpId::kRNN ? RnnFunction::kTanh : RnnFunction::kSigmoid;
  return {s,
          a,
          at(1, rows * s.input),
          at(2, rows * s.hidden),
          b,
          b == nullptr ? nullptr : b + rows,
          at(7, 3 * s.hidden),
          {back ? a.back_f : a.f, first, edition},
          {back ? a.back_g : a.g, RnnFunction::kTanh, edition},
          {back ? a.back_h : a.h, RnnFunction::kTanh, edition},
          static_cast<Real<T>>(a.clip),
          poll};
}

template <class T>
void load_state(Span<const TensorView> in, size_t i, int64_t offset, int64_t n, Real<T>* to) {
  const bool given = i < in.size() && in[i].present();
  for (int64_t j = 0; j < n; ++j) to[j] = given ? load(in[i].as<T>()[offset + j]) : Real<T>(0);
}

// Runs one sequence in one direction. After a shorter sequence's length the outputs are 0; length 0
// gives 0 everywhere, as in ONNX Runtime.
template <OpId op, class T>
void run_sequence(const Sizes& s, const RnnAttrs& a, Span<const TensorView> in,
                  Span<TensorView> out, int64_t d, int64_t b, Edition edition, Real<T>* scratch) {
  using R = Real<T>;
  const int64_t n = s.hidden;
  Poll poll;
  const Cell<T> cell = cell_of<op, T>(s, a, in, d, edition, &poll);
  const bool backward = a.direction == 1 || d == 1;
  const int32_t* lengths = rnn_lengths(in);
  const int64_t length = lengths == nullptr ? s.seq : lengths[b];
  R *state = scratch, *memory = scratch + n, *slots = scratch + 2 * n;
  load_state<T>(in, 5, s.state(d, b), n, state);
  if (op == OpId::kLSTM) load_state<T>(in, 6, s.state(d, b), n, memory);
  for (int64_t step = 0; step < length && !poll(); ++step) {
    const int64_t t = backward ? length - 1 - step : step;
    const T* x = in[0].as<T>() + s.x(t, b);
    if constexpr (op == OpId::kRNN) cell.rnn_step(x, state, slots);
    if constexpr (op == OpId::kGRU) cell.gru_step(x, state, slots);
    if constexpr (op == OpId::kLSTM) lstm_step(cell, x, state, memory, slots);
    T* y = out[0].as<T>() + s.y(t, d, b);
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(state[j]);
  }
  for (int64_t t = length; t < s.seq && !poll(n); ++t) {
    T* y = out[0].as<T>() + s.y(t, d, b);
    for (int64_t j = 0; j < n; ++j) y[j] = T(0.0f);
  }
  const bool none = length == 0 && s.seq != 0;
  for (size_t k = 1; k < out.size(); ++k) {
    T* last = out[k].as<T>() + s.state(d, b);
    const R* from = k == 1 ? state : memory;
    for (int64_t j = 0; j < n; ++j) last[j] = none ? T(0.0f) : static_cast<T>(from[j]);
  }
}

template <OpId op, class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& a = *static_cast<const RnnAttrs*>(attrs);
  const Sizes s(in, a);
  WICK_TRY(check_rnn_lengths(in, s));
  if (s.hidden == 0) return {};
  auto* scratch = static_cast<Real<T>*>(ctx.scratch);
  parallel_items(ctx.pool, s.dirs * s.batch, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_sequence<op, T>(s, a, in, out, i / s.batch, i % s.batch, ctx.edition,
                          scratch + i * kSlots * s.hidden);
    }
  });
  return {};
}

}  // namespace

#define RECURRENT_ROW(T, Name, text, dtype)                                               \
  KernelRow {                                                                             \
    text "." dtype ".ref", kContiguous, match<T>, plan<T>, nullptr, run<OpId::k##Name, T> \
  }
#define RECURRENT_ROWS(Name, text)                                                                \
  WICK_REF_ROWS(Name, RECURRENT_ROW(float, Name, text, "f32"),                                    \
                RECURRENT_ROW(double, Name, text, "f64"), RECURRENT_ROW(Half, Name, text, "f16"), \
                RECURRENT_ROW(BFloat16, Name, text, "bf16"))
RECURRENT_ROWS(RNN, "rnn");
RECURRENT_ROWS(GRU, "gru");
RECURRENT_ROWS(LSTM, "lstm");

}  // namespace wick
