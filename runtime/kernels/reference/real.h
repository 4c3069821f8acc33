// The type in which the reference loops of matmul and conv compute: f16 and bf16 are loaded as f32
// and rounded once at the end.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/reference/by_edition.h"
#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
Real<T> load(const T& v) {
  return static_cast<Real<T>>(v);
}

// f64 may use libm, f32 uses the contract's own functions.
inline float power(float x, float y) {
  return scalar_math::pow(scalar_math::F(x), scalar_math::F(y)).v;
}
inline double power(double x, double y) { return std::pow(x, y); }

// The arithmetic of the unfused ops: f64 may use libm, f32 uses the contract's own functions.
inline double activate(const EpilogueAttrs& e, Edition edition, double y) {
  constexpr double kHalfRoot = 0.70710678118654752440;
  const auto clip = [](double x, double lo, double hi) {
    const double r = x <= lo ? lo : x;
    return r >= hi ? hi : r;
  };
  switch (static_cast<Activation>(e.activation)) {
    case Activation::kNone: return y;
    case Activation::kRelu: return y <= 0 ? 0.0 : y;
    case Activation::kClip: return clip(y, e.alpha, e.beta);
    case Activation::kLeakyRelu: return y < 0 ? y * e.alpha : y;
    case Activation::kSigmoid: return sigmoid_of(edition, y);
    case Activation::kTanh: return tanh_of(edition, y);
    case Activation::kSilu: return silu_of(edition, y);
    case Activation::kHardSwish: return y * (clip(y + 3, 0, 6) * (1.0 / 6));
    case Activation::kGeluErf: return 0.5 * y * std::erfc(-y * kHalfRoot);
    case Activation::kGeluTanh: return gelu_tanh_of(edition, y);
    case Activation::kHardSigmoid: return clip(std::fma(e.alpha, y, e.beta), 0, 1);
    case Activation::kTimesSigmoid: return y * sigmoid_of(edition, y);
    case Activation::kTimesHardSigmoid: return y * clip(std::fma(e.alpha, y, e.beta), 0, 1);
  }
  return y;
}

inline float activate(const EpilogueAttrs& e, Edition edition, float x) {
  using scalar_math::F;
  const F y(x), alpha(static_cast<float>(e.alpha)), beta(static_cast<float>(e.beta));
  switch (static_cast<Activation>(e.activation)) {
    case Activation::kNone: return x;
    case Activation::kRelu: return scalar_math::relu(y).v;
    case Activation::kClip: return scalar_math::clip(y, alpha, beta).v;
    case Activation::kLeakyRelu: return scalar_math::leaky_relu(y, alpha).v;
    case Activation::kSigmoid: return sigmoid_of(edition, x);
    case Activation::kTanh: return tanh_of(edition, x);
    case Activation::kSilu: return silu_of(edition, x);
    case Activation::kHardSwish: return scalar_math::hard_swish(y).v;
    case Activation::kGeluErf: return scalar_math::gelu(y).v;
    case Activation::kGeluTanh: return gelu_tanh_of(edition, x);
    case Activation::kHardSigmoid: return scalar_math::hard_sigmoid(y, alpha, beta).v;
    case Activation::kTimesSigmoid: return x * sigmoid_of(edition, x);
    case Activation::kTimesHardSigmoid: return x * scalar_math::hard_sigmoid(y, alpha, beta).v;
  }
  return x;
}

// Applies the optional inputs 2 to 5 of Linear, Conv and their fused forms, in the contract's
// order.
template <class T>
struct Tail {
  const T *bias = nullptr, *scale = nullptr, *shift = nullptr, *residual = nullptr;
  const EpilogueAttrs* attrs = nullptr;
  Edition edition;

  Tail(const KernelCtx& ctx, Span<const TensorView> in, const EpilogueAttrs* a)
      : attrs(a), edition(ctx.edition) {
    const auto at = [&](size_t i) -> const T* {
      return i < in.size() && in[i].present() ? in[i].as<T>() : nullptr;
    };
    bias = at(2);
    if (attrs != nullptr) scale = at(3), shift = at(4), residual = at(5);
  }
  T operator()(Real<T> y, int64_t channel, int64_t element) const {
    if (bias != nullptr) y = y + load(bias[channel]);
    if (scale != nullptr) y = std::fma(y, load(scale[channel]), load(shift[channel]));
    if (residual != nullptr) y = y + load(residual[element]);
    return static_cast<T>(attrs == nullptr ? y : activate(*attrs, edition, y));
  }
};

}  // namespace wick::reference
