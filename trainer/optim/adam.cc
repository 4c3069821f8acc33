#include "trainer/optim/adam.h"

#include <cmath>

#include "trainer/optim/group_state-inl.h"

namespace wick::optim {
namespace {

// By squaring: std::pow's last bit is the C library's affair, training's bits are not.
double integer_power(double base, int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

void AdamOptions::check(const char* op, const Where& where) const {
  if (!(lr >= 0)) throw_error(op, "lr must be >= 0", where);
  if (!(eps >= 0)) throw_error(op, "eps must be >= 0", where);
  if (!(beta1 >= 0 && beta1 < 1)) throw_error(op, "beta1 must be in [0, 1)", where);
  if (!(beta2 >= 0 && beta2 < 1)) throw_error(op, "beta2 must be in [0, 1)", where);
  if (!(weight_decay >= 0)) throw_error(op, "weight_decay must be >= 0", where);
}

template <bool kDecoupled>
template <class T>
void AdamRule<kDecoupled>::update(const AdamOptions& o, int64_t step, T* __restrict__ p,
                                  const T* __restrict__ grad, T* const* buffers, int64_t begin,
                                  int64_t end) {
  const double correction1 = 1 - integer_power(o.beta1, step);
  const double correction2 = 1 - integer_power(o.beta2, step);
  const T rate = static_cast<T>(o.lr / correction1);
  const T root2 = static_cast<T>(std::sqrt(correction2));
  const T beta1 = static_cast<T>(o.beta1), rest1 = static_cast<T>(1 - o.beta1);
  const T beta2 = static_cast<T>(o.beta2), rest2 = static_cast<T>(1 - o.beta2);
  const T eps = static_cast<T>(o.eps), sign = o.maximize ? T(-1) : T(1);
  const T decay = kDecoupled ? T(0) : static_cast<T>(o.weight_decay);
  const T shrink = kDecoupled ? static_cast<T>(1 - o.lr * o.weight_decay) : T(1);
  T* __restrict__ m = buffers[0];
  T* __restrict__ v = buffers[1];
  T* __restrict__ top = buffers[2];
  for (int64_t i = begin; i < end; ++i) {
    T x = p[i] * shrink;
    T g = sign * grad[i];
    if (decay != 0) g = g + decay * x;
    m[i] = m[i] * beta1 + rest1 * g;
    v[i] = v[i] * beta2 + rest2 * g * g;
    T second = v[i];
    if (top != nullptr) {
      top[i] = top[i] > second ? top[i] : second;
      second = top[i];
    }
    p[i] = x - rate * (m[i] / (std::sqrt(second) / root2 + eps));
  }
}

// Named, because a caller may have inlined the optimizer's loop but not these.
template void AdamRule<false>::update(const AdamOptions&, int64_t, float*, const float*,
                                      float* const*, int64_t, int64_t);
template void AdamRule<false>::update(const AdamOptions&, int64_t, double*, const double*,
                                      double* const*, int64_t, int64_t);
template void AdamRule<true>::update(const AdamOptions&, int64_t, float*, const float*,
                                     float* const*, int64_t, int64_t);
template void AdamRule<true>::update(const AdamOptions&, int64_t, double*, const double*,
                                     double* const*, int64_t, int64_t);
template class GroupOptimizer<AdamOptions, AdamRule<false>>;
template class GroupOptimizer<AdamWOptions, AdamRule<true>>;

}  // namespace wick::optim
