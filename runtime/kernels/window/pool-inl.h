// SIMD bodies of the pooling ops, once per target: lanes are neighbouring outputs of a row.
#if defined(WICK_KERNELS_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_POOL_INL_H_
#undef WICK_KERNELS_POOL_INL_H_
#else
#define WICK_KERNELS_POOL_INL_H_
#endif

#include "runtime/kernels/reduce/reduce-inl.h"
#include "runtime/kernels/window/pool.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace pool {

// Targets whose partial loads and stores cost about as much as whole ones.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
constexpr bool kMasked = true;
#else
constexpr bool kMasked = false;
#endif

// Loads the first n lanes; whole vectors where kMasked is false.
template <class D>
HWY_INLINE hn::Vec<D> load_part(D d, const float* p, int64_t n) {
  if (!kMasked || n >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, p);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(HWY_MAX(n, int64_t{0}))), d, p);
}

// Loads p[0], p[2], ... and p[1], p[3], ... of the n elements at p; 2 * lanes where kMasked is
// false.
template <class D>
HWY_INLINE void load_pairs(D d, const float* p, int64_t n, hn::Vec<D>& even, hn::Vec<D>& odd) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(n);
  even = hn::LoadU(d, p);
  odd = hn::LoadU(d, p + 1);
#else
  if (!kMasked) return hn::LoadInterleaved2(d, p, even, odd);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const hn::Vec<D> lo = load_part(d, p, n);
  const hn::Vec<D> hi = n > lanes ? load_part(d, p + lanes, n - lanes) : hn::Zero(d);
  even = hn::ConcatEven(d, hi, lo);
  odd = hn::ConcatOdd(d, hi, lo);
#endif
}

// An output row whose windows are inside the input along the last dim.
struct Row {
  const float* x;    // the plane
  int64_t first;     // of the row's first window, from x; may be in the padding before x
  int64_t readable;  // elements from there to the end of the plane's last row in the window
  int64_t rows[2];   // window positions along the two outer dims
  int64_t row_step[2], kernel, dilation, stride;
  float divisor;
};

// Accumulates a window for a vector of outputs. NaN takes precedence and +0 > -0, whatever the
// target's Max returns for them: NaNs are tracked separately, and the AND of a window's bits is +0
// if the largest element is a zero and one of its zeros is +0.
template <bool average, class D>
struct Window {
  D d;
  hn::Vec<D> value, bits;
  hn::Mask<D> nan;

  HWY_INLINE explicit Window(D tag)
      : d(tag),
        value(hn::Set(tag, average ? 0.0f : -__builtin_huge_valf())),
        bits(hn::Set(tag, -0.0f)),
        nan(hn::IsNaN(hn::Zero(tag))) {}

  HWY_INLINE void add(hn::Vec<D> v) {
    if constexpr (average) {
      value = hn::Add(value, v);
    } else {
      value = hn::Max(value, v);
      bits = hn::And(bits, v);
      nan = hn::Or(nan, hn::IsNaN(v));
    }
  }
  HWY_INLINE hn::Vec<D> result(float divisor) const {
    if constexpr (average) return hn::Div(value, hn::Set(d, divisor));
    const hn::Vec<D> zeros = hn::IfThenElse(hn::Eq(value, hn::Zero(d)), bits, value);
    return hn::IfThenElse(nan, hn::Set(d, __builtin_nanf("")), zeros);
  }
};

// Computes n outputs from the o-th on; n is the vector's length unless kMasked.
template <bool average, int step, class D>
HWY_INLINE void vector_output(D d, const Row& r, int64_t o, int64_t n, float* y) {
  Window<average, D> w(d);
  for (int64_t k0 = 0; k0 < r.rows[0]; ++k0) {
    for (int64_t k1 = 0; k1 < r.rows[1]; ++k1) {
      const float* p = r.x + (r.first + k0 * r.row_step[0] + k1 * r.row_step[1] + o * step);
      int64_t k2 = 0;
      if constexpr (step == 2) {
        hn::Vec<D> even, odd;
        if (r.dilation == 1) {
          for (; k2 + 2 <= r.kernel; k2 += 2) {
            load_pairs(d, p + k2, 2 * n, even, odd);
            w.add(even);
            w.add(odd);
          }
        }
        for (; k2 < r.kernel; ++k2) {
          load_pairs(d, p + k2 * r.dilation, 2 * n - 1, even, odd);
          w.add(even);
        }
      } else {
        for (; k2 < r.kernel; ++k2) w.add(load_part(d, p + k2 * r.dilation, n));
      }
    }
  }
  const hn::Vec<D> v = w.result(r.divisor);
  if (!kMasked || n == static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(v, d, y + o);
  } else {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, y + o);
  }
}

// Computes as many of the outputs [begin, end) as vectors of `width` can; returns where they stop.
// The last vector may overlap the one before: an output does not depend on the lane that computes
// it.
template <bool average, int step, size_t width>
HWY_INLINE int64_t vector_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  const hn::CappedTag<float, width> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 2) {
    // The last load of a window row begins at its last pair, or at its last element if that has no
    // partner.
    const int64_t last =
        r.dilation == 1 && r.kernel % 2 == 0 ? r.kernel - 2 : (r.kernel - 1) * r.dilation;
    const int64_t limit = (r.readable - last) / 2;  // outputs whose loads stay in the plane
    if (end > limit) end = limit;
  }
  if (end - begin < lanes) return begin;
  int64_t o = begin;
  for (; o + lanes <= end; o += lanes) vector_output<average, step>(d, r, o, lanes, y);
  if (o < end) vector_output<average, step>(d, r, end - lanes, lanes, y);
  return end;
}

template <bool average, int step>
HWY_INLINE int64_t row_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  using Full = hn::CappedTag<float, 16>;
  if constexpr (kMasked) {
    const Full d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t o = begin;
    for (; o + lanes <= end; o += lanes) vector_output<average, step>(d, r, o, lanes, y);
    if (o < end && end - o <= lanes / 2) {  // half the width, half the work
      const hn::Half<Full> half;
      vector_output<average, step>(half, r, o, end - o, y);
    } else if (o < end) {
      vector_output<average, step>(d, r, o, end - o, y);
    }
    return end;
  }
  int64_t o = vector_outputs<average, step, 16>(r, begin, end, y);
  if constexpr (hn::MaxLanes(Full()) > 8) o = vector_outputs<average, step, 8>(r, o, end, y);
  if constexpr (hn::MaxLanes(Full()) > 4) o = vector_outputs<average, step, 4>(r, o, end, y);
  return o;
}

// Computes one output whose window row is inside the input.
template <bool average>
HWY_INLINE float inner_output(const Row& r, int64_t o) {
  float acc = average ? 0.0f : -__builtin_huge_valf();
  for (int64_t k0 = 0; k0 < r.rows[0]; ++k0) {
    for (int64_t k1 = 0; k1 < r.rows[1]; ++k1) {
      const float* p = r.x + (r.first + k0 * r.row_step[0] + k1 * r.row_step[1] + o * r.stride);
      for (int64_t k2 = 0; k2 < r.kernel; ++k2) {
        const float v = p[k2 * r.dilation];
        acc = average ? acc + v : reduce::extreme_one<true>(acc, v);
      }
    }
  }
  return average ? acc / r.divisor : acc;
}

template <bool average>
HWY_INLINE float one_output(const PoolShape& s, const float* x, const PoolShape::Range* ranges,
                            const int64_t* o) {
  float acc = average ? 0.0f : -__builtin_huge_valf();
  for_each_position(s, ranges, o, [&](int64_t i) HWY_ATTR {
    acc = average ? acc + x[i] : reduce::extreme_one<true>(acc, x[i]);
  });
  return average ? acc / static_cast<float>(s.divisor(ranges, o)) : acc;
}

// Like PoolShape::valid, without a division where the whole window is inside the input.
HWY_INLINE PoolShape::Range valid_rows(const PoolShape& s, int d, int64_t o) {
  const int64_t start = o * s.stride[d] - s.pad_begin[d];
  if (start >= 0 && start + (s.kernel[d] - 1) * s.dilation[d] < s.in[d]) return {0, s.kernel[d]};
  return s.valid(d, o);
}

// Returns the outputs of a row whose whole window is inside the input along the last dim.
HWY_INLINE PoolShape::Range inner_columns(const PoolShape& s) {
  const int64_t reach = (s.kernel[2] - 1) * s.dilation[2];
  int64_t lo = (s.pad_begin[2] + s.stride[2] - 1) / s.stride[2];
  const int64_t last = s.in[2] - 1 - reach + s.pad_begin[2];
  int64_t hi = last < 0 ? 0 : last / s.stride[2] + 1;
  if (hi > s.out[2]) hi = s.out[2];
  if (lo > hi) lo = hi;
  return {lo, hi};
}

// Computes one output row; o[2] is ignored.
template <bool average>
HWY_INLINE void pool_row(const PoolShape& s, PoolShape::Range inner, const float* x,
                         PoolShape::Range* ranges, int64_t* o, float* y, Poll& poll) {
  int64_t begin = 0;
  auto edge_until = [&](int64_t end) HWY_ATTR {
    for (o[2] = begin; o[2] < end; ++o[2]) {
      if (poll(s.kernel[2])) return;
      ranges[2] = s.valid(2, o[2]);
      y[o[2]] = one_output<average>(s, x, ranges, o);
    }
  };
  edge_until(inner.begin);
  if (inner.begin < inner.end) {
    o[2] = inner.begin;
    ranges[2] = {0, s.kernel[2]};
    Row r;
    const int64_t at0 = o[0] * s.stride[0] - s.pad_begin[0] + ranges[0].begin * s.dilation[0];
    const int64_t at1 = o[1] * s.stride[1] - s.pad_begin[1] + ranges[1].begin * s.dilation[1];
    r.x = x;
    r.first = (at0 * s.in[1] + at1) * s.in[2] - s.pad_begin[2];
    r.rows[0] = ranges[0].end - ranges[0].begin;
    r.rows[1] = ranges[1].end - ranges[1].begin;
    r.row_step[0] = s.dilation[0] * s.in[1] * s.in[2];
    r.row_step[1] = s.dilation[1] * s.in[2];
    r.readable =
        s.in_size() - r.first - (r.rows[0] - 1) * r.row_step[0] - (r.rows[1] - 1) * r.row_step[1];
    r.kernel = s.kernel[2];
    r.dilation = s.dilation[2];
    r.stride = s.stride[2];
    r.divisor = average ? static_cast<float>(s.divisor(ranges, o)) : 1.0f;
    begin = inner.begin;
    while (begin < inner.end) {
      const int64_t end = begin + poll.piece(inner.end - begin);
      if (poll(end - begin)) return;
      if (HWY_TARGET != HWY_SCALAR && r.stride == 1) {
        begin = row_outputs<average, 1>(r, begin, end, y);
      }
      if (HWY_TARGET != HWY_SCALAR && r.stride == 2) {
        begin = row_outputs<average, 2>(r, begin, end, y);
      }
      for (; begin < end; ++begin) y[begin] = inner_output<average>(r, begin);
    }
  }
  edge_until(s.out[2]);
}

// The most common pooling, two by two without padding or gaps, has no loops over the window.
HWY_INLINE bool is_max_2x2(const PoolShape& s) {
  bool plain = s.kernel[0] == 1 && s.out[0] == s.in[0] && s.pad_begin[0] == 0;
  for (int d = 1; d < 3; ++d) {
    plain = plain && s.kernel[d] == 2 && s.stride[d] == 2 && s.dilation[d] == 1 &&
            s.pad_begin[d] == 0 && 2 * s.out[d] <= s.in[d];
  }
  return plain && s.stride[0] == 1;
}

// Computes n outputs from 2 n elements of both rows.
template <class D>
HWY_INLINE void max_2x2_vector(D d, const float* x, int64_t row, int64_t n, float* y) {
#if HWY_TARGET != HWY_SCALAR
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = [&](const float* p) HWY_ATTR { return hn::BitCast(di, load_part(d, p, 2 * n)); };
  const auto high = [&](const float* p) HWY_ATTR {
    if (2 * n <= lanes) return hn::Zero(di);
    return hn::BitCast(di, load_part(d, p + lanes, 2 * n - lanes));
  };
  const auto a = low(x), b = high(x), c = low(x + row), e = high(x + row);
  const auto any = hn::Or(hn::Or(a, b), hn::Or(c, e));
  hn::Vec<D> v;
  if (hn::AllFalse(di, hn::Lt(any, hn::Zero(di)))) {
    // There is no sign bit, as after relu: floats have the order of their bits, with NaN above all.
    const auto lo = hn::BitCast(d, hn::Max(a, c)), hi = hn::BitCast(d, hn::Max(b, e));
    v = hn::BitCast(d, hn::Max(hn::BitCast(di, hn::ConcatEven(d, hi, lo)),
                               hn::BitCast(di, hn::ConcatOdd(d, hi, lo))));
  } else {
    Window<false, D> w(d);
    for (const bool first : {true, false}) {
      const auto lo = hn::BitCast(d, first ? a : c), hi = hn::BitCast(d, first ? b : e);
      w.add(hn::ConcatEven(d, hi, lo));
      w.add(hn::ConcatOdd(d, hi, lo));
    }
    v = w.result(1.0f);
  }
  if (n == lanes) {
    hn::StoreU(v, d, y);
  } else {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, y);
  }
#else
  static_cast<void>(d), static_cast<void>(x), static_cast<void>(row), static_cast<void>(n),
      static_cast<void>(y);
#endif
}

// Used on targets where partial vectors are cheap.
static void max_2x2(const float* x, const PoolShape& s, int64_t begin, int64_t end, float* y) {
  using Full = hn::ScalableTag<float>;
  const Full d;
  const hn::Half<Full> half;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = s.out[2];
  const int64_t whole = width / lanes * lanes;
  const int64_t rest = width - whole;
  y += begin * s.out_size();
  Poll poll;
  for (int64_t p = begin * s.in[0]; p < end * s.in[0]; ++p) {
    const float* plane = x + p * s.in[1] * s.in[2];
    for (int64_t i = 0; i < s.out[1]; ++i, y += width) {
      if (poll(width)) return;
      const float* row = plane + 2 * i * s.in[2];
      for (int64_t o = 0; o < whole; o += lanes) {
        max_2x2_vector(d, row + 2 * o, s.in[2], lanes, y + o);
      }
      if (rest > lanes / 2) {
        max_2x2_vector(d, row + 2 * whole, s.in[2], rest, y + whole);
      } else if (rest > 0) {  // half the width, half the work
        max_2x2_vector(half, row + 2 * whole, s.in[2], rest, y + whole);
      }
    }
  }
}

template <bool average>
static void pool_planes(const float* x, const PoolShape& s, int64_t begin, int64_t end, float* y) {
  if (kMasked && !average && is_max_2x2(s)) return max_2x2(x, s, begin, end, y);
  const PoolShape::Range inner = inner_columns(s);
  const int64_t row_work = s.out[2] * (s.window() < kPollWork ? s.window() : kPollWork);
  Poll poll;
  for (int64_t p = begin; p < end; ++p) {
    PoolShape::Range ranges[3];
    int64_t o[3];
    float* row = y + p * s.out_size();
    for (o[0] = 0; o[0] < s.out[0]; ++o[0]) {
      ranges[0] = valid_rows(s, 0, o[0]);
      for (o[1] = 0; o[1] < s.out[1]; ++o[1], row += s.out[2]) {
        if (poll(row_work)) return;
        ranges[1] = valid_rows(s, 1, o[1]);
        pool_row<average>(s, inner, x + p * s.in_size(), ranges, o, row, poll);
      }
    }
  }
}

// Computes rows [first, last) of outputs of one block of channels (TensorView::block), which are
// the lanes.
template <bool average>
static void blocked_rows(const float* x, const PoolShape& s, int64_t first, int64_t last,
                         float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  PoolShape::Range ranges[3] = {{0, 1}, {0, 0}, {0, 0}};
  int64_t o[3] = {};
  Poll poll;
  for (o[1] = first; o[1] < last; ++o[1]) {
    ranges[1] = valid_rows(s, 1, o[1]);
    const int64_t top = o[1] * s.stride[1] - s.pad_begin[1];
    for (o[2] = 0; o[2] < s.out[2]; ++o[2]) {
      if (poll(s.window())) return;
      ranges[2] = valid_rows(s, 2, o[2]);
      const int64_t left = o[2] * s.stride[2] - s.pad_begin[2];
      Window<average, hn::ScalableTag<float>> window(d);
      for (int64_t i = ranges[1].begin; i < ranges[1].end; ++i) {
        const float* row = x + ((top + i * s.dilation[1]) * s.in[2] + left) * lanes;
        for (int64_t j = ranges[2].begin; j < ranges[2].end; ++j)
          window.add(hn::LoadU(d, row + j * s.dilation[2] * lanes));
      }
      const float divisor = average ? static_cast<float>(s.divisor(ranges, o)) : 1.0f;
      hn::StoreU(window.result(divisor), d, y + (o[1] * s.out[2] + o[2]) * lanes);
    }
  }
}

}  // namespace pool

static PoolBody find_max_pool() { return pool::pool_planes<false>; }
static PoolBody find_average_pool() { return pool::pool_planes<true>; }
// x and y are one block of channels; begin and end count output rows.
static PoolBody find_blocked_max_pool() { return pool::blocked_rows<false>; }
static PoolBody find_blocked_average_pool() { return pool::blocked_rows<true>; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
