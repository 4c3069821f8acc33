// The SIMD rows of RNN, GRU and LSTM in f32. The x-part of a block of steps is one product and the
// h-part of each step another, over all sequences of a task; then the gates are computed, one
// sequence at a time. A task has some sequences of one direction; if there is only one task, its
// products are split over the threads instead. Shorter sequences are padded: their extra rows are
// computed and dropped.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sequence/rnn.cc"
#include "runtime/kernels/sequence/rnn.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_RNN_CC_
#define WICK_KERNELS_RNN_CC_
namespace wick {
// out = function(clip(x + h + factor * times)); null operands are left out.
struct RnnGate {
  const float *x, *h, *factor, *times;
  float* out;
  int64_t n;
  float clip, alpha, beta;
  RnnFunction function;
};
struct RnnKernels {
  void (*gate)(const RnnGate&);
  // forget null: uses 1 - in
  void (*lstm_cell)(const float* forget, const float* in, const float* candidate, float* cell,
                    int64_t n);
  void (*gru_state)(const float* z, const float* candidate, float* state, int64_t n);
  void (*multiply)(const float* a, const float* b, float* y, int64_t n);
};
}  // namespace wick
#endif

#include "runtime/kernels/sequence/rnn-inl.h"

#if HWY_ONCE
#include <algorithm>
#include <cstring>

namespace wick {
namespace {

HWY_EXPORT(rnn_set);

constexpr int64_t kBlockRows = 64;          // of an x-part, which stays in L2
constexpr int64_t kSplitWeights = 1 << 18;  // below it a step ends before threads have started

// The division of the work, and the layout of a task's scratch. The result's bits do not depend on
// it.
struct Cut {
  int64_t chunks, most;  // parts of the batch; sequences in the largest
  int64_t steps;         // per block
  size_t x_part, h_part, state, other, product, total;  // in floats

  Cut(const RnnSizes& s, const TileKernels& t, int threads) {
    chunks = std::max<int64_t>(
        1, std::min(s.batch, (threads + s.dirs - 1) / std::max<int64_t>(1, s.dirs)));
    most = (s.batch + chunks - 1) / chunks;
    steps = std::max<int64_t>(1, std::min(s.seq, kBlockRows / std::max<int64_t>(1, most)));
    size_t at = 0;
    const auto room = [&](int64_t a, int64_t b) {
      const size_t begin = at;
      at += (static_cast<size_t>(a) * static_cast<size_t>(b) + 15) / 16 * 16;
      return begin;
    };
    x_part = room(steps * most, s.rows());
    h_part = room(most, s.rows());
    state = room(most, s.hidden);
    other = room(most, s.hidden);
    product = at;
    const int inner = tasks(s) == 1 ? threads : 1;
    const size_t bytes =
        std::max(gemm_scratch_bytes(t, steps * most, s.rows(), s.input, false, inner),
                 gemm_scratch_bytes(t, most, s.rows(), s.hidden, false, inner));
    total = at + (bytes / sizeof(float) + 15) / 16 * 16;
  }
  int64_t tasks(const RnnSizes& s) const { return s.dirs * chunks; }
};

// Rows of R in one product: all of them, except that GRU's candidate uses another state.
int64_t first_rows(const RnnSizes& s) { return s.gates == 3 ? 2 * s.hidden : s.rows(); }

size_t packed_floats(const TileKernels& t, int64_t k, int64_t n) {
  return gemm_packed_b_bytes(t, k, n) / sizeof(float);
}
size_t packed_w(const TileKernels& t, const RnnSizes& s) {
  return packed_floats(t, s.input, s.rows());
}
size_t packed_r(const TileKernels& t, const RnnSizes& s) {
  return packed_floats(t, s.hidden, first_rows(s)) +
         packed_floats(t, s.hidden, s.rows() - first_rows(s));
}

bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32) return false;
  const RnnSizes s(q.in, q.as<RnnAttrs>());
  if (s.hidden == 0 || s.dirs == 0) return false;
  // Accepts sizes whose products do not overflow; larger ones are left to the plain loops' own
  // check.
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t states = 0, blocks = 0;
  return !__builtin_mul_overflow(s.dirs * s.rows(), std::max<int64_t>(1, s.batch), &states) &&
         !__builtin_mul_overflow(s.rows(), s.hidden + s.input, &blocks) && states < kMost &&
         blocks < kMost;
}

struct Kernels {
  const TileKernels* tiles;
  const RnnKernels* steps;
  int threads;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const RnnSizes s(q.in, q.as<RnnAttrs>());
  const Cut cut(s, t, q.threads);
  p->keep(Kernels{&t, HWY_DYNAMIC_DISPATCH(rnn_set)(q.edition), q.threads});
  p->scratch_bytes =
      byte_count(uint64_t{sizeof(float)} * cut.total * static_cast<uint64_t>(cut.tasks(s)));
  const auto bytes = [&](size_t floats) {
    return byte_count(uint64_t{sizeof(float)} * floats * static_cast<uint64_t>(s.dirs));
  };
  p->packs[0] = {1, packed_layout(PackedKind::kRecurrentInput, t.nr), bytes(packed_w(t, s))};
  p->packs[1] = {2, packed_layout(PackedKind::kRecurrentState, t.nr), bytes(packed_r(t, s))};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int slot, void* dst) {
  const TileKernels& t = *p.kept<Kernels>().tiles;
  const RnnSizes s(q.in, q.as<RnnAttrs>());
  const int64_t k = slot == 0 ? s.input : s.hidden, first = slot == 0 ? s.rows() : first_rows(s);
  const float* from = q.in[static_cast<size_t>(slot) + 1].as<float>();
  auto* to = static_cast<float*>(dst);
  for (int64_t d = 0; d < s.dirs; ++d) {
    for (const int64_t n : {first, s.rows() - first}) {
      gemm_pack_b(t, from, 1, k, k, n, to);
      from += n * k;
      to += packed_floats(t, k, n);
    }
  }
  return {};
}

// Runs some sequences of one direction, step after step.
template <OpId op>
class Task {
 public:
  Task(const KernelCtx& ctx, const RnnSizes& s, const RnnAttrs& a, Span<const TensorView> in,
       Span<TensorView> out, const Cut& cut, int64_t task, ThreadPool* pool)
      : t_(*ctx.plan->kept<Kernels>().tiles),
        k_(*ctx.plan->kept<Kernels>().steps),
        s_(s),
        a_(a),
        in_(in),
        out_(out),
        cut_(cut),
        d_(task / cut.chunks),
        first_(task % cut.chunks * cut.most),
        count_(std::min(cut.most, s.batch - first_)),
        backward_(a.direction == 1 || d_ == 1),
        n_(s.hidden),
        rows_(s.rows()),
        lengths_(rnn_lengths(in)),
        pool_(pool),
        step_pool_(rows_ * n_ >= kSplitWeights ? pool : nullptr) {
    float* scratch = static_cast<float*>(ctx.scratch) + static_cast<size_t>(task) * cut.total;
    x_part_ = scratch + cut.x_part, h_part_ = scratch + cut.h_part;
    state_ = scratch + cut.state, other_ = scratch + cut.other, product_ = scratch + cut.product;
    const auto packed = [&](int slot, size_t floats) -> const float* {
      const auto* p = static_cast<const float*>(ctx.packed[slot]);
      return p == nullptr ? nullptr : p + static_cast<size_t>(d_) * floats;
    };
    packed_w_ = packed(0, packed_w(t_, s)), packed_r_ = packed(1, packed_r(t_, s));
    const float* b = input(3, 2 * rows_);
    wb_ = b, rb_ = b == nullptr ? nullptr : b + rows_;
    peep_ = op == OpId::kLSTM ? input(7, 3 * n_) : nullptr;
    const auto one = op == OpId::kRNN ? RnnFunction::kTanh : RnnFunction::kSigmoid;
    f_ = function(d_ == 1 ? a.back_f : a.f, one);
    g_ = function(d_ == 1 ? a.back_g : a.g, RnnFunction::kTanh);
    h_ = function(d_ == 1 ? a.back_h : a.h, RnnFunction::kTanh);
  }

  void run() {
    if (count_ <= 0) return;
    Poll poll;
    load(5, state_);
    if (op == OpId::kLSTM) load(6, other_);
    for (int64_t done = 0; done < s_.seq; done += cut_.steps) {
      const int64_t steps = std::min(cut_.steps, s_.seq - done);
      const int64_t t0 = backward_ ? s_.seq - done - steps : done;
      project(t0, steps);
      for (int64_t i = 0; i < steps; ++i) {
        if (poll(count_ * rows_ * (n_ / 8 + 1)) || stopped()) return;
        const int64_t t = t0 + (backward_ ? steps - 1 - i : i);
        step(t, x_part_ + (t - t0) * count_ * rows_);
      }
    }
    for (size_t k = 1; k < out_.size(); ++k) {
      for (int64_t b = 0; b < count_; ++b) {
        float* last = out_[k].as<float>() + s_.state(d_, first_ + b);
        const bool none = lengths_ != nullptr && lengths_[first_ + b] == 0 && s_.seq != 0;
        copy(none ? nullptr : (k == 1 ? state_ : other_) + b * n_, last);
      }
    }
  }

 private:
  struct Function {
    RnnFunction kind;
    float alpha, beta;
  };
  static Function function(const RnnFunctionAttrs& a, RnnFunction fallback) {
    return {rnn_function(a, fallback), static_cast<float>(a.alpha), static_cast<float>(a.beta)};
  }
  // Returns the input's part for this direction; null where it is absent.
  const float* input(size_t i, int64_t stride) const {
    const float* p = optional_input(in_, i);
    return p == nullptr ? nullptr : p + d_ * stride;
  }
  void copy(const float* from, float* to) const {
    const size_t bytes = sizeof(float) * static_cast<size_t>(n_);
    from == nullptr ? memset(to, 0, bytes) : memcpy(to, from, bytes);
  }
  void load(size_t i, float* to) const {
    const float* from = optional_input(in_, i);
    for (int64_t b = 0; b < count_; ++b)
      copy(from == nullptr ? nullptr : from + s_.state(d_, first_ + b), to + b * n_);
  }
  bool active(int64_t t, int64_t b) const {
    return lengths_ == nullptr || t < lengths_[first_ + b];
  }

  // Computes x_part[t - t0][b] for the block's steps: one product where the rows of x are evenly
  // spaced.
  void project(int64_t t0, int64_t steps) {
    Gemm g;
    g.n = rows_, g.k = s_.input;
    g.a_col = 1;
    if (packed_w_ == nullptr) g.b = in_[1].as<float>() + d_ * rows_ * s_.input;
    g.b_row = 1, g.b_col = s_.input;
    g.packed_b = packed_w_;
    g.epilogue.bias = wb_;
    const int64_t by_step = s_.x(1, 0), by_row = s_.x(0, 1);
    const auto product = [&](int64_t t, int64_t b, int64_t m, int64_t a_row, int64_t c_row) {
      g.m = m;
      g.a = in_[0].as<float>() + s_.x(t, first_ + b), g.a_row = a_row;
      g.c = x_part_ + ((t - t0) * count_ + b) * rows_, g.c_row = c_row * rows_;
      gemm(t_, g, product_, pool_);
    };
    if (by_step == count_ * by_row) {
      product(t0, 0, steps * count_, by_row, 1);
    } else if (steps >= count_) {
      for (int64_t b = 0; b < count_; ++b) product(t0, b, steps, by_step, count_);
    } else {
      for (int64_t t = t0; t < t0 + steps; ++t) product(t, 0, count_, by_row, 1);
    }
  }

  // Computes h_part[:, row ...] = state * R' + Rb for `n` rows of R from `row` on.
  void recur(const float* state, int64_t row, int64_t n) {
    Gemm g;
    g.m = count_, g.n = n, g.k = n_;
    g.a = state, g.a_row = n_, g.a_col = 1;
    if (packed_r_ == nullptr) g.b = in_[2].as<float>() + (d_ * rows_ + row) * n_;
    g.b_row = 1, g.b_col = n_;
    if (packed_r_ != nullptr) g.packed_b = packed_r_ + (row == 0 ? 0 : packed_floats(t_, n_, row));
    g.c = h_part_ + row, g.c_row = rows_;
    g.epilogue.bias = rb_ == nullptr ? nullptr : rb_ + row;
    gemm(t_, g, product_, step_pool_);
  }

  void gate(const Function& f, const float* x, const float* h, float* out, int64_t n,
            const float* factor = nullptr, const float* times = nullptr) const {
    k_.gate({x, h, factor, times, out, n, static_cast<float>(a_.clip), f.alpha, f.beta, f.kind});
  }

  void step(int64_t t, const float* x) {
    const int64_t first = first_rows(s_);
    recur(state_, 0, first);
    if (op == OpId::kGRU) {
      for (int64_t b = 0; b < count_; ++b) {
        float *h = h_part_ + b * rows_, *reset = h + n_;
        gate(f_, x + b * rows_, h, h, 2 * n_);
        if (a_.linear_before_reset == 0) k_.multiply(reset, state_ + b * n_, other_ + b * n_, n_);
      }
      recur(a_.linear_before_reset == 0 ? other_ : state_, first, n_);
    }
    for (int64_t b = 0; b < count_; ++b) {
      float* y = out_[0].as<float>() + s_.y(t, d_, first_ + b);
      if (!active(t, b)) {
        copy(nullptr, y);
        continue;
      }
      const float* from = x + b * rows_;
      float *h = h_part_ + b * rows_, *state = state_ + b * n_;
      if (op == OpId::kRNN) gate(f_, from, h, state, n_);
      if (op == OpId::kGRU) gru(from, h, state);
      if (op == OpId::kLSTM) lstm(from, h, state, other_ + b * n_);
      copy(state, y);
    }
  }
  // h contains z and r, followed by the candidate's h-part.
  void gru(const float* x, float* h, float* state) const {
    float* candidate = h + 2 * n_;
    if (a_.linear_before_reset != 0) {
      gate(g_, x + 2 * n_, nullptr, candidate, n_, h + n_, candidate);
    } else {
      gate(g_, x + 2 * n_, candidate, candidate, n_);
    }
    k_.gru_state(h, candidate, state, n_);
  }
  // The gates are i o f c.
  void lstm(const float* x, float* h, float* state, float* cell) const {
    float *open = h + n_, *forget = h + 2 * n_, *candidate = h + 3 * n_;
    const bool tied = a_.input_forget != 0;
    if (peep_ == nullptr) {
      gate(f_, x, h, h, tied ? 2 * n_ : 3 * n_);
    } else {
      gate(f_, x, h, h, n_, peep_, cell);
      if (!tied) gate(f_, x + 2 * n_, forget, forget, n_, peep_ + 2 * n_, cell);
    }
    gate(g_, x + 3 * n_, candidate, candidate, n_);
    k_.lstm_cell(tied ? nullptr : forget, h, candidate, cell, n_);
    if (peep_ != nullptr) gate(f_, x + n_, open, open, n_, peep_ + n_, cell);
    k_.gate({cell, nullptr, nullptr, nullptr, candidate, n_, 0, h_.alpha, h_.beta, h_.kind});
    k_.multiply(open, candidate, state, n_);
  }

  const TileKernels& t_;
  const RnnKernels& k_;
  const RnnSizes& s_;
  const RnnAttrs& a_;
  Span<const TensorView> in_;
  Span<TensorView> out_;
  const Cut& cut_;
  int64_t d_, first_, count_;
  bool backward_;
  int64_t n_, rows_;
  const int32_t* lengths_;
  ThreadPool *pool_, *step_pool_;
  float *x_part_, *h_part_, *state_, *other_, *product_;  // other: the cell or reset state
  const float *packed_w_, *packed_r_, *wb_, *rb_, *peep_;
  Function f_, g_, h_;
};

template <OpId op>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& a = *static_cast<const RnnAttrs*>(attrs);
  const RnnSizes s(in, a);
  WICK_TRY(check_rnn_lengths(in, s));
  const TileKernels& t = *ctx.plan->kept<Kernels>().tiles;
  const Cut cut(s, t, ctx.plan->kept<Kernels>().threads);
  const int64_t tasks = cut.tasks(s);
  if (tasks == 1) {
    Task<op>(ctx, s, a, in, out, cut, 0, ctx.pool).run();
    return {};
  }
  parallel_for(ctx.pool, tasks,
               [&](int64_t task, int) { Task<op>(ctx, s, a, in, out, cut, task, nullptr).run(); });
  return {};
}

}  // namespace

WICK_CPU_ROWS(RNN, {"rnn.f32.simd", kContiguous, match, plan, pack, run<OpId::kRNN>});
WICK_CPU_ROWS(GRU, {"gru.f32.simd", kContiguous, match, plan, pack, run<OpId::kGRU>});
WICK_CPU_ROWS(LSTM, {"lstm.f32.simd", kContiguous, match, plan, pack, run<OpId::kLSTM>});

}  // namespace wick
#endif
