// The SIMD body of NormRows, once per target: a row is read three times, from the cache after the
// first, and written once.
#if defined(WICK_KERNELS_NORM_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_NORM_ROWS_INL_H_
#undef WICK_KERNELS_NORM_ROWS_INL_H_
#else
#define WICK_KERNELS_NORM_ROWS_INL_H_
#endif

#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/norm_rows.h"
#include "runtime/kernels/reduce/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace norm_rows {

using reduce::fill;
using reduce::V16;

// Rows up to this length are computed four at a time.
constexpr int64_t kShort = kSumBlock;

// The means and the roots of the variances of R rows of n elements; means of 0 where not `centred`.
template <int R>
HWY_INLINE void moments(const float* const* x, int64_t n, float epsilon, float* mean, float* root,
                        bool centred = true) {
  const auto count = static_cast<float>(n);
  if (centred) {
    reduce::row_sums<R>(
        n, [x](auto access, int r, int64_t i) HWY_ATTR { return access.load(x[r] + i); }, mean);
  }
  for (int r = 0; r < R; ++r) mean[r] = centred ? mean[r] / count : 0.0f;
  reduce::row_sums<R>(
      n,
      [x, mean](auto access, int r, int64_t i) HWY_ATTR {
        const V16 from_mean = hn::Sub(access.load(x[r] + i), fill(mean[r]));
        return hn::Mul(from_mean, from_mean);
      },
      root);
  for (int r = 0; r < R; ++r)
    root[r] = hn::GetLane(simd_math::sqrt(simd_math::F(root[r] / count + epsilon)).v);
}

template <int R>
HWY_INLINE void rows(const NormRows& s, int64_t row) {
  const float* x[R];
  float mean[R], root[R];
  for (int r = 0; r < R; ++r) x[r] = s.x + (row + r) * s.n;
  moments<R>(x, s.n, s.epsilon, mean, root, s.centred);
  for (int r = 0; r < R && s.inverted; ++r) root[r] = 1.0f / root[r];
  const auto standardized = [&](auto access, int r, int64_t i) HWY_ATTR {
    const V16 from_mean = hn::Sub(access.load(x[r] + i), fill(mean[r]));
    return s.inverted ? hn::Mul(from_mean, fill(root[r])) : hn::Div(from_mean, fill(root[r]));
  };
  const int64_t runs = s.n / s.run;
  int64_t first[R];  // of the numbers of w and b
  for (int r = 0; r < R; ++r) first[r] = s.groups == 1 ? 0 : (row + r) % s.groups * runs;
  if (s.run == 1) {
    reduce::each_vector_of(s.n, [&](auto access, int64_t i) HWY_ATTR {
      for (int r = 0; r < R; ++r) {
        V16 v = standardized(access, r, i);
        if (s.w != nullptr) v = hn::Mul(v, access.load(s.w + first[r] + i));
        if (s.b != nullptr) v = hn::Add(v, access.load(s.b + first[r] + i));
        access.store(v, s.y + (row + r) * s.n + i);
      }
    });
    return;
  }
  for (int r = 0; r < R; ++r) {
    for (int64_t k = 0; k < runs; ++k) {
      reduce::each_vector_of(s.run, [&](auto access, int64_t i) HWY_ATTR {
        V16 v = standardized(access, r, k * s.run + i);
        if (s.w != nullptr) v = hn::Mul(v, fill(s.w[first[r] + k]));
        if (s.b != nullptr) v = hn::Add(v, fill(s.b[first[r] + k]));
        access.store(v, s.y + (row + r) * s.n + k * s.run + i);
      });
    }
  }
}

static void body(const NormRows& s, int64_t begin, int64_t end) {
  Poll poll;
  int64_t row = begin;
  for (; s.n <= kShort && row + 4 <= end; row += 4) {
    if (poll(4 * s.n)) return;
    rows<4>(s, row);
  }
  for (; row < end && !poll(s.n); ++row) rows<1>(s, row);
}

}  // namespace norm_rows

// The gradients include this file for its moments alone.
[[maybe_unused]] static NormRowsBody find_norm_rows() { return norm_rows::body; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
