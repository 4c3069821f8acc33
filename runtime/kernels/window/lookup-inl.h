// Reads elements that lie close together by loading and permuting vectors, which is faster than
// gathering them. Once per target.
#if defined(WICK_KERNELS_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_LOOKUP_INL_H_
#undef WICK_KERNELS_LOOKUP_INL_H_
#else
#define WICK_KERNELS_LOOKUP_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(d, i) for each vector of n elements, the last of which may overlap the one before it, or
// for each element where there is no whole vector. What f computes must not depend on the lane.
template <class Fn>
static HWY_INLINE void each_vector(int64_t n, Fn f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  if (i < n && i > 0) return f(d, n - lanes);
  for (; i < n; ++i) f(hn::CappedTag<float, 1>(), i);
}

// Returns x[at[i]] in lane i, for 0 <= at[i] <= span. If span is below two vectors, two vectors
// from x on (one if it is below one) are read, whatever is in them.
template <class D, class Ints>
static HWY_INLINE hn::Vec<D> lookup(D d, const float* x, Ints at, int64_t span) {
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::RebindToSigned<D> ints;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (span < lanes) return hn::TableLookupLanes(hn::LoadU(d, x), hn::IndicesFromVec(d, at));
    if (span < 2 * lanes) {
      const auto whole = hn::Set(ints, static_cast<int32_t>(lanes));
      const auto lane = hn::IndicesFromVec(d, hn::And(at, hn::Sub(whole, hn::Set(ints, 1))));
      return hn::IfThenElse(hn::RebindMask(d, hn::Lt(at, whole)),
                            hn::TableLookupLanes(hn::LoadU(d, x), lane),
                            hn::TableLookupLanes(hn::LoadU(d, x + lanes), lane));
    }
  }
  return hn::GatherIndex(d, x, at);
}

// Where lookup() may begin to read for positions first to last of `readable` elements.
struct Window {
  int64_t from, span;
};
template <class D>
static HWY_INLINE Window window_of(D d, int64_t first, int64_t last, int64_t readable) {
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  if (readable < two) return {0, INT64_MAX};  // gathers
  const int64_t from = first < readable - two ? first : readable - two;
  return {from, last - from};
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
