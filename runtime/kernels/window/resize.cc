// The fast rows of Resize, along the last two dims. Linear or cubic, float32: input rows are
// resized horizontally once and kept as long as output rows read them. Nearest, float32 or bytes: a
// row is expanded once and copied for the output rows that read the same one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/window/resize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/window/resize_table.h"

#ifndef WICK_KERNELS_RESIZE_CC_
#define WICK_KERNELS_RESIZE_CC_
namespace wick {
// A table [tap][step]: for each tap, the weights and positions of all outputs.
struct ResizeRow {
  const float* weight;
  const int32_t* at;
  int64_t taps, step;
};
struct ResizeKernels {
  void (*across)(const float* x, const ResizeRow& row, int64_t n, float* y);
  void (*down)(const float* const* lines, const float* weight, int count, int64_t n, float* y);
  // These are for interpolate(), which rounds products and sums separately. `readable` elements
  // from x on may be read.
  void (*across_apart)(const float* x, int64_t readable, const ResizeRow& row, int64_t n, float* y);
  void (*down_apart)(const float* const* lines, const float* weight, int count, int64_t n,
                     float* y);
  // Pixels [begin, end) of a row whose pixels are `block` channels each.
  void (*across_blocks)(const float* x, const ResizeRow& row, int64_t begin, int64_t end,
                        int64_t block, float* y);
  void (*across_blocks_apart)(const float* x, const ResizeRow& row, int64_t begin, int64_t end,
                              int64_t block, float* y);
};
}  // namespace wick
#endif

#include "runtime/kernels/window/resize-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(resize_set);

constexpr int kMaxTaps = 4;
constexpr int64_t kRows = 32;  // per task; its first ones may be another task's last
constexpr int64_t kWidestInBlocks = int64_t{1} << 18;  // because a row is not split

size_t row_bytes(int64_t w) { return rounded(kMaxTaps * w * 8); }
size_t line_bytes(int64_t w) { return rounded(kMaxTaps * w * 4); }

bool is_nearest(const ResizeAttrs& a) {
  return a.mode == static_cast<int64_t>(ResizeMode::kNearest);
}

bool fits(const KernelQuery& q) {
  const auto& a = q.as<ResizeAttrs>();
  const Shape &x = q.in[0].shape, &y = q.out[0].shape;
  if (x.rank() < 2 || a.antialias != 0 || numel(y) == 0 ||
      a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize))
    return false;
  for (int d = 0; d + 2 < x.rank(); ++d) {
    if (x[d] != y[d]) return false;
  }
  const int last = x.rank() - 1;
  return x[last] <= INT32_MAX && y[last] <= (int64_t{1} << 26);
}
bool match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && !is_nearest(q.as<ResizeAttrs>()) && fits(q);
}
template <class T>
bool match_nearest(const KernelQuery& q) {
  const DType t = q.in[0].dtype;
  const bool is_type = sizeof(T) == 1 ? t == DType::kU8 || t == DType::kI8 : t == DType::kF32;
  return is_type && is_nearest(q.as<ResizeAttrs>()) && fits(q);
}

// Finds the axes that are the last two dims; false where another axis changes: even a scale that
// keeps the size may move elements along it.
bool last_axes(const ResizeJob& job, int last, const ResizeAxis** down, const ResizeAxis** across) {
  for (int i = 0; i < job.count; ++i) {
    if (job.axes[i].dim < last - 1) return false;
    (job.axes[i].dim == last ? *across : *down) = &job.axes[i];
  }
  return true;
}

struct Rows {
  ResizeScales scales;
  const ResizeKernels* kernels;
  size_t tables;  // bytes of scratch for the tables
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const Shape &x = q.in[0].shape, &y = q.out[0].shape;
  WICK_TRY(plan_resize(q, p));
  // A line has the input's width where the vertical pass comes first (interpolate).
  const int last = y.rank() - 1;
  const int64_t w = q.as<ResizeAttrs>().interpolate != 0 && x[last] > y[last] ? x[last] : y[last];
  const size_t tables = rounded(static_cast<int64_t>(p->scratch_bytes));
  p->keep(Rows{q.args->resize, HWY_DYNAMIC_DISPATCH(resize_set)(), tables});
  const int64_t pixel = q.in[0].block != 0 ? q.in[0].block : 1;
  p->scratch_bytes = byte_count(uint64_t{tables} + row_bytes(w) +
                                uint64_t{line_bytes(w * pixel)} * static_cast<uint64_t>(q.threads));
  return {};
}

ResizeRow across_row(const ResizeAxis& s, char* scratch) {
  auto* weight = reinterpret_cast<float*>(scratch);
  auto* at = reinterpret_cast<int32_t*>(weight + kMaxTaps * s.out);
  Poll poll;
  for (int64_t o = 0; o < s.out && !poll(2 * s.taps); ++o) {
    for (int64_t t = 0; t < s.taps; ++t) {
      weight[t * s.out + o] = static_cast<float>(s.table[o * s.taps + t].weight);
      at[t * s.out + o] = static_cast<int32_t>(s.table[o * s.taps + t].at);
    }
  }
  return {weight, at, s.taps, s.out};
}

// Splits a row into pieces, as there may be only one row.
void across_in_pieces(const ResizeKernels& t, const float* x, const ResizeRow& row, int64_t n,
                      float* y) {
  Poll poll(n < kPollWork ? nullptr : current_stop());
  in_pieces(poll, n, [&](int64_t begin, int64_t end) {
    ResizeRow part = row;
    part.weight += begin, part.at += begin;
    t.across(x, part, end - begin, y + begin);
  });
}

// interpolate(): each output row is made of input rows, then resized horizontally.
void interpolate_rows(const KernelCtx& ctx, const TensorView& in, const TensorView& out,
                      const ResizeAxis* down, const ResizeRow& across) {
  const auto& plan = ctx.plan->kept<Rows>();
  const ResizeKernels& t = *plan.kernels;
  const int last = in.rank() - 1;
  const int64_t h = in.dim(last - 1), w = in.dim(last), oh = out.dim(last - 1), ow = out.dim(last);
  const int64_t widest = w > ow ? w : ow, rows = out.numel() / ow;
  const auto room = static_cast<int64_t>(line_bytes(widest) / sizeof(float));
  char* lines_of = static_cast<char*>(ctx.scratch) + plan.tables + row_bytes(widest);
  int64_t some = kElementGrain / widest;  // rows of a task
  if (some < 1) some = 1;
  parallel_for(ctx.pool, (rows + some - 1) / some, [&](int64_t task, int worker) {
    auto* made = reinterpret_cast<float*>(lines_of) + worker * room;
    const int64_t end = (task + 1) * some < rows ? (task + 1) * some : rows;
    for (int64_t row = task * some; row < end; ++row) {
      const float* x = in.as<float>() + row / oh * h * w;
      float* y = out.as<float>() + row * ow;
      if (down == nullptr) {  // with one spatial dim there are only rows
        t.across_apart(x + row % oh * w, w, across, ow, y);
        continue;
      }
      const Neighbour* n = down->table + row % oh * down->taps;
      const float* lines[kMaxTaps];
      float weight[kMaxTaps];
      for (int64_t i = 0; i < down->taps; ++i)
        lines[i] = x + n[i].at * w, weight[i] = static_cast<float>(n[i].weight);
      t.down_apart(lines, weight, static_cast<int>(down->taps), w, made);
      t.across_apart(made, room, across, ow, y);
    }
  });
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& plan = ctx.plan->kept<Rows>();
  const ResizeKernels& t = *plan.kernels;
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  auto* scratch = static_cast<char*>(ctx.scratch);
  ResizeJob job;
  resize_tables(in, out[0], a, plan.scales, scratch, &job);
  if (stopped()) return {};  // the tables are incomplete
  const int last = in[0].rank() - 1;
  const ResizeAxis *down = nullptr, *across = nullptr;
  if (!last_axes(job, last, &down, &across)) {
    resize_f32_ref(job, in, out, a, ctx.pool);
    return {};
  }
  const int64_t h = in[0].dim(last - 1), w = in[0].dim(last);
  const int64_t oh = out[0].dim(last - 1), ow = out[0].dim(last);
  char* own = scratch + plan.tables + row_bytes(ow);
  ResizeRow row{};
  if (across != nullptr) row = across_row(*across, scratch + plan.tables);
  const int64_t planes = out[0].numel() / (oh * ow), tasks = (oh + kRows - 1) / kRows;
  if (a.interpolate != 0) {
    interpolate_rows(ctx, in[0], out[0], down, row);
    return {};
  }
  parallel_for(ctx.pool, planes * tasks, [&](int64_t task, int worker) {
    auto* kept = reinterpret_cast<float*>(own + static_cast<size_t>(worker) * line_bytes(ow));
    int64_t which[kMaxTaps] = {-1, -1, -1, -1};  // the input row in each line
    const float* x = in[0].as<float>() + task / tasks * h * w;
    float* y = out[0].as<float>() + task / tasks * oh * ow;
    const int64_t from = task % tasks * kRows, to = from + kRows < oh ? from + kRows : oh;
    for (int64_t o = from; o < to; ++o) {
      if (down == nullptr) {
        if (across != nullptr) {
          across_in_pieces(t, x + o * w, row, ow, y + o * ow);
        } else {
          copy_bytes(y + o * ow, x + o * w, static_cast<size_t>(ow) * sizeof(float));
        }
        continue;
      }
      const float* lines[kMaxTaps];
      float weight[kMaxTaps];
      int count = 0;
      for (int64_t i = 0; i < down->taps; ++i) {
        const Neighbour& n = down->table[o * down->taps + i];
        weight[count] = static_cast<float>(n.weight);
        if (weight[count] == 0) continue;
        lines[count] = x + n.at * w;
        if (across != nullptr) {
          const int64_t slot = n.at % kMaxTaps;  // neighbours are consecutive
          if (which[slot] != n.at) across_in_pieces(t, x + n.at * w, row, ow, kept + slot * ow);
          which[slot] = n.at;
          lines[count] = kept + slot * ow;
        }
        ++count;
      }
      t.down(lines, weight, count, ow, y + o * ow);
    }
  });
  return {};
}

// y[i] = x[i / times]
template <int64_t times, class T>
void repeat(const T* x, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < times; ++k) y[i * times + k] = x[i];
  }
}

// Returns how many consecutive times each element of an axis occurs in the result; 0: not uniform.
int64_t repeats(const ResizeAxis& s) {
  const int64_t times = s.in == 0 || s.out % s.in != 0 ? 0 : s.out / s.in;
  for (int64_t o = 0; times != 0 && o < s.out; ++o) {
    if (s.table[o].at != o / times) return 0;
  }
  return times;
}

template <class T>
Status run_nearest(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  ResizeJob job;
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  resize_tables(in, out[0], a, ctx.plan->kept<ResizeScales>(), ctx.scratch, &job);
  if (stopped()) return {};  // the tables are incomplete
  const int last = in[0].rank() - 1;
  const ResizeAxis *down = nullptr, *across = nullptr;
  if (!last_axes(job, last, &down, &across)) {
    resize_nearest_ref(job, in, out, a, ctx.pool);
    return {};
  }
  const int64_t h = in[0].dim(last - 1), w = in[0].dim(last);
  const int64_t oh = out[0].dim(last - 1), ow = out[0].dim(last);
  const size_t bytes = static_cast<size_t>(ow) * sizeof(T);
  const int64_t times = across == nullptr ? 1 : repeats(*across);
  const int64_t planes = out[0].numel() / (oh * ow), tasks = (oh + kRows - 1) / kRows;
  parallel_for(ctx.pool, planes * tasks, [&](int64_t task, int) {
    const T* x = in[0].as<T>() + task / tasks * h * w;
    T* y = out[0].as<T>() + task / tasks * oh * ow;
    const int64_t from = task % tasks * kRows, to = from + kRows < oh ? from + kRows : oh;
    Poll poll;
    int64_t before = -1;  // the source row of the previous output row
    for (int64_t o = from; o < to; ++o) {
      const int64_t row = down == nullptr ? o : down->table[o].at;
      const T* source = x + row * w;
      T* result = y + o * ow;
      if (row == before) {
        __builtin_memcpy(result, result - ow, bytes);
      } else if (times == 1) {
        __builtin_memcpy(result, source, bytes);
      } else if (times == 2) {
        repeat<2>(source, w, result);
      } else if (times == 4) {
        repeat<4>(source, w, result);
      } else if (times == 8) {
        repeat<8>(source, w, result);
      } else {
        in_pieces(poll, ow, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) result[i] = source[across->table[i].at];
        });
      }
      before = row;
    }
  });
  return {};
}

// Values in blocks of channels: a pixel of a row is a vector.
bool blocked_fits(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  if (!is_blocked(t, q.in[0]) || !is_blocked(t, q.out[0]) || q.args == nullptr || !fits(q))
    return false;
  const auto& a = q.as<ResizeAttrs>();
  const ResizeScales& s = q.args->resize;
  for (int d = 0; d < 2; ++d) {  // a scale that keeps the size may still move what lies along it
    const bool moves = s.region[d] >= 0 && s.scale[d].p != s.scale[d].q;
    if (moves && a.interpolate == 0) return false;
  }
  return q.in[0].shape[3] <= kWidestInBlocks && q.out[0].shape[3] <= kWidestInBlocks;
}
bool match_blocked(const KernelQuery& q) {
  return blocked_fits(q) && !is_nearest(q.as<ResizeAttrs>());
}
bool match_blocked_nearest(const KernelQuery& q) {
  return blocked_fits(q) && is_nearest(q.as<ResizeAttrs>());
}

// A run over blocks of channels works on this.
struct BlockedMaps {
  const float* x;
  float* y;
  int64_t block, h, w, oh, ow, blocks, maps;

  BlockedMaps(const TensorView& in, const TensorView& out)
      : x(in.as<float>()),
        y(out.as<float>()),
        block(in.block),
        h(in.shape[2]),
        w(in.shape[3]),
        oh(out.shape[2]),
        ow(out.shape[3]),
        blocks(blocks_of(in)),
        maps(in.shape[0] * blocks) {}
  const float* row(int64_t map, int64_t at) const { return x + (map * h + at) * w * block; }
  float* result(int64_t map, int64_t at) const { return y + (map * oh + at) * ow * block; }
  // Tasks are pieces of maps. Those of the same rows follow each other, as in parallel_bands().
  int64_t map_of(int64_t task, int64_t pieces) const {
    return task / (blocks * pieces) * blocks + task % blocks;
  }
  int64_t piece_of(int64_t task, int64_t pieces) const { return task / blocks % pieces; }
};

Status run_blocked(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const auto& plan = ctx.plan->kept<Rows>();
  const ResizeKernels& t = *plan.kernels;
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  auto* scratch = static_cast<char*>(ctx.scratch);
  ResizeJob job;
  resize_tables(in, out[0], a, plan.scales, scratch, &job);
  if (stopped()) return {};  // the tables are not whole
  const ResizeAxis *down = nullptr, *across = nullptr;
  if (!last_axes(job, 3, &down, &across))
    return Status(Code::kInternal, "Resize: blocks of channels are not resized");
  const BlockedMaps m(in[0], out[0]);
  const int64_t widest = m.w > m.ow ? m.w : m.ow, lane = a.interpolate != 0 ? widest : m.ow;
  ResizeRow row{};
  if (across != nullptr) row = across_row(*across, scratch + plan.tables);
  char* own = scratch + plan.tables + row_bytes(lane);
  const size_t line = line_bytes(lane * m.block);
  const bool apart = a.interpolate != 0;
  const auto sideways = [&](const float* x, float* y) {
    Poll poll;
    in_pieces(poll, m.ow, [&](int64_t begin, int64_t end) {
      (apart ? t.across_blocks_apart : t.across_blocks)(x, row, begin, end, m.block, y);
    });
  };
  const int64_t tasks = (m.oh + kRows - 1) / kRows;
  parallel_for(ctx.pool, m.maps * tasks, [&](int64_t task, int worker) {
    auto* kept = reinterpret_cast<float*>(own + static_cast<size_t>(worker) * line);
    int64_t which[kMaxTaps] = {-1, -1, -1, -1};  // row of the input that a line has
    const int64_t map = m.map_of(task, tasks), from = m.piece_of(task, tasks) * kRows;
    TaskPoll poll(current_stop());
    for (int64_t o = from; o < from + kRows && o < m.oh && !poll(); ++o) {
      float* y = m.result(map, o);
      if (down == nullptr) {
        if (across == nullptr) {
          copy_bytes(y, m.row(map, o), static_cast<size_t>(m.ow * m.block) * sizeof(float));
        } else {
          sideways(m.row(map, o), y);
        }
        continue;
      }
      const float* lines[kMaxTaps];
      float weight[kMaxTaps];
      int count = 0;
      for (int64_t i = 0; i < down->taps; ++i) {
        const Neighbour& n = down->table[o * down->taps + i];
        weight[count] = static_cast<float>(n.weight);
        if (weight[count] == 0 && !apart) continue;
        lines[count] = m.row(map, n.at);
        if (across != nullptr && !apart) {
          const int64_t slot = n.at % kMaxTaps;  // neighbours follow one another
          float* made = kept + slot * m.ow * m.block;
          if (which[slot] != n.at) sideways(lines[count], made);
          which[slot] = n.at;
          lines[count] = made;
        }
        ++count;
      }
      if (!apart) {
        t.down(lines, weight, count, m.ow * m.block, y);
      } else if (across == nullptr) {
        t.down_apart(lines, weight, count, m.ow * m.block, y);
      } else {
        t.down_apart(lines, weight, count, m.w * m.block, kept);
        sideways(kept, y);
      }
    }
  });
  return {};
}

template <size_t bytes>
void spread(const float* x, const Neighbour* table, int64_t n, float* y) {
  constexpr size_t kFloats = bytes / sizeof(float);
  for (int64_t i = 0; i < n; ++i)
    __builtin_memcpy(y + static_cast<size_t>(i) * kFloats,
                     x + static_cast<size_t>(table[i].at) * kFloats, bytes);
}

Status run_blocked_nearest(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                           const void* attrs) {
  ResizeJob job;
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  resize_tables(in, out[0], a, ctx.plan->kept<ResizeScales>(), ctx.scratch, &job);
  if (stopped()) return {};  // the tables are not whole
  const ResizeAxis *down = nullptr, *across = nullptr;
  if (!last_axes(job, 3, &down, &across))
    return Status(Code::kInternal, "Resize: blocks of channels are not resized");
  const BlockedMaps m(in[0], out[0]);
  const auto spread_row = m.block == 16 ? &spread<64> : m.block == 8 ? &spread<32> : &spread<16>;
  const size_t bytes = static_cast<size_t>(m.ow * m.block) * sizeof(float);
  const int64_t tasks = (m.oh + kRows - 1) / kRows;
  parallel_for(ctx.pool, m.maps * tasks, [&](int64_t task, int) {
    const int64_t map = m.map_of(task, tasks), from = m.piece_of(task, tasks) * kRows;
    int64_t before = -1;  // the row that the output row before this one has
    TaskPoll poll(current_stop());
    for (int64_t o = from; o < from + kRows && o < m.oh && !poll(); ++o) {
      const int64_t row = down == nullptr ? o : down->table[o].at;
      float* y = m.result(map, o);
      if (row == before || across == nullptr) {
        __builtin_memcpy(y, row == before ? y - m.ow * m.block : m.row(map, row), bytes);
      } else {
        spread_row(m.row(map, row), across->table, m.ow, y);
      }
      before = row;
    }
  });
  return {};
}

}  // namespace

WICK_BLOCKED_ROWS(Resize,
                  {"resize.f32.blocked", kBlocked, match_blocked, plan, nullptr, run_blocked},
                  {"resize_nearest.f32.blocked", kBlocked, match_blocked_nearest, plan_resize,
                   nullptr, run_blocked_nearest});
WICK_CPU_ROWS(Resize, {"resize.f32.simd", kContiguous, match, plan, nullptr, run},
              {"resize_nearest.f32", kContiguous, match_nearest<float>, plan_resize, nullptr,
               run_nearest<float>},
              {"resize_nearest.bytes", kContiguous, match_nearest<uint8_t>, plan_resize, nullptr,
               run_nearest<uint8_t>});

}  // namespace wick
#endif
