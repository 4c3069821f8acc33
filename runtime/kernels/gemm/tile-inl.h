// Bodies of tile.h, included once per SIMD target.
#if defined(WICK_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TILE_INL_H_
#undef WICK_KERNELS_TILE_INL_H_
#else
#define WICK_KERNELS_TILE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/gemm/tile.h"
#include "runtime/kernels/gemm/tile_finish-inl.h"
#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows beyond row_count repeat the last row: they read and write the same values again, which costs
// less than a body for each count.
enum class Ends { kSums, kRowChannels, kColumnChannels };  // what becomes of the sums
template <Walk kWalk, int kRows, int kVecs, Ends kEnds = Ends::kSums>
HWY_NOINLINE void tile_body(const TileArgs& t, [[maybe_unused]] const Epilogue* e = nullptr,
                            [[maybe_unused]] int64_t channel0 = 0) {
  const TileTag d;
  const int last = t.row_count - 1;
  // The last vector may be partial in `out` (whole without masked moves), never in `vec`.
  const auto mask = hn::FirstN(d, static_cast<size_t>(t.cols - (kVecs - 1) * kLanes));

  TileVec acc[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) acc[r][v] = hn::Zero(d);
  }
  if (t.resume) {
    const float* out = t.out;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v + 1 < kVecs; ++v) acc[r][v] = hn::LoadU(d, out + v * kLanes);
      const float* end = out + (kVecs - 1) * kLanes;
      acc[r][kVecs - 1] = kHaveMaskedMoves ? hn::MaskedLoad(mask, d, end) : hn::LoadU(d, end);
      out += r < last ? t.out_step : 0;
    }
  }

  const float* row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    row[r] = t.rows[HWY_MIN(r, last)];
    WICK_OPAQUE(row[r]);
  }
  const float* vec = t.vec;
  const int32_t* offset = kWalk == Walk::kRowTable ? t.row_offset : t.vec_offset;
  const int64_t row_step = t.row_step;
  const int64_t vec_step = t.vec_step;
  const float* ahead = t.ahead != nullptr ? t.ahead : vec;
  int64_t at = 0;
  for (int64_t k = t.k; k > 0; --k) {
    if constexpr (kFetchesAhead && kWalk == Walk::kStep) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLanes;
    }
    const float* v_at = vec;
    if (kWalk == Walk::kVecTable) v_at = vec + *offset++;
    if (kWalk == Walk::kRowTable) at = *offset++;
    WICK_OPAQUE(at);
    TileVec b[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) b[v] = hn::LoadU(d, v_at + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const TileVec a = hn::Set(d, row[r][at]);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) acc[r][v] = fused_mul_add(a, b[v], acc[r][v]);
    }
    if (kWalk != Walk::kVecTable) vec += vec_step;
    if (kWalk != Walk::kRowTable) at += row_step;
  }

  if constexpr (kEnds != Ends::kSums) {
    constexpr bool kByRow = kEnds == Ends::kRowChannels;
    const float* residual = e->residual;
    const bool scaled = kByRow && e->scale != nullptr;
    const bool below = e->act == Activation::kClip;
    const TileVec low = hn::Set(d, lower_bound(*e)), high = hn::Set(d, e->beta);
    TileVec bias[kVecs];  // y + -0 is y for every y
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) bias[v] = hn::Set(d, -0.0f);
    if (!kByRow && e->bias != nullptr) {
      const float* from = e->bias + channel0;
#pragma GCC unroll 3
      for (int v = 0; v + 1 < kVecs; ++v) bias[v] = hn::LoadU(d, from + v * kLanes);
      from += (kVecs - 1) * kLanes;
      bias[kVecs - 1] = kHaveMaskedMoves ? hn::MaskedLoad(mask, d, from) : hn::LoadU(d, from);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int64_t channel = channel0 + HWY_MIN(r, last);
      if (kByRow && e->bias != nullptr) bias[0] = hn::Set(d, e->bias[channel]);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) acc[r][v] = hn::Add(acc[r][v], bias[kByRow ? 0 : v]);
      if (scaled) {
        const TileVec scale = hn::Set(d, e->scale[channel]), shift = hn::Set(d, e->shift[channel]);
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) acc[r][v] = fused_mul_add(acc[r][v], scale, shift);
      }
      if (residual != nullptr) {
#pragma GCC unroll 3
        for (int v = 0; v + 1 < kVecs; ++v) {
          acc[r][v] = hn::Add(acc[r][v], hn::LoadU(d, residual + v * kLanes));
        }
        const float* end = residual + (kVecs - 1) * kLanes;
        const TileVec part = kHaveMaskedMoves ? hn::MaskedLoad(mask, d, end) : hn::LoadU(d, end);
        acc[r][kVecs - 1] = hn::Add(acc[r][kVecs - 1], part);
        residual += r < last ? e->residual_step : 0;
      }
      // clip; relu and no activation use only its lower bound
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) {
        acc[r][v] = hn::IfThenElse(hn::Le(acc[r][v], low), low, acc[r][v]);
      }
      if (below) {
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) {
          acc[r][v] = hn::IfThenElse(hn::Ge(acc[r][v], high), high, acc[r][v]);
        }
      }
    }
  }

  float* out = t.out;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v + 1 < kVecs; ++v) hn::StoreU(acc[r][v], d, out + v * kLanes);
    float* end = out + (kVecs - 1) * kLanes;
    if (kHaveMaskedMoves) {
      hn::BlendedStore(acc[r][kVecs - 1], mask, d, end);
    } else {
      hn::StoreU(acc[r][kVecs - 1], d, end);
    }
    out += r < last ? t.out_step : 0;
  }
}

template <Walk kWalk, int kRows>
HWY_INLINE void tile_cols(const TileArgs& t) {
  if (t.cols > 2 * kLanes) return tile_body<kWalk, kRows, 3>(t);
  if (t.cols > kLanes) return tile_body<kWalk, kRows, 2>(t);
  return tile_body<kWalk, kRows, 1>(t);
}

template <Walk kWalk>
HWY_INLINE void tile_rows(const TileArgs& t) {
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
  if (t.row_count > 6) return tile_cols<kWalk, 8>(t);
  if (t.row_count > 4) return tile_cols<kWalk, 6>(t);
#endif
  if (t.row_count > 2) return tile_cols<kWalk, 4>(t);
  if (t.row_count > 1) return tile_cols < kWalk, kFewBodies ? 4 : 2 > (t);
  return tile_cols<kWalk, 1>(t);
}

template <Walk kWalk>
void tile_any(const TileArgs& t) {
  if (kHaveMaskedMoves || t.cols % kLanes == 0) return tile_rows<kWalk>(t);
  HWY_ALIGN float whole[kMr * kNv * kLanes] = {};
  TileArgs inner = t;
  inner.out = whole;
  inner.out_step = kNv * kLanes;
  inner.cols = (t.cols / kLanes + 1) * kLanes;
  if (t.resume) {
    for (int r = 0; r < t.row_count; ++r) {
      for (int c = 0; c < t.cols; ++c) whole[r * inner.out_step + c] = t.out[r * t.out_step + c];
    }
  }
  tile_rows<kWalk>(inner);
  for (int r = 0; r < t.row_count; ++r) {
    for (int c = 0; c < t.cols; ++c) t.out[r * t.out_step + c] = whole[r * inner.out_step + c];
  }
}

// One row by kVecs vectors of up to three adjacent panels: a tile of one row has too few sums to
// hide the FMA's latency.
template <int kVecs>
HWY_NOINLINE void row_body(const TileArgs& t, int64_t panel_step, const float* last,
                           int64_t last_step) {
  const TileTag d;
  const int rest = t.cols - (kVecs - 1) * kLanes;
  TileVec acc[kVecs];
#pragma GCC unroll 9
  for (int v = 0; v + 1 < kVecs; ++v) {
    acc[v] = t.resume ? hn::LoadU(d, t.out + v * kLanes) : hn::Zero(d);
  }
  acc[kVecs - 1] = t.resume ? load_n(d, t.out + (kVecs - 1) * kLanes, rest) : hn::Zero(d);
  const float* row = t.rows[0];
  const float* vec = t.vec;
  const int64_t row_step = t.row_step;
  const int64_t vec_step = t.vec_step;
  for (int64_t k = t.k; k > 0; --k) {
    const TileVec a = hn::Set(d, *row);
#pragma GCC unroll 9
    for (int v = 0; v < kVecs; ++v) {
      const float* panel = v / kNv == (kVecs - 1) / kNv ? last : vec + v / kNv * panel_step;
      const float* from = panel + v % kNv * kLanes;
      acc[v] = fused_mul_add(a, hn::LoadU(d, from), acc[v]);
    }
    row += row_step;
    vec += vec_step;
    last += last_step;
  }
#pragma GCC unroll 9
  for (int v = 0; v + 1 < kVecs; ++v) hn::StoreU(acc[v], d, t.out + v * kLanes);
  store_n(acc[kVecs - 1], d, t.out + (kVecs - 1) * kLanes, rest);
}

void row_of_panels(const TileArgs& t, int64_t panel_step, const float* last, int64_t last_step) {
  if constexpr (!kFewBodies) {
    switch ((t.cols + kLanes - 1) / kLanes) {
      case 7: return row_body<7>(t, panel_step, last, last_step);
      case 8: return row_body<8>(t, panel_step, last, last_step);
      case 9: return row_body<9>(t, panel_step, last, last_step);
      default: break;
    }
  }
  TileArgs one = t;
  for (int col = 0; col < t.cols; col += kNv * kLanes) {
    const bool at_end = col + kNv * kLanes >= t.cols;
    one.cols = HWY_MIN(kNv * kLanes, t.cols - col);
    one.vec = at_end ? last : t.vec + col / (kNv * kLanes) * panel_step;
    one.vec_step = at_end ? last_step : t.vec_step;
    one.out = t.out + col;
    tile_any<Walk::kStep>(one);
  }
}

void tile_finish(const TileArgs& t, const Epilogue& e, int64_t channel0) {
  if constexpr (!kFewBodies) {
    if (kHaveMaskedMoves || t.cols % kLanes == 0) {
      constexpr Walk kWalk = Walk::kVecTable;
      constexpr Ends kEnds = Ends::kRowChannels;
      if (t.cols > 2 * kLanes) return tile_body<kWalk, kMr, 3, kEnds>(t, &e, channel0);
      if (t.cols > kLanes) return tile_body<kWalk, kMr, 2, kEnds>(t, &e, channel0);
      return tile_body<kWalk, kMr, 1, kEnds>(t, &e, channel0);
    }
  }
  tile_any<Walk::kVecTable>(t);
  Epilogue by_row = e;
  by_row.channel = Epilogue::Channel::kRow;
  finish(by_row, channel0, t.out, t.out_step, t.out, t.out_step, t.row_count, t.cols);
}

// Narrow tiles, and those of few rows, would compute much that is not there.
void tile_columns(const TileArgs& t, const Epilogue& e, int64_t channel0) {
  if constexpr (!kFewBodies) {
    const bool fits = t.cols > 2 * kLanes && (kHaveMaskedMoves || t.cols % kLanes == 0);
    if (fits && 2 * t.row_count > kMr && e.scale == nullptr && e.act <= Activation::kClip)
      return tile_body<Walk::kStep, kMr, 3, Ends::kColumnChannels>(t, &e, channel0);
  }
  tile_any<Walk::kStep>(t);
  finish(e, channel0, t.out, t.out_step, t.out, t.out_step, t.row_count, t.cols);
}

// Returns a mask of lanes [begin, end); both may be outside of the vector.
HWY_INLINE hn::Mask<TileTag> lanes_between(const TileTag d, int64_t begin, int64_t end) {
  const auto until = [&](int64_t n) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(HWY_MIN(HWY_MAX(n, int64_t{0}), int64_t{kLanes})));
  };
  return hn::And(until(end), hn::Not(until(begin)));
}

void pad_rows(const float* from, int64_t from_step, int64_t step, int64_t rows, int64_t lo,
              int64_t hi, int64_t cols, float* to) {
  if (!kHaveMaskedMoves || step > 2) {
    for (int64_t r = 0; r < rows; ++r, from += from_step, to += cols) {
      for (int64_t c = 0; c < lo; ++c) to[c] = 0;
      for (int64_t c = lo; c < hi; ++c) to[c] = from[(c - lo) * step];
      for (int64_t c = hi; c < cols; ++c) to[c] = 0;
    }
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  const TileTag d;
  for (int64_t c = 0; c < cols; c += kLanes) {
    // Keeps the elements of columns [lo, hi) among those from column c's on; with step 2 every
    // other element is skipped.
    const int64_t begin = (lo - c) * step, end = (hi - c) * step - (step - 1);
    const auto first = lanes_between(d, begin, end);
    const auto second = lanes_between(d, begin - kLanes, end - kLanes);
    const auto kept = lanes_between(d, 0, cols - c);
    // The vector may begin before `from`, where no lane is loaded: that is not a valid C++ pointer.
    uintptr_t at = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>((c - lo) * step) * 4;
    for (int64_t r = 0; r < rows; ++r, at += static_cast<uintptr_t>(from_step) * 4) {
      const auto* p = reinterpret_cast<const float*>(at);  // NOLINT(performance-no-int-to-ptr)
      TileVec v = hn::MaskedLoad(first, d, p);
      if (step == 2) {
        p = reinterpret_cast<const float*>(at + kLanes * sizeof(float));  // NOLINT(*-int-to-ptr)
        v = hn::ConcatEven(d, hn::MaskedLoad(second, d, p), v);
      }
      if (cols - c >= kLanes) {
        hn::StoreU(v, d, to + r * cols + c);
      } else {
        hn::BlendedStore(v, kept, d, to + r * cols + c);
      }
    }
  }
#endif
}

// Four independent sums hide the FMA's latency.
void taps(const float* x, const int32_t* offset, const float* w, int64_t n, float* out,
          int64_t count) {
  const TileTag d;
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    TileVec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t t = 0; t < n; ++t) {
      const TileVec wt = hn::Set(d, w[t]);
      const float* p = x + offset[t] + i;
      s0 = fused_mul_add(wt, hn::LoadU(d, p), s0);
      s1 = fused_mul_add(wt, hn::LoadU(d, p + kLanes), s1);
      s2 = fused_mul_add(wt, hn::LoadU(d, p + 2 * kLanes), s2);
      s3 = fused_mul_add(wt, hn::LoadU(d, p + 3 * kLanes), s3);
    }
    hn::StoreU(s0, d, out + i);
    hn::StoreU(s1, d, out + i + kLanes);
    hn::StoreU(s2, d, out + i + 2 * kLanes);
    hn::StoreU(s3, d, out + i + 3 * kLanes);
  }
  for (; i < count; i += kLanes) {
    TileVec sum = hn::Zero(d);
    for (int64_t t = 0; t < n; ++t) {
      sum = fused_mul_add(hn::Set(d, w[t]), hn::LoadU(d, x + offset[t] + i), sum);
    }
    hn::StoreU(sum, d, out + i);
  }
}

// Transposes a cache line's worth of columns at a time: each line of the source is read once,
// however far apart its rows are, and the lines written are few enough to stay in the cache.
void transpose(const float* HWY_RESTRICT src, int64_t src_step, float* HWY_RESTRICT dst,
               int64_t dst_step, int64_t rows, int64_t cols) {
  constexpr int64_t kBlock = 16;
  for (int64_t c0 = 0; c0 < cols; c0 += kBlock, src += kBlock, dst += kBlock * dst_step) {
    const int64_t some = cols - c0 < kBlock ? cols - c0 : kBlock;
    int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::FixedTag<float, 4> d;
    const hn::RepartitionToWide<decltype(d)> d64;
    for (; r + 4 <= rows; r += 4) {
      const float* s = src + r * src_step;
      float* o = dst + r;
      if (c0 + kBlock < cols) {  // no hardware prefetcher follows as many rows
        for (int i = 0; i < 4; ++i) __builtin_prefetch(s + i * src_step + kBlock);
      }
      int64_t c = 0;
      for (; c + 4 <= some; c += 4, s += 4, o += 4 * dst_step) {
        WICK_OPAQUE(c);
        const auto v0 = hn::LoadU(d, s), v1 = hn::LoadU(d, s + src_step);
        const auto v2 = hn::LoadU(d, s + 2 * src_step), v3 = hn::LoadU(d, s + 3 * src_step);
        const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1));
        const auto b = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
        const auto e = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
        const auto f = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, a, b)), d, o);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, a, b)), d, o + dst_step);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, e, f)), d, o + 2 * dst_step);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, e, f)), d, o + 3 * dst_step);
      }
      for (; c < some; ++c, ++s, o += dst_step) {
        WICK_OPAQUE(c);  // the remainder is small: keeps the code short
        const float* from = s;
        for (int i = 0; i < 4; ++i, from += src_step) {
          WICK_OPAQUE(from);
          o[i] = *from;
        }
      }
    }
#endif
    for (; r < rows; ++r) {
      for (int64_t c = 0; c < some; ++c) {
        WICK_OPAQUE(c);
        dst[c * dst_step + r] = src[r * src_step + c];
      }
    }
  }
}

const TileKernels* tile_set() {
  static constexpr TileKernels kSet = {kLanes,
                                       kMr,
                                       kNv * kLanes,
                                       &tile_any<Walk::kStep>,
                                       &tile_any<Walk::kRowTable>,
                                       &tile_any<Walk::kVecTable>,
                                       &finish,
                                       &transpose,
                                       &taps,
                                       &row_of_panels,
                                       &tile_finish,
                                       &tile_columns,
                                       &pad_rows};
  return &kSet;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_TILE_INL_H_
