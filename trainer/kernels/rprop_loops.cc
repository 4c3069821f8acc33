// The loops of Rprop and ASGD (optim_loops.h), once per SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/rprop_loops.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/kernels/optim_loop-inl.h"
#include "trainer/kernels/optim_loops.h"

HWY_BEFORE_NAMESPACE();
namespace wick::optim {
namespace HWY_NAMESPACE {

template <class T, bool>
void rprop(const RpropCoefficients& c, T* __restrict p, const T* __restrict grad,
           T* __restrict prev, T* __restrict size, T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), least = static_cast<T>(c.step_size_min);
  const T most = static_cast<T>(c.step_size_max);
  const T minus = static_cast<T>(c.etaminus), plus = static_cast<T>(c.etaplus);
  for (int64_t i = 0; i < n; ++i) {
    const T g = sign * grad[i];
    const T both = g * prev[i];
    const T grown = size[i] * (both > T(0) ? plus : both < T(0) ? minus : T(1));
    const T floored = grown < least ? least : grown;
    const T step = floored > most ? most : floored;
    // Where the sign changed the element stands still, and its next step is of the same size.
    const T used = both < T(0) ? T(0) : g;
    size[i] = step;
    prev[i] = used;
    // NaN has no sign, and would leave p as it is for good.
    const T way = (used > T(0) ? step : T(0)) - (used < T(0) ? step : T(0));
    p[i] = p[i] - (used == used ? way : used);
  }
}

template <class T, bool kDecay>
void asgd(const AsgdCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict ax,
          T*, T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T shrink = static_cast<T>(c.shrink), eta = static_cast<T>(c.eta);
  const T mu = static_cast<T>(c.mu);
  if (c.mu == 1) {
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
      const T x = p[i] * shrink - eta * g;
      p[i] = x;
      ax[i] = x;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    const T x = p[i] * shrink - eta * g;
    p[i] = x;
    ax[i] = ax[i] + (x - ax[i]) * mu;
  }
}

WICK_OPTIM_LOOP(rprop, RpropCoefficients, 0)
WICK_OPTIM_LOOP(asgd, AsgdCoefficients, c.weight_decay)

}  // namespace HWY_NAMESPACE
}  // namespace wick::optim
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::optim {

WICK_OPTIM_EXPORT(rprop, RpropCoefficients)
WICK_OPTIM_EXPORT(asgd, AsgdCoefficients)

}  // namespace wick::optim
#endif
