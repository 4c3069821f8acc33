// SIMD bodies of the pools, once per target: vectors run across neighbouring outputs of a row.
#if defined(WICK_KERNELS_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_POOL_INL_H_
#undef WICK_KERNELS_POOL_INL_H_
#else
#define WICK_KERNELS_POOL_INL_H_
#endif

#include "runtime/kernels/pool.h"
#include "runtime/kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace pool {

template <size_t width>
using Tag = hn::CappedTag<float, width>;

template <class D>
HWY_INLINE hn::Vec<D> max_of(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const hn::RebindToSigned<D> di;
  hn::Vec<D> zeros = hn::BitCast(d, hn::And(hn::BitCast(di, a), hn::BitCast(di, b)));
  hn::Vec<D> r = hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), zeros, r);
}

// x[0], x[2], ... and x[1], x[3], ...; reads 2 * lanes elements.
template <class D>
HWY_INLINE void load_pairs(D d, const float* x, hn::Vec<D>& even, hn::Vec<D>& odd) {
#if HWY_TARGET == HWY_SCALAR
  even = hn::LoadU(d, x);
  odd = hn::LoadU(d, x + 1);
#else
  hn::LoadInterleaved2(d, x, even, odd);
#endif
}

// One output row whose windows lie inside the input along the last dim: outputs [begin, end).
struct Row {
  const float* x;    // where the first window of the row would begin, padding included
  int64_t readable;  // elements from x to the end of the plane's row
  int64_t rows[2];   // window positions along the two outer dims
  int64_t row_step[2], kernel, dilation, stride;
  float divisor;
};

template <bool average, class D>
HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> acc, hn::Vec<D> v) {
  if constexpr (average) {
    return hn::Add(acc, v);
  } else {
    return max_of(d, acc, v);
  }
}

template <bool average, int step, class D>
HWY_INLINE void vector_output(D d, const Row& r, int64_t o, float* y) {
  hn::Vec<D> acc = hn::Set(d, average ? 0.0f : -__builtin_huge_valf());
  for (int64_t k0 = 0; k0 < r.rows[0]; ++k0) {
    for (int64_t k1 = 0; k1 < r.rows[1]; ++k1) {
      const float* p = r.x + k0 * r.row_step[0] + k1 * r.row_step[1] + o * step;
      int64_t k2 = 0;
      if constexpr (step == 2) {
        hn::Vec<D> even, odd;
        if (r.dilation == 1) {
          for (; k2 + 2 <= r.kernel; k2 += 2) {
            load_pairs(d, p + k2, even, odd);
            acc = combine<average>(d, combine<average>(d, acc, even), odd);
          }
        }
        for (; k2 < r.kernel; ++k2) {
          load_pairs(d, p + k2 * r.dilation, even, odd);
          acc = combine<average>(d, acc, even);
        }
      } else {
        for (; k2 < r.kernel; ++k2)
          acc = combine<average>(d, acc, hn::LoadU(d, p + k2 * r.dilation));
      }
    }
  }
  if constexpr (average) acc = hn::Div(acc, hn::Set(d, r.divisor));
  hn::StoreU(acc, d, y + o);
}

// As many of the outputs [begin, end) as vectors of `width` can do; returns where they stop. The
// last vector may overlap the one before: an output is the same whichever lane computes it.
template <bool average, int step, size_t width>
HWY_INLINE int64_t vector_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  const Tag<width> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 2) {
    // The last load of a window row begins at its last pair, or at its last element where that has
    // no partner.
    const int64_t last =
        r.dilation == 1 && r.kernel % 2 == 0 ? r.kernel - 2 : (r.kernel - 1) * r.dilation;
    const int64_t limit = (r.readable - last) / 2;  // outputs whose loads stay in the plane
    if (end > limit) end = limit;
  }
  if (end - begin < lanes) return begin;
  int64_t o = begin;
  for (; o + lanes <= end; o += lanes) vector_output<average, step>(d, r, o, y);
  if (o < end) vector_output<average, step>(d, r, end - lanes, y);
  return end;
}

template <bool average, int step>
HWY_INLINE int64_t row_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  int64_t o = vector_outputs<average, step, 16>(r, begin, end, y);
  if constexpr (hn::MaxLanes(Tag<16>()) > 8) o = vector_outputs<average, step, 8>(r, o, end, y);
  if constexpr (hn::MaxLanes(Tag<16>()) > 4) o = vector_outputs<average, step, 4>(r, o, end, y);
  return o;
}

// One output whose window row lies on the input.
template <bool average>
HWY_INLINE float inner_output(const Row& r, int64_t o) {
  float acc = average ? 0.0f : -__builtin_huge_valf();
  for (int64_t k0 = 0; k0 < r.rows[0]; ++k0) {
    for (int64_t k1 = 0; k1 < r.rows[1]; ++k1) {
      const float* p = r.x + k0 * r.row_step[0] + k1 * r.row_step[1] + o * r.stride;
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

// One output row; o[2] is free.
template <bool average>
HWY_INLINE void pool_row(const PoolShape& s, const float* x, PoolShape::Range* ranges, int64_t* o,
                         float* y) {
  // Outputs [lo, hi) have their whole window on the input.
  const int64_t reach = (s.kernel[2] - 1) * s.dilation[2];
  int64_t lo = (s.pad_begin[2] + s.stride[2] - 1) / s.stride[2];
  int64_t last = s.in[2] - 1 - reach + s.pad_begin[2];
  int64_t hi = last < 0 ? 0 : last / s.stride[2] + 1;
  if (hi > s.out[2]) hi = s.out[2];
  if (lo > hi) lo = hi;
  int64_t begin = 0;
  auto edge_until = [&](int64_t end) HWY_ATTR {
    for (o[2] = begin; o[2] < end; ++o[2]) {
      ranges[2] = s.valid(2, o[2]);
      y[o[2]] = one_output<average>(s, x, ranges, o);
    }
  };
  edge_until(lo);
  if (lo < hi) {
    o[2] = lo;
    ranges[2] = {0, s.kernel[2]};
    Row r;
    const int64_t at0 = o[0] * s.stride[0] - s.pad_begin[0] + ranges[0].begin * s.dilation[0];
    const int64_t at1 = o[1] * s.stride[1] - s.pad_begin[1] + ranges[1].begin * s.dilation[1];
    const int64_t first = (at0 * s.in[1] + at1) * s.in[2] - s.pad_begin[2];
    r.x = x + first;
    r.rows[0] = ranges[0].end - ranges[0].begin;
    r.rows[1] = ranges[1].end - ranges[1].begin;
    r.row_step[0] = s.dilation[0] * s.in[1] * s.in[2];
    r.row_step[1] = s.dilation[1] * s.in[2];
    r.readable =
        s.in_size() - first - (r.rows[0] - 1) * r.row_step[0] - (r.rows[1] - 1) * r.row_step[1];
    r.kernel = s.kernel[2];
    r.dilation = s.dilation[2];
    r.stride = s.stride[2];
    r.divisor = static_cast<float>(s.divisor(ranges, o));
    begin = lo;
    if (HWY_TARGET != HWY_SCALAR && r.stride == 1) begin = row_outputs<average, 1>(r, lo, hi, y);
    if (HWY_TARGET != HWY_SCALAR && r.stride == 2) begin = row_outputs<average, 2>(r, lo, hi, y);
    for (; begin < hi; ++begin) y[begin] = inner_output<average>(r, begin);
  }
  edge_until(s.out[2]);
}

template <bool average>
static void pool_planes(const float* x, const PoolShape& s, int64_t begin, int64_t end, float* y) {
  for (int64_t p = begin; p < end; ++p) {
    PoolShape::Range ranges[3];
    int64_t o[3];
    float* row = y + p * s.out_size();
    for (o[0] = 0; o[0] < s.out[0]; ++o[0]) {
      ranges[0] = s.valid(0, o[0]);
      for (o[1] = 0; o[1] < s.out[1]; ++o[1], row += s.out[2]) {
        ranges[1] = s.valid(1, o[1]);
        pool_row<average>(s, x + p * s.in_size(), ranges, o, row);
      }
    }
  }
}

}  // namespace pool

static PoolBody find_max_pool() { return pool::pool_planes<false>; }
static PoolBody find_average_pool() { return pool::pool_planes<true>; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
