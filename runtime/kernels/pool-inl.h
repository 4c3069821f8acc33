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

// x[0], x[step], ... for step 1 or 2. Step 2 reads 2 * lanes elements.
template <int step, class D>
HWY_INLINE hn::Vec<D> load_stepped(D d, const float* x) {
  if constexpr (step == 1) {
    return hn::LoadU(d, x);
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::LoadU(d, x);
#else
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(d, x, even, odd);
    return even;
#endif
  }
}

// One output row whose windows lie inside the input along the last dim: outputs [begin, end).
struct Row {
  const float* x;    // where the first window of the row would begin, padding included
  int64_t readable;  // elements from x to the end of the plane's row
  int64_t rows[2];   // window positions along the two outer dims
  int64_t row_step[2], kernel, dilation, stride;
  float divisor;
};

template <bool average, int step, size_t width>
HWY_INLINE int64_t vector_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  const Tag<width> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto start = hn::Set(d, average ? 0.0f : -__builtin_huge_valf());
  int64_t o = begin;
  for (; o + lanes <= end; o += lanes) {
    if (step == 2 && o * 2 + (r.kernel - 1) * r.dilation + 2 * lanes > r.readable) break;
    auto acc = start;
    for (int64_t k0 = 0; k0 < r.rows[0]; ++k0) {
      for (int64_t k1 = 0; k1 < r.rows[1]; ++k1) {
        const float* p = r.x + k0 * r.row_step[0] + k1 * r.row_step[1] + o * step;
        for (int64_t k2 = 0; k2 < r.kernel; ++k2) {
          auto v = load_stepped<step>(d, p + k2 * r.dilation);
          if constexpr (average) {
            acc = hn::Add(acc, v);
          } else {
            acc = max_of(d, acc, v);
          }
        }
      }
    }
    if constexpr (average) acc = hn::Div(acc, hn::Set(d, r.divisor));
    hn::StoreU(acc, d, y + o);
  }
  return o;
}

template <bool average, int step>
HWY_INLINE int64_t row_outputs(const Row& r, int64_t begin, int64_t end, float* y) {
  int64_t o = vector_outputs<average, step, 16>(r, begin, end, y);
  if constexpr (hn::MaxLanes(Tag<16>()) > 8) o = vector_outputs<average, step, 8>(r, o, end, y);
  if constexpr (hn::MaxLanes(Tag<16>()) > 4) o = vector_outputs<average, step, 4>(r, o, end, y);
  return o;
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
  const bool vector = s.stride[2] <= 2 && hi > lo && HWY_TARGET != HWY_SCALAR;
  int64_t begin = 0;
  auto scalar_until = [&](int64_t end) HWY_ATTR {
    for (o[2] = begin; o[2] < end; ++o[2]) {
      ranges[2] = s.valid(2, o[2]);
      y[o[2]] = one_output<average>(s, x, ranges, o);
    }
  };
  if (vector) {
    scalar_until(lo);
    o[2] = lo;
    ranges[2] = {0, s.kernel[2]};
    Row r;
    const int64_t at0 = o[0] * s.stride[0] - s.pad_begin[0] + ranges[0].begin * s.dilation[0];
    const int64_t at1 = o[1] * s.stride[1] - s.pad_begin[1] + ranges[1].begin * s.dilation[1];
    r.x = x + (at0 * s.in[1] + at1) * s.in[2] - s.pad_begin[2];
    r.readable = s.in[2] + s.pad_begin[2];
    r.rows[0] = ranges[0].end - ranges[0].begin;
    r.rows[1] = ranges[1].end - ranges[1].begin;
    r.row_step[0] = s.dilation[0] * s.in[1] * s.in[2];
    r.row_step[1] = s.dilation[1] * s.in[2];
    r.kernel = s.kernel[2];
    r.dilation = s.dilation[2];
    r.stride = s.stride[2];
    r.divisor = static_cast<float>(s.divisor(ranges, o));
    begin = s.stride[2] == 1 ? row_outputs<average, 1>(r, lo, hi, y)
                             : row_outputs<average, 2>(r, lo, hi, y);
  }
  scalar_until(s.out[2]);
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

static PoolBody find_pool(bool average) {
  return average ? pool::pool_planes<true> : pool::pool_planes<false>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
