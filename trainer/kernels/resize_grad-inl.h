// SIMD bodies of ResizeGrad, once per target.
#if defined(WICK_TRAINER_RESIZE_GRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_TRAINER_RESIZE_GRAD_INL_H_
#undef WICK_TRAINER_RESIZE_GRAD_INL_H_
#else
#define WICK_TRAINER_RESIZE_GRAD_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/window/lookup-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace resize_back {

// Adds the products of the tap's outputs to each lane's element, in order. A lane with fewer of
// them than another adds +0, which changes no sum: none that began at +0 is -0.
template <class D>
HWY_INLINE hn::Vec<D> tap_sum(D d, const float* products, const int32_t* begin) {
  const hn::RebindToSigned<D> ints;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto first = hn::LoadU(ints, begin), count = hn::Sub(hn::LoadU(ints, begin + 1), first);
  const int32_t span = begin[lanes - 1] - begin[0];
  const auto local = hn::Sub(first, hn::Set(ints, begin[0]));
  const bool gathers = span >= 2 * lanes;  // then a lane that adds nothing must not read far away
  auto sum = hn::Zero(d);
  for (int32_t k = 0;; ++k) {
    const auto more = hn::RebindMask(d, hn::Lt(hn::Set(ints, k), count));
    if (hn::AllFalse(d, more)) return sum;
    const auto at = gathers ? hn::IfThenElseZero(hn::RebindMask(ints, more), local) : local;
    sum = hn::Add(sum, hn::IfThenElseZero(more, lookup(d, products + begin[0] + k, at, span)));
  }
}

static void across(const float* g, const ResizeBack& r, float* products, float* const* outputs,
                   bool parts) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t t = r.taps - 1; t >= 0; --t) {
    const float* weight = r.weight + t * r.out;
    const int32_t* begin = r.begin + t * (r.in + 1);
    each_vector(r.out, [&](auto part, int64_t o) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(part, g + o), hn::LoadU(part, weight + o)), part, products + o);
    });
    const bool first = parts || t == r.taps - 1;
    float* x = outputs[parts ? r.taps - 1 - t : 0];
    if (r.in >= lanes) {
      int64_t i = 0;
      for (; i + lanes <= r.in; i += lanes) {
        const auto sum = tap_sum(d, products, begin + i);
        hn::StoreU(first ? sum : hn::Add(hn::LoadU(d, x + i), sum), d, x + i);
      }
      if (i == r.in) continue;
      // The last vector overlaps the one before it, whose elements have their sums already.
      const auto sum = tap_sum(d, products, begin + r.in - lanes);
      HWY_ALIGN float last[hn::MaxLanes(d)];
      hn::Store(sum, d, last);
      for (int64_t k = i - (r.in - lanes); k < lanes; ++k, ++i)
        x[i] = first ? last[k] : x[i] + last[k];
      continue;
    }
    for (int64_t i = 0; i < r.in; ++i) {
      float sum = 0;
      for (int32_t o = begin[i]; o < begin[i + 1]; ++o) sum += products[o];
      x[i] = first ? sum : x[i] + sum;
    }
  }
}

static void down(const float* g, const ResizeBack& r, int64_t i, int64_t width, float* const* x,
                 bool parts) {
  each_vector(width, [&](auto d, int64_t at) HWY_ATTR {
    auto total = hn::Zero(d);
    for (int64_t t = r.taps - 1; t >= 0; --t) {
      const int32_t* begin = r.begin + t * (r.in + 1) + i;
      auto sum = hn::Zero(d);
      for (int32_t o = begin[0]; o < begin[1]; ++o) {
        const auto weight = hn::Set(d, r.weight[t * r.out + o]);
        sum = hn::Add(sum, hn::Mul(hn::LoadU(d, g + o * width + at), weight));
      }
      total = t == r.taps - 1 ? sum : hn::Add(total, sum);
      if (parts) hn::StoreU(sum, d, x[r.taps - 1 - t] + at);
    }
    if (!parts) hn::StoreU(total, d, x[0] + at);
  });
}

}  // namespace resize_back

static const ResizeBackKernels* resize_back_set() {
  static constexpr ResizeBackKernels kSet = {&resize_back::across, &resize_back::down};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
