// SIMD bodies of the recurrent cells' gates, once per target: a step without its products. The
// formulas are those of reference/rnn.cc.
#if defined(WICK_KERNELS_RNN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_RNN_INL_H_
#undef WICK_KERNELS_RNN_INL_H_
#else
#define WICK_KERNELS_RNN_INL_H_
#endif

#include "runtime/kernels/gemm/tile_vec-inl.h"
#include "runtime/kernels/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace rnn {

using simd_math::F;

// Calls f(lanes from element i on, their number) over n elements.
template <class Fn>
HWY_INLINE void each(int64_t n, Fn f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, static_cast<int>(n - i));
}
HWY_INLINE F at(const float* x, int64_t i, int n) { return F(load_n(TileTag(), x + i, n)); }
HWY_INLINE void put(F v, float* y, int64_t i, int n) { store_n(v.v, TileTag(), y + i, n); }

template <class Fn>
HWY_INLINE void gate_by(const RnnGate& g, Fn f) {
  const F low(-g.clip), high(g.clip);
  each(g.n, [&](int64_t i, int n) HWY_ATTR {
    F v = at(g.x, i, n);
    if (g.h != nullptr) v = v + at(g.h, i, n);
    if (g.factor != nullptr) v = simd_math::fma(at(g.factor, i, n), at(g.times, i, n), v);
    if (g.clip > 0) {
      v = simd_math::select(v <= low, low, v);
      v = simd_math::select(v >= high, high, v);
    }
    put(f(v), g.out, i, n);
  });
}

template <Edition edition>
static void gate(const RnnGate& g) {
  const F alpha(g.alpha), beta(g.beta), zero(0.0f), one(1.0f);
  switch (g.function) {
    case RnnFunction::kDefault:
    case RnnFunction::kTanh:
      return gate_by(g, [](F v) HWY_ATTR { return simd_math::tanh_in<edition>(v); });
    case RnnFunction::kSigmoid:
      return gate_by(g, [](F v) HWY_ATTR { return simd_math::sigmoid_in<edition>(v); });
    case RnnFunction::kRelu:
      return gate_by(g, [=](F v) HWY_ATTR { return simd_math::select(v <= zero, zero, v); });
    case RnnFunction::kAffine:
      return gate_by(g, [=](F v) HWY_ATTR { return simd_math::fma(alpha, v, beta); });
    case RnnFunction::kLeakyRelu:
      return gate_by(g, [=](F v) HWY_ATTR { return simd_math::select(v < zero, v * alpha, v); });
    case RnnFunction::kThresholdedRelu:
      return gate_by(g, [=](F v) HWY_ATTR { return simd_math::select(v < alpha, zero, v); });
    case RnnFunction::kScaledTanh:
      return gate_by(g,
                     [=](F v) HWY_ATTR { return alpha * simd_math::tanh_in<edition>(beta * v); });
    case RnnFunction::kHardSigmoid:
      return gate_by(g, [=](F v) HWY_ATTR {
        const F y = simd_math::fma(alpha, v, beta);
        const F above = simd_math::select(y <= zero, zero, y);
        return simd_math::select(above >= one, one, above);
      });
    case RnnFunction::kElu:
      return gate_by(g, [=](F v) HWY_ATTR {
        return simd_math::select(v < zero, alpha * simd_math::expm1(v), v);
      });
    case RnnFunction::kSoftsign:
      return gate_by(g, [=](F v) HWY_ATTR { return v / (one + simd_math::abs(v)); });
    case RnnFunction::kSoftplus:
      return gate_by(g, [](F v) HWY_ATTR { return simd_math::softplus(v); });
  }
}

// cell = forget * cell + in * candidate
static void lstm_cell(const float* forget, const float* in, const float* candidate, float* cell,
                      int64_t n) {
  each(n, [=](int64_t i, int k) HWY_ATTR {
    const F open = at(in, i, k);
    const F keep = forget != nullptr ? at(forget, i, k) : F(1.0f) - open;
    put(simd_math::fma(keep, at(cell, i, k), open * at(candidate, i, k)), cell, i, k);
  });
}
// state = z * state + (1 - z) * candidate
static void gru_state(const float* z, const float* candidate, float* state, int64_t n) {
  each(n, [=](int64_t i, int k) HWY_ATTR {
    const F part = at(z, i, k);
    put(simd_math::fma(part, at(state, i, k), (F(1.0f) - part) * at(candidate, i, k)), state, i, k);
  });
}
static void multiply(const float* a, const float* b, float* y, int64_t n) {
  each(n, [=](int64_t i, int k) HWY_ATTR { put(at(a, i, k) * at(b, i, k), y, i, k); });
}

}  // namespace rnn

// Returns the kernels of the current target.
template <Edition edition>
constexpr RnnKernels kRnnSet = {&rnn::gate<edition>, &rnn::lstm_cell, &rnn::gru_state,
                                &rnn::multiply};
static const RnnKernels* rnn_set(Edition edition) {
  return is_first(edition) ? &kRnnSet<Edition::k1> : &kRnnSet<kNewestEdition>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
