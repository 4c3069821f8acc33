// Bodies of tile.h, included once per SIMD target.
#if defined(WICK_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TILE_INL_H_
#undef WICK_KERNELS_TILE_INL_H_
#else
#define WICK_KERNELS_TILE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"
#include "runtime/kernels/tile.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TileTag = hn::ScalableTag<float>;
using TileVec = hn::Vec<TileTag>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));
// Rows x 3 accumulators, 3 vectors and a broadcast must fit the registers: 32 of them on AVX-512
// and aarch64, 16 elsewhere.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_ARCH_ARM_A64
constexpr int kMr = 8;
#else
constexpr int kMr = 4;
#endif
constexpr int kNv = 3;

// Highway's one-lane fallback multiplies and adds in two roundings; the contract wants one.
template <class V>
HWY_INLINE V fused_mul_add(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

// Where the CPU has no masked moves, Highway's MaskedLoad may read whole vectors and its
// BlendedStore rewrites a neighbour's elements; partial vectors go through memory of our own there.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr bool kHaveMaskedMoves = true;
#else
constexpr bool kHaveMaskedMoves = false;
#endif

// The first n lanes, the rest zero; touches no memory beyond them.
HWY_INLINE TileVec load_n(const TileTag d, const float* p, int n) {
  if (n == kLanes) return hn::LoadU(d, p);
  if (kHaveMaskedMoves) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
}

HWY_INLINE void store_n(TileVec v, const TileTag d, float* p, int n) {
  if (n == kLanes) return hn::StoreU(v, d, p);
  if (kHaveMaskedMoves) return hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, d, lanes);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}

// Targets that only old machines choose have fewer bodies: they are weight in every program.
constexpr bool kFewBodies = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE4;

enum class Walk { kStep, kRowTable, kVecTable };

// Hides a value from the loop optimizer, which would otherwise carry eight pointers instead of one
// index.
#define WICK_OPAQUE(x) asm("" : "+r"(x))

// What a clip cuts below; at -infinity it changes nothing, NaN included.
HWY_INLINE float lower_bound(const Epilogue& e) {
  if (e.act == Activation::kRelu) return 0.0f;
  return e.act == Activation::kClip ? e.alpha : -__builtin_huge_valf();
}

// Rows beyond row_count repeat the last row: they read and write the same values again, which costs
// less than a body for each count.
template <Walk kWalk, int kRows, int kVecs, bool kFinish = false>
HWY_NOINLINE void tile_body(const TileArgs& t, [[maybe_unused]] const Epilogue* e = nullptr,
                            [[maybe_unused]] int64_t channel0 = 0) {
  const TileTag d;
  const int last = t.row_count - 1;
  // The last vector may be partial in `out` (whole without masked moves); it never is in `vec`.
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
  int64_t at = 0;
  for (int64_t k = t.k; k > 0; --k) {
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

  if constexpr (kFinish) {
    const bool scaled = e->scale != nullptr;
    const float* residual = e->residual;
    const bool below = e->act == Activation::kClip;
    const TileVec low = hn::Set(d, lower_bound(*e)), high = hn::Set(d, e->beta);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int64_t channel = channel0 + HWY_MIN(r, last);
      // y + -0 is y, whatever y.
      const TileVec bias = hn::Set(d, e->bias == nullptr ? -0.0f : e->bias[channel]);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) acc[r][v] = hn::Add(acc[r][v], bias);
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
      // clip, of which relu and no activation at all are the first half
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
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_ARCH_ARM_A64
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

// One row over kVecs vectors of up to three panels side by side: more sums than a tile of one row
// has, because each step of k waits for the one before.
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

// The activations that are a step or two; the others take a pass of their own.
HWY_INLINE TileVec activate(const Epilogue& e, TileVec y) {
  using simd_math::F;
  switch (e.act) {
    case Activation::kRelu: return simd_math::relu(F(y)).v;
    case Activation::kClip: return simd_math::clip(F(y), F(e.alpha), F(e.beta)).v;
    case Activation::kLeakyRelu: return simd_math::leaky_relu(F(y), F(e.alpha)).v;
    default: return y;
  }
}

template <class Fn>
HWY_NOINLINE void map_rows(float* y, int64_t step, int64_t rows, int64_t cols, Fn fn) {
  const TileTag d;
  for (int64_t r = 0; r < rows; ++r, y += step) {
    for (int64_t c = 0; c < cols; c += kLanes) {
      const int n = static_cast<int>(HWY_MIN(int64_t{kLanes}, cols - c));
      store_n(fn(simd_math::F(load_n(d, y + c, n))).v, d, y + c, n);
    }
  }
}

void activate_rows(Activation act, float* y, int64_t step, int64_t rows, int64_t cols) {
  using simd_math::F;
  switch (act) {
    case Activation::kSigmoid:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::sigmoid(x); });
    case Activation::kTanh:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::tanh(x); });
    case Activation::kSilu:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::silu(x); });
    case Activation::kHardSwish:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::hard_swish(x); });
    case Activation::kGeluErf:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::gelu(x); });
    case Activation::kGeluTanh:
      return map_rows(y, step, rows, cols, [](F x) HWY_ATTR { return simd_math::gelu_tanh(x); });
    default: return;
  }
}

// Rows whose lanes are different channels.
void finish_columns(const Epilogue& e, int64_t channel0, const float* src, int64_t src_step,
                    float* dst, int64_t dst_step, int64_t rows, int64_t cols) {
  const TileTag d;
  for (int64_t r = 0; r < rows; ++r, src += src_step, dst += dst_step) {
    for (int64_t c = 0; c < cols; c += kLanes) {
      const int n = static_cast<int>(HWY_MIN(int64_t{kLanes}, cols - c));
      const int64_t at = channel0 + c;
      TileVec y = load_n(d, src + c, n);
      if (e.bias != nullptr) y = hn::Add(y, load_n(d, e.bias + at, n));
      if (e.scale != nullptr) {
        y = fused_mul_add(y, load_n(d, e.scale + at, n), load_n(d, e.shift + at, n));
      }
      if (e.residual != nullptr) {
        y = hn::Add(y, load_n(d, e.residual + r * e.residual_step + c, n));
      }
      store_n(activate(e, y), d, dst + c, n);
    }
  }
}

// Rows of one channel each, or all of one channel.
void finish_rows(const Epilogue& e, int64_t channel, const float* src, int64_t src_step, float* dst,
                 int64_t dst_step, int64_t rows, int64_t cols) {
  const TileTag d;
  const bool scaled = e.scale != nullptr, leaky = e.act == Activation::kLeakyRelu;
  const bool above = e.act == Activation::kClip;
  const TileVec low = hn::Set(d, lower_bound(e)), high = hn::Set(d, e.beta);
  const int64_t whole = cols / kLanes * kLanes;
  const int rest = static_cast<int>(cols - whole);
  for (int64_t r = 0; r < rows; ++r, src += src_step, dst += dst_step) {
    // y + -0 is y, whatever y.
    const TileVec bias = hn::Set(d, e.bias == nullptr ? -0.0f : e.bias[channel]);
    const TileVec scale = hn::Set(d, scaled ? e.scale[channel] : 0.0f);
    const TileVec shift = hn::Set(d, scaled ? e.shift[channel] : 0.0f);
    const float* residual = e.residual == nullptr ? nullptr : e.residual + r * e.residual_step;
    const auto value = [&](int64_t c, int n) HWY_ATTR {
      TileVec y = hn::Add(load_n(d, src + c, n), bias);
      if (scaled) y = fused_mul_add(y, scale, shift);
      if (residual != nullptr) y = hn::Add(y, load_n(d, residual + c, n));
      if (leaky) return activate(e, y);
      y = hn::IfThenElse(hn::Le(y, low), low, y);
      return above ? hn::IfThenElse(hn::Ge(y, high), high, y) : y;
    };
    for (int64_t c = 0; c < whole; c += kLanes) hn::StoreU(value(c, kLanes), d, dst + c);
    if (rest != 0) store_n(value(whole, rest), d, dst + whole, rest);
    if (e.channel == Epilogue::Channel::kRow) ++channel;
  }
}

void finish(const Epilogue& e, int64_t channel0, const float* src, int64_t src_step, float* dst,
            int64_t dst_step, int64_t rows, int64_t cols) {
  const auto body = e.channel == Epilogue::Channel::kColumn ? finish_columns : finish_rows;
  body(e, channel0, src, src_step, dst, dst_step, rows, cols);
  if (e.act >= Activation::kSigmoid) activate_rows(e.act, dst, dst_step, rows, cols);
}

void tile_finish(const TileArgs& t, const Epilogue& e, int64_t channel0) {
  if constexpr (!kFewBodies) {
    if (kHaveMaskedMoves || t.cols % kLanes == 0) {
      constexpr Walk kWalk = Walk::kVecTable;
      if (t.cols > 2 * kLanes) return tile_body<kWalk, kMr, 3, true>(t, &e, channel0);
      if (t.cols > kLanes) return tile_body<kWalk, kMr, 2, true>(t, &e, channel0);
      return tile_body<kWalk, kMr, 1, true>(t, &e, channel0);
    }
  }
  tile_any<Walk::kVecTable>(t);
  Epilogue by_row = e;
  by_row.channel = Epilogue::Channel::kRow;
  finish(by_row, channel0, t.out, t.out_step, t.out, t.out_step, t.row_count, t.cols);
}

// Lanes [begin, end) of a vector; both may lie outside it.
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
    // Of the elements from column c's on, those of columns [lo, hi); between two columns of step 2
    // lies one that is not wanted.
    const int64_t begin = (lo - c) * step, end = (hi - c) * step - (step - 1);
    const auto first = lanes_between(d, begin, end);
    const auto second = lanes_between(d, begin - kLanes, end - kLanes);
    const auto kept = lanes_between(d, 0, cols - c);
    // The vector may begin before `from`, where no lane is loaded: not a pointer C++ knows.
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

// Four independent sums, so that the FMA's latency is hidden.
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

void transpose(const float* HWY_RESTRICT src, int64_t src_step, float* HWY_RESTRICT dst,
               int64_t dst_step, int64_t rows, int64_t cols) {
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> d64;
  for (; r + 4 <= rows; r += 4) {
    const float* s = src + r * src_step;
    float* o = dst + r;
    int64_t c = 0;
    for (; c + 4 <= cols; c += 4, s += 4, o += 4 * dst_step) {
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
    for (; c < cols; ++c, ++s, o += dst_step) {
      for (int i = 0; i < 4; ++i) o[i] = s[i * src_step];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) dst[c * dst_step + r] = src[r * src_step + c];
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
                                       &pad_rows};
  return &kSet;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_TILE_INL_H_
