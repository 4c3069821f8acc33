// The f32 row of FusedAttention: works on blocks of query rows, whose scores are in scratch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sequence/attention.cc"
#include "runtime/kernels/sequence/attention.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_ATTENTION_BODIES_
#define WICK_KERNELS_ATTENTION_BODIES_
namespace wick {
// A step applied to one row of scores: operands per column where x_each or y_each, else one for all
// columns.
struct AttentionRowStep {
  AttentionStep step;
  const float *x, *y;
  const uint8_t* condition;  // takes the place of x
  bool x_each, y_each;
};
struct AttentionBodies {
  void (*steps)(const AttentionRowStep* list, int count, float* row, int64_t n);
  float (*largest)(const float* row, int64_t n);
  bool (*vanishes)(float x);  // whether exp(x) is +0, for x <= 0
  void (*weights)(float* row, int64_t n, float largest);
  int64_t (*live)(const float* row, int64_t n);
  bool (*finite)(const float* x, int64_t n);
};
}  // namespace wick
#endif

#include "runtime/kernels/sequence/attention-inl.h"

#if HWY_ONCE
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/int_math.h"
#include "runtime/kernels/gemm/gemm.h"

namespace wick {
namespace {

HWY_EXPORT(find_attention);

// The sizes affect only speed and scratch.
constexpr int64_t kBlockScores = 128 << 10;  // per block: 512 KiB, which stay in L2
constexpr int64_t kMostRows = 128;
constexpr int64_t kChunkRows = 64;    // a task packs keys and values for at least as many rows
constexpr int64_t kPackValues = 24;   // number of rows from which packing values pays
constexpr int64_t kTasksAThread = 4;  // so that threads end at about the same time

int64_t gcd(int64_t a, int64_t b) { return b == 0 ? a : gcd(b, a % b); }

// The division of a call. A unit is the heads that share their keys and values; its rows, head
// after head, are divided into chunks, one per task, and chunks into blocks.
struct Cut {
  int64_t units = 0, group = 0, rows = 0;  // per batch item; heads and rows of a unit
  int64_t chunk = 0, block = 0, chunks = 0;
  int64_t step = 0;       // stride between rows of scores
  bool by_panel = false;  // keys are packed one panel at a time: they are read only once
  bool pack_values = false;
  // scratch of a worker, in floats
  int64_t keys = 0, values = 0, queries = 0, scores = 0, sums = 0, gemm = 0;
  int64_t total() const { return keys + values + queries + scores + sums + gemm; }

  Cut(const AttentionShape& n, const TileKernels& t, int threads) {
    if (n.heads == 0 || n.rows == 0 || n.batches == 0) return;
    units = n.key_heads / gcd(n.key_heads, n.value_heads) * n.value_heads;
    group = n.heads / units;
    rows = group * n.rows;
    const int64_t wanted =
        threads > 1 ? ceil_div(kTasksAThread * threads, std::max<int64_t>(1, n.batches * units))
                    : 1;
    chunks = std::max<int64_t>(1, std::min(wanted, rows / kChunkRows));
    chunk = round_up(ceil_div(rows, chunks), t.mr);
    chunks = ceil_div(rows, chunk);
    const int64_t fits = kBlockScores / std::max<int64_t>(1, n.keys) / t.mr * t.mr;
    const int64_t most = std::clamp<int64_t>(fits, t.mr, kMostRows);
    block = std::min(chunk, round_up(ceil_div(chunk, ceil_div(chunk, most)), t.mr));
    by_panel = block >= chunk;
    pack_values = std::min(chunk, rows) >= kPackValues;
  }
  // Returns false where the scratch would exceed the address space.
  bool measure(const AttentionShape& n, const TileKernels& t) {
    const double most = static_cast<double>(n.size) + static_cast<double>(n.values) + kMostRows;
    if (most * (static_cast<double>(n.keys) + kMostRows) > 0x1p56) return false;
    const auto floats = [](size_t bytes) {
      return round_up(static_cast<int64_t>(bytes / sizeof(float)), 16);
    };
    step = round_up(n.keys, 16);
    if (step % 256 == 0) step += 16;  // avoids that rows map to the same cache sets
    keys = floats(gemm_packed_b_bytes(t, n.size, by_panel ? panel(t) : n.keys));
    values = pack_values ? floats(gemm_packed_b_bytes(t, n.keys, n.values)) : 0;
    queries = round_up(block * n.size, 16);
    scores = block * step;
    sums = round_up(block * n.values, 16);
    gemm = floats(std::max(gemm_scratch_bytes(t, block, n.keys, n.size, true, 1),
                           gemm_scratch_bytes(t, block, n.values, n.keys, pack_values, 1)));
    return true;
  }
  // Number of key columns that are packed at a time.
  int64_t panel(const TileKernels& t) const { return rows == 1 ? kRowPanels * t.nr : t.nr; }
};

// The work of one task: a chunk of the rows of a unit.
class Task {
 public:
  Task(const AttentionShape& n, const Cut& cut, const TileKernels& t, const AttentionBodies& bodies,
       const AttentionCallSteps* steps, Span<const TensorView> in, const TensorView& out,
       float* scratch)
      : n_(n), cut_(cut), t_(t), do_(bodies), steps_(steps), in_(in), out_(out) {
    keys_ = scratch;
    values_ = keys_ + cut.keys;
    queries_ = values_ + cut.values;
    scores_ = queries_ + cut.queries;
    sums_ = scores_ + cut.scores;
    gemm_ = sums_ + cut.sums;
  }

  void run(int64_t batch, int64_t unit, int64_t begin, int64_t end) {
    batch_ = batch;
    head0_ = unit * cut_.group;
    q_ = in_[0].as<float>() + n_.batch_offset(n_.q, batch);
    k_ = in_[1].as<float>() + n_.batch_offset(n_.k, batch) +
         head0_ / (n_.heads / n_.key_heads) * n_.k.head;
    v_ = in_[2].as<float>() + n_.batch_offset(n_.v, batch) +
         head0_ / (n_.heads / n_.value_heads) * n_.v.head;
    y_ = out_.as<float>() + n_.batch_offset(n_.out, batch);
    finite_from_ = n_.keys;
    if (!cut_.by_panel) pack_keys(0, n_.keys);
    if (cut_.pack_values) gemm_pack_b(t_, v_, n_.v.row, n_.v.col, n_.keys, n_.values, values_);
    Poll poll;
    for (int64_t r = begin; r < end; r += cut_.block) {
      if (poll(cut_.block * n_.keys) || stopped()) return;
      block(r, std::min(cut_.block, end - r));
    }
  }

 private:
  int64_t head(int64_t r) const { return head0_ + r / n_.rows; }

  void on_numbers(const AttentionCallSteps& steps, float* x, int64_t count) {
    for (int i = 0; i < steps.count; ++i) {
      const AttentionCallStep& s = steps.list[i];
      const AttentionRowStep one = {s.step, s.x->as<float>(), nullptr, nullptr, false, false};
      do_.steps(&one, 1, x, count);
    }
  }

  void pack_keys(int64_t from, int64_t count) {
    gemm_pack_b(t_, k_ + from * n_.k.row, n_.k.col, n_.k.row, n_.size, count, keys_);
    on_numbers(steps_[1], keys_, round_up(count, t_.lanes) * n_.size);
  }

  void block(int64_t r0, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = q_ + head(r0 + i) * n_.q.head + (r0 + i) % n_.rows * n_.q.row;
      float* to = queries_ + i * n_.size;
      if (n_.q.col == 1) {
        memcpy(to, from, sizeof(float) * static_cast<size_t>(n_.size));
      } else {
        for (int64_t d = 0; d < n_.size; ++d) to[d] = from[d * n_.q.col];
      }
    }
    on_numbers(steps_[0], queries_, rows * n_.size);
    const int64_t seen = seen_keys(r0, rows);
    score(rows, seen);
    if (stopped()) return;
    for (int64_t i = 0; i < rows; ++i) apply(steps_[2], r0 + i, scores_ + i * cut_.step, seen);
    int64_t width = seen;
    if (seen < n_.keys && !hidden_weigh_nothing(r0, rows, seen)) {
      width = n_.keys;
      for (int64_t i = 0; i < rows; ++i) {
        float* row = scores_ + i * cut_.step;
        std::fill(row + seen, row + width, hidden_value(r0 + i));
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores_ + i * cut_.step;
      do_.weights(row, width, do_.largest(row, width));
    }
    if (steps_[3].count > 0) {
      clear(rows, width);
      width = n_.keys;
      for (int64_t i = 0; i < rows; ++i) apply(steps_[3], r0 + i, scores_ + i * cut_.step, width);
    }
    sum(rows, width);
    store(r0, rows);
  }

  void apply(const AttentionCallSteps& steps, int64_t r, float* row, int64_t count) {
    AttentionRowStep list[kMaxAttentionSteps];
    for (int i = 0; i < steps.count; ++i) {
      const AttentionCallStep& s = steps.list[i];
      list[i] = {s.step, nullptr, nullptr, nullptr, s.x_at.col != 0, s.y_at.col != 0};
      if (s.x == nullptr) continue;
      if (s.y != nullptr) {
        list[i].condition = s.x->as<uint8_t>() + offset(s.x_at, r);
        list[i].y = s.y->as<float>() + offset(s.y_at, r);
      } else {
        list[i].x = s.x->as<float>() + offset(s.x_at, r);
      }
    }
    do_.steps(list, steps.count, row, count);
  }
  int64_t offset(const AttentionStrides& s, int64_t r) const {
    return n_.batch_offset(s, batch_) + head(r) * s.head + r % n_.rows * s.row;
  }

  // Returns the masking step, if it comes last and replaces all masked scores of a row by one
  // value.
  const AttentionCallStep* hiding() const {
    if (steps_[2].count == 0) return nullptr;
    const AttentionCallStep& s = steps_[2].list[steps_[2].count - 1];
    const bool hides = s.step == AttentionStep::kKeep || s.step == AttentionStep::kReplace;
    return hides && s.x_at.col == 1 && s.y_at.col == 0 ? &s : nullptr;
  }
  float hidden_value(int64_t r) const {
    const AttentionCallStep& s = *hiding();
    return s.y->as<float>()[offset(s.y_at, r)];
  }
  // Returns the number of keys up to the last one that is unmasked in any of these rows, rounded up
  // to whole panels.
  int64_t seen_keys(int64_t r0, int64_t rows) const {
    const AttentionCallStep* s = hiding();
    if (s == nullptr) return n_.keys;
    const bool keep = s->step == AttentionStep::kKeep;
    int64_t last = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const uint8_t* condition = s->x->as<uint8_t>() + offset(s->x_at, r0 + i);
      int64_t t = n_.keys;
      for (uint64_t eight = 0; t - 8 >= last; t -= 8) {
        memcpy(&eight, condition + t - 8, sizeof(eight));
        if (eight != (keep ? 0 : 0x0101010101010101u)) break;
      }
      while (t > last && (condition[t - 1] != 0) != keep) --t;
      last = t;
    }
    return std::min(round_up(last, t_.nr), n_.keys);
  }
  // Returns whether softmax gives the keys from `seen` on a weight of +0 in each row: the largest
  // score is finite and e^(value - largest) is +0, so neither the sum nor the division depends on
  // them.
  bool hidden_weigh_nothing(int64_t r0, int64_t rows, int64_t seen) const {
    for (int64_t i = 0; i < rows; ++i) {
      const float most = do_.largest(scores_ + i * cut_.step, seen), hidden = hidden_value(r0 + i);
      if (!std::isfinite(most) || !(hidden < most) || !do_.vanishes(hidden - most)) return false;
    }
    return true;
  }

  void score(int64_t rows, int64_t seen) {
    Gemm g;
    g.m = rows, g.k = n_.size;
    g.a = queries_, g.a_row = n_.size, g.a_col = 1;
    g.packed_b = keys_;
    g.c_row = cut_.step;
    const int64_t width = cut_.by_panel ? cut_.panel(t_) : std::max<int64_t>(seen, 1);
    for (int64_t from = 0; from < seen; from += width) {
      g.n = std::min(width, seen - from);
      g.c = scores_ + from;
      if (cut_.by_panel) pack_keys(from, g.n);
      gemm(t_, g, gemm_, nullptr);
    }
  }

  void clear(int64_t rows, int64_t width) {
    for (int64_t i = 0; i < rows; ++i)
      std::fill(scores_ + i * cut_.step + width, scores_ + i * cut_.step + n_.keys, 0.0f);
  }

  // Multiplies weights by values. After the last weight that is not +0 a product adds +0 or -0 to
  // the sum where the value is finite: that changes no sum but -0.
  void sum(int64_t rows, int64_t width) {
    int64_t live = 0;
    for (int64_t i = 0; i < rows; ++i)
      live = std::max(live, do_.live(scores_ + i * cut_.step, width));
    if (live < n_.keys && finite_behind(live)) {
      multiply(rows, live);
      if (!negative_zero(rows)) return;
    }
    clear(rows, width);
    multiply(rows, n_.keys);
  }
  void multiply(int64_t rows, int64_t keys) {
    Gemm g;
    g.m = rows, g.n = n_.values, g.k = keys;
    g.a = scores_, g.a_row = cut_.step, g.a_col = 1;
    if (cut_.pack_values) {
      g.packed_b = values_, g.packed_k = n_.keys;
    } else {
      g.b = v_, g.b_row = n_.v.row, g.b_col = n_.v.col;
    }
    g.c = sums_, g.c_row = n_.values;
    gemm(t_, g, gemm_, nullptr);
  }
  bool negative_zero(int64_t rows) const {
    uint32_t any = 0;
    for (int64_t i = 0; i < rows * n_.values; ++i)
      any |= static_cast<uint32_t>(std::bit_cast<uint32_t>(sums_[i]) == 0x80000000u);
    return any != 0;
  }
  bool finite_behind(int64_t keys) {
    for (; finite_from_ > keys; --finite_from_) {
      const float* value = v_ + (finite_from_ - 1) * n_.v.row;
      if (n_.v.col == 1) {
        if (!do_.finite(value, n_.values)) return false;
      } else {
        for (int64_t e = 0; e < n_.values; ++e) {
          if (!std::isfinite(value[e * n_.v.col])) return false;
        }
      }
    }
    return true;
  }

  void store(int64_t r0, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = sums_ + i * n_.values;
      float* to = y_ + head(r0 + i) * n_.out.head + (r0 + i) % n_.rows * n_.out.row;
      if (n_.out.col == 1) {
        memcpy(to, from, sizeof(float) * static_cast<size_t>(n_.values));
      } else {
        for (int64_t e = 0; e < n_.values; ++e) to[e * n_.out.col] = from[e];
      }
    }
  }

  const AttentionShape& n_;
  const Cut& cut_;
  const TileKernels& t_;
  const AttentionBodies& do_;
  const AttentionCallSteps* steps_;  // by phase
  Span<const TensorView> in_;
  const TensorView& out_;
  float *keys_, *values_, *queries_, *scores_, *sums_, *gemm_;
  int64_t batch_ = 0, head0_ = 0;
  const float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr;
  float* y_ = nullptr;
  int64_t finite_from_ = 0;  // values from this key on are known to be finite
};

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

struct Kernels {
  const TileKernels* tiles;
  const AttentionBodies* bodies;
  int threads;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const AttentionShape n(q.as<FusedAttentionAttrs>(), q.in, q.out[0]);
  p->keep(Kernels{&t, HWY_DYNAMIC_DISPATCH(find_attention)(q.edition), q.threads});
  if (q.out[0].numel() == 0) return {};
  Cut cut(n, t, q.threads);
  if (!cut.measure(n, t)) return Status(Code::kOutOfMemory, "rows of scores are too large");
  p->scratch_bytes = byte_count(sizeof(float) * static_cast<uint64_t>(cut.total() * q.threads));
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  if (out[0].numel() == 0) return {};  // no scratch was planned
  const auto& plan = ctx.plan->kept<Kernels>();
  const TileKernels& t = *plan.tiles;
  const AttentionBodies& bodies = *plan.bodies;
  const auto& a = *static_cast<const FusedAttentionAttrs*>(attrs);
  const AttentionShape n(a, in, out[0]);
  Cut cut(n, t, plan.threads);
  if (!cut.measure(n, t)) return Status(Code::kOutOfMemory, "rows of scores are too large");
  const AttentionCallSteps steps[] = {{a, n, in, 0}, {a, n, in, 1}, {a, n, in, 2}, {a, n, in, 3}};
  auto* scratch = static_cast<float*>(ctx.scratch);
  parallel_for(ctx.pool, n.batches * cut.units * cut.chunks, [&](int64_t task, int worker) {
    const int64_t chunk = task % cut.chunks * cut.chunk, item = task / cut.chunks;
    Task(n, cut, t, bodies, steps, in, out[0], scratch + worker * cut.total())
        .run(item / cut.units, item % cut.units, chunk, std::min(cut.rows, chunk + cut.chunk));
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(FusedAttention, {"fused_attention.f32.simd", kContiguous, match, plan, nullptr, run});

}  // namespace wick
#endif
