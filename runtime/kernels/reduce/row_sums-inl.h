// Sums of several rows at once in the contract's order, once per target: the additions of one sum
// wait for each other, those of several rows do not.
#if defined(WICK_KERNELS_ROW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_ROW_SUMS_INL_H_
#undef WICK_KERNELS_ROW_SUMS_INL_H_
#else
#define WICK_KERNELS_ROW_SUMS_INL_H_
#endif

#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace reduce {

HWY_INLINE V16 fill(float v) { return hn::Set(D16(), v); }

// How much of a vector is accessed: all of it, or its first lanes. The others are read as 0, or
// stay what they are in memory.
struct WholeVector {
  HWY_INLINE V16 load(const float* p) const { return hn::LoadU(D16(), p); }
  HWY_INLINE void store(V16 v, float* p) const { hn::StoreU(v, D16(), p); }
};
struct PartVector {
  int64_t n;
  HWY_INLINE V16 load(const float* p) const {
    HWY_ALIGN float lanes[kWidth] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return hn::Load(D16(), lanes);
  }
  HWY_INLINE void store(V16 v, float* p) const {
    HWY_ALIGN float lanes[kWidth];
    hn::Store(v, D16(), lanes);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
};

// Calls f(access, i) for the vectors of n elements.
template <class Fn>
HWY_INLINE void each_vector_of(int64_t n, Fn f) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(WholeVector(), i);
  if (i < n) f(PartVector{n - i}, i);
}

// Adds the halves of a vector until one lane is left.
template <class D>
HWY_INLINE float halved(D d, hn::Vec<D> v) {
  static_cast<void>(d);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> h;
    return halved(h, hn::Add(hn::LowerHalf(h, v), hn::UpperHalf(h, v)));
  }
#endif
  return hn::GetLane(v);
}

// Sums n elements, at most a block, of each of R rows. term(access, row, i) gives a vector of the
// row from element i on; what it gives beyond the row's end is left out.
template <int R, class Term>
HWY_INLINE void block_sums(int64_t n, Term term, float* sums) {
  V16 lanes[R][kVectors];
  for (auto& row : lanes) {
    for (V16& lane : row) lane = hn::Zero(D16());
  }
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      for (int r = 0; r < R; ++r)
        lanes[r][v] = hn::Add(lanes[r][v], term(WholeVector(), r, i + v * kWidth));
    }
  }
  for (int64_t v = 0; v < kVectors && i + v * kWidth < n; ++v) {
    const int64_t left = n - i - v * kWidth;
    const auto inside = hn::FirstN(D16(), static_cast<size_t>(left < kWidth ? left : kWidth));
    for (int r = 0; r < R;
         ++r) {  // a lane that began at +0 is not -0, so that adding +0 changes none
      const V16 some = left < kWidth ? term(PartVector{left}, r, i + v * kWidth)
                                     : term(WholeVector(), r, i + v * kWidth);
      lanes[r][v] = hn::Add(lanes[r][v], hn::IfThenElseZero(inside, some));
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int64_t width = kVectors / 2; width > 0; width /= 2) {
      for (int64_t v = 0; v < width; ++v) lanes[r][v] = hn::Add(lanes[r][v], lanes[r][v + width]);
    }
    sums[r] = halved(D16(), lanes[r][0]);
  }
}

// Adds the sums of B whole blocks from element `at` on, all at once, to *sum in their order.
template <int B, class Term>
HWY_INLINE void add_blocks(int64_t at, Term term, float* sum) {
  float part[B];
  block_sums<B>(
      kSumBlock,
      [&](auto access, int block, int64_t i)
          HWY_ATTR { return term(access, 0, at + block * kSumBlock + i); },
      part);
  for (float each : part) *sum += each;
}

// The same as block_sums for rows of any length.
template <int R, class Term>
HWY_INLINE void row_sums(int64_t n, Term term, float* sums) {
  for (int r = 0; r < R; ++r) sums[r] = 0;
  int64_t at = 0;
  if constexpr (R == 1) {
    for (; at + 4 * kSumBlock <= n; at += 4 * kSumBlock) add_blocks<4>(at, term, sums);
    for (; at + 2 * kSumBlock <= n; at += 2 * kSumBlock) add_blocks<2>(at, term, sums);
  }
  for (; at < n; at += kSumBlock) {
    float part[R];
    block_sums<R>(
        n - at < kSumBlock ? n - at : kSumBlock,
        [&](auto access, int r, int64_t i) HWY_ATTR { return term(access, r, at + i); }, part);
    for (int r = 0; r < R; ++r) sums[r] += part[r];
  }
}

}  // namespace reduce
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
