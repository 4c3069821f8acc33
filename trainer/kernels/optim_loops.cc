// The loops of optim_loops.h, compiled once per SIMD target: the compiler vectorizes them. Those of
// Rprop and ASGD are in rprop_loops.cc.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/optim_loops.cc"
#include "trainer/kernels/optim_loops.h"

#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/kernels/optim_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::optim {
namespace HWY_NAMESPACE {

// SGD with a momentum buffer, whose content is undefined at the first step and is not read.
template <class T, bool kDecay, bool kFirst, bool kNesterov>
void sgd_momentum(const SgdCoefficients& c, T* __restrict p, const T* __restrict grad,
                  T* __restrict b, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T rate = static_cast<T>(c.lr), momentum = static_cast<T>(c.momentum);
  const T keep = static_cast<T>(c.keep);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    const T v = kFirst ? g : b[i] * momentum + keep * g;
    b[i] = v;
    p[i] = p[i] - rate * (kNesterov ? g + momentum * v : v);
  }
}

template <class T, bool kDecay>
void sgd(const SgdCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict b, T*,
         T*, int64_t n) {
  if (b != nullptr) {
    if (c.first) {
      c.nesterov ? sgd_momentum<T, kDecay, true, true>(c, p, grad, b, n)
                 : sgd_momentum<T, kDecay, true, false>(c, p, grad, b, n);
    } else {
      c.nesterov ? sgd_momentum<T, kDecay, false, true>(c, p, grad, b, n)
                 : sgd_momentum<T, kDecay, false, false>(c, p, grad, b, n);
    }
    return;
  }
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T rate = static_cast<T>(c.lr);
  for (int64_t i = 0; i < n; ++i) {
    p[i] = p[i] - rate * gradient<T, kDecay>(sign, decay, grad[i], p[i]);
  }
}

template <class T, bool kDecay>
void adam(const AdamCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict m,
          T* __restrict v, T* __restrict top, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T shrink = static_cast<T>(c.shrink), eps = static_cast<T>(c.eps);
  const T beta1 = static_cast<T>(c.beta1), rest1 = static_cast<T>(1 - c.beta1);
  const T beta2 = static_cast<T>(c.beta2), rest2 = static_cast<T>(1 - c.beta2);
  const T rate = static_cast<T>(c.rate), root2 = static_cast<T>(c.root2);
  if (top == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      const T x = p[i] * shrink;
      const T g = gradient<T, kDecay>(sign, decay, grad[i], x);
      const T first = m[i] * beta1 + rest1 * g;
      const T second = v[i] * beta2 + rest2 * g * g;
      m[i] = first;
      v[i] = second;
      p[i] = x - rate * (first / (std::sqrt(second) / root2 + eps));
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const T x = p[i] * shrink;
    const T g = gradient<T, kDecay>(sign, decay, grad[i], x);
    const T first = m[i] * beta1 + rest1 * g;
    const T second = v[i] * beta2 + rest2 * g * g;
    const T most = top[i] > second ? top[i] : second;
    m[i] = first;
    v[i] = second;
    top[i] = most;
    p[i] = x - rate * (first / (std::sqrt(most) / root2 + eps));
  }
}

template <class T, bool kDecay>
void nadam(const NadamCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict m,
           T* __restrict v, T*, int64_t n) {
  const T decay = static_cast<T>(c.weight_decay), eps = static_cast<T>(c.eps);
  const T beta1 = static_cast<T>(c.beta1), rest1 = static_cast<T>(1 - c.beta1);
  const T beta2 = static_cast<T>(c.beta2), rest2 = static_cast<T>(1 - c.beta2);
  const T correction2 = static_cast<T>(c.correction2);
  const T rate_grad = static_cast<T>(c.rate_grad), rate_avg = static_cast<T>(c.rate_avg);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(T(1), decay, grad[i], p[i]);
    const T first = m[i] * beta1 + rest1 * g;
    const T second = v[i] * beta2 + rest2 * g * g;
    const T down = std::sqrt(second / correction2) + eps;
    m[i] = first;
    v[i] = second;
    p[i] = p[i] - rate_grad * (g / down) - rate_avg * (first / down);
  }
}

template <class T, bool kDecay>
void radam(const RadamCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict m,
           T* __restrict v, T*, int64_t n) {
  const T decay = static_cast<T>(c.weight_decay), eps = static_cast<T>(c.eps);
  const T beta1 = static_cast<T>(c.beta1), rest1 = static_cast<T>(1 - c.beta1);
  const T beta2 = static_cast<T>(c.beta2), rest2 = static_cast<T>(1 - c.beta2);
  const T correction1 = static_cast<T>(c.correction1), rate = static_cast<T>(c.lr);
  const T root2 = static_cast<T>(c.root2), rect = static_cast<T>(c.rect);
  if (c.rect == 0) {
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient<T, kDecay>(T(1), decay, grad[i], p[i]);
      const T first = m[i] * beta1 + rest1 * g;
      m[i] = first;
      v[i] = v[i] * beta2 + rest2 * g * g;
      p[i] = p[i] - first / correction1 * rate;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(T(1), decay, grad[i], p[i]);
    const T first = m[i] * beta1 + rest1 * g;
    const T second = v[i] * beta2 + rest2 * g * g;
    m[i] = first;
    v[i] = second;
    p[i] = p[i] - first / correction1 * rate * (root2 / (std::sqrt(second) + eps)) * rect;
  }
}

template <class T, bool kDecay>
void adamax(const AdamaxCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict m,
            T* __restrict u, T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T beta1 = static_cast<T>(c.beta1), rest1 = static_cast<T>(1 - c.beta1);
  const T beta2 = static_cast<T>(c.beta2), eps = static_cast<T>(c.eps);
  const T rate = static_cast<T>(c.rate);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    const T first = m[i] * beta1 + rest1 * g;
    const T old = u[i] * beta2, now = std::abs(g) + eps;
    const T most = now > old ? now : old;
    m[i] = first;
    u[i] = most;
    p[i] = p[i] - rate * (first / most);
  }
}

template <class T, bool kDecay>
void adagrad(const AdagradCoefficients& c, T* __restrict p, const T* __restrict grad,
             T* __restrict sum, T*, T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T eps = static_cast<T>(c.eps), rate = static_cast<T>(c.rate);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    const T all = sum[i] + g * g;
    sum[i] = all;
    p[i] = p[i] - rate * (g / (std::sqrt(all) + eps));
  }
}

template <class T, bool kDecay>
void adadelta(const AdadeltaCoefficients& c, T* __restrict p, const T* __restrict grad,
              T* __restrict square, T* __restrict acc, T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T rho = static_cast<T>(c.rho), rest = static_cast<T>(1 - c.rho);
  const T eps = static_cast<T>(c.eps), rate = static_cast<T>(c.lr);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    const T second = square[i] * rho + rest * g * g;
    const T delta = std::sqrt(acc[i] + eps) / std::sqrt(second + eps) * g;
    square[i] = second;
    acc[i] = acc[i] * rho + rest * delta * delta;
    p[i] = p[i] - rate * delta;
  }
}

template <class T, bool kDecay, bool kCentered, bool kMomentum>
void rmsprop_of(const RmspropCoefficients& c, T* __restrict p, const T* __restrict grad,
                T* __restrict square, T* __restrict mean, T* __restrict b, int64_t n) {
  const T sign = static_cast<T>(c.sign), decay = static_cast<T>(c.weight_decay);
  const T alpha = static_cast<T>(c.alpha), rest = static_cast<T>(1 - c.alpha);
  const T eps = static_cast<T>(c.eps), momentum = static_cast<T>(c.momentum);
  const T rate = static_cast<T>(c.lr);
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient<T, kDecay>(sign, decay, grad[i], p[i]);
    T spread = square[i] * alpha + rest * g * g;
    square[i] = spread;
    if constexpr (kCentered) {
      const T middle = mean[i] * alpha + rest * g;
      mean[i] = middle;
      spread = spread - middle * middle;
    }
    T step = g / (std::sqrt(spread) + eps);
    if constexpr (kMomentum) {
      step = b[i] * momentum + step;
      b[i] = step;
    }
    p[i] = p[i] - rate * step;
  }
}
template <class T, bool kDecay>
void rmsprop(const RmspropCoefficients& c, T* p, const T* grad, T* square, T* mean, T* b,
             int64_t n) {
  if (mean == nullptr) {
    b == nullptr ? rmsprop_of<T, kDecay, false, false>(c, p, grad, square, mean, b, n)
                 : rmsprop_of<T, kDecay, false, true>(c, p, grad, square, mean, b, n);
  } else {
    b == nullptr ? rmsprop_of<T, kDecay, true, false>(c, p, grad, square, mean, b, n)
                 : rmsprop_of<T, kDecay, true, true>(c, p, grad, square, mean, b, n);
  }
}

template <class T, bool kDecay>
void lion(const LionCoefficients& c, T* __restrict p, const T* __restrict grad, T* __restrict m, T*,
          T*, int64_t n) {
  const T sign = static_cast<T>(c.sign), shrink = static_cast<T>(c.shrink);
  const T beta1 = static_cast<T>(c.beta1), rest1 = static_cast<T>(1 - c.beta1);
  const T beta2 = static_cast<T>(c.beta2), rest2 = static_cast<T>(1 - c.beta2);
  const T rate = static_cast<T>(c.lr);
  for (int64_t i = 0; i < n; ++i) {
    const T g = sign * grad[i];
    const T way = m[i] * beta1 + rest1 * g;
    m[i] = m[i] * beta2 + rest2 * g;
    // The step is 0 if the two cancel, as sign(0) is 0. NaN has no sign, and must not leave p
    // unchanged forever.
    const T step = (way > T(0) ? rate : T(0)) - (way < T(0) ? rate : T(0));
    p[i] = p[i] * shrink - (way == way ? step : way);
  }
}

WICK_OPTIM_LOOP(sgd, SgdCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(adam, AdamCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(nadam, NadamCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(radam, RadamCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(adamax, AdamaxCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(adagrad, AdagradCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(adadelta, AdadeltaCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(rmsprop, RmspropCoefficients, c.weight_decay)
WICK_OPTIM_LOOP(lion, LionCoefficients, 0)

}  // namespace HWY_NAMESPACE
}  // namespace wick::optim
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::optim {

WICK_OPTIM_EXPORT(sgd, SgdCoefficients)
WICK_OPTIM_EXPORT(adam, AdamCoefficients)
WICK_OPTIM_EXPORT(nadam, NadamCoefficients)
WICK_OPTIM_EXPORT(radam, RadamCoefficients)
WICK_OPTIM_EXPORT(adamax, AdamaxCoefficients)
WICK_OPTIM_EXPORT(adagrad, AdagradCoefficients)
WICK_OPTIM_EXPORT(adadelta, AdadeltaCoefficients)
WICK_OPTIM_EXPORT(rmsprop, RmspropCoefficients)
WICK_OPTIM_EXPORT(lion, LionCoefficients)

}  // namespace wick::optim
#endif
