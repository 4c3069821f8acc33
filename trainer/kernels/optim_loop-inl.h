// The files of optimizers' loops share this: the gradient that is used, and how a loop becomes a
// function of LoopArrays. Included once per SIMD target, after highway.h.
#if defined(WICK_TRAINER_KERNELS_OPTIM_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_TRAINER_KERNELS_OPTIM_LOOP_INL_H_
#undef WICK_TRAINER_KERNELS_OPTIM_LOOP_INL_H_
#else
#define WICK_TRAINER_KERNELS_OPTIM_LOOP_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace wick::optim {
namespace HWY_NAMESPACE {

// Each loop: coefficients, then parameters, gradients and state, which never overlap, n of each.
template <class T, bool kDecay>
HWY_INLINE T gradient(T sign, T decay, T g, T p) {
  g = sign * g;
  if constexpr (kDecay) g = g + decay * p;
  return g;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::optim
HWY_AFTER_NAMESPACE();

#endif

#ifndef WICK_OPTIM_LOOP
// The type and the weight decay are settled outside of the loops.
#define WICK_OPTIM_LOOP(name, Coefficients, decay)                                       \
  template <class T>                                                                     \
  void name##_as(const Coefficients& c, const LoopArrays& a, int64_t begin, int64_t n) { \
    T* state[3];                                                                         \
    for (int i = 0; i < 3; ++i) {                                                        \
      state[i] = a.state[i] == nullptr ? nullptr : static_cast<T*>(a.state[i]) + begin;  \
    }                                                                                    \
    T* p = static_cast<T*>(a.p) + begin;                                                 \
    const T* g = static_cast<const T*>(a.g) + begin;                                     \
    (decay) != 0 ? name<T, true>(c, p, g, state[0], state[1], state[2], n)               \
                 : name<T, false>(c, p, g, state[0], state[1], state[2], n);             \
  }                                                                                      \
  static void name##_loop(const Coefficients& c, const LoopArrays& a, int64_t begin,     \
                          int64_t end) {                                                 \
    a.dtype == DType::kF32 ? name##_as<float>(c, a, begin, end - begin)                  \
                           : name##_as<double>(c, a, begin, end - begin);                \
  }

// Below HWY_ONCE: the function of the best target.
#define WICK_OPTIM_EXPORT(name, Coefficients)                                                \
  HWY_EXPORT(name##_loop);                                                                   \
  void name##_loop(const Coefficients& c, const LoopArrays& a, int64_t begin, int64_t end) { \
    HWY_DYNAMIC_DISPATCH(name##_loop)(c, a, begin, end);                                     \
  }
#endif
