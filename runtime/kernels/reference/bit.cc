// Bit operations on integers, remainders, tests of floats, and Atan2.
#include <cmath>

#include "runtime/kernels/math/math_scalar.h"
#include "runtime/kernels/reference/zip.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

// The result has the sign of x; exact for floats. Integers: x % 0 = 0 and lowest % -1 = 0 (neither
// may trap).
struct FmodOp {
  template <class T>
  static T f(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;
      }
      return static_cast<T>(x % y);
    }
  }
};
// The result has the sign of y.
struct FloorModOp {
  template <class T>
  static T f(T x, T y) {
    T r = FmodOp::f(x, y);
    if constexpr (std::is_signed_v<T> || kIsFloat<T>) {
      if (r != 0 && (r < 0) != (y < 0)) r = static_cast<T>(r + y);
    }
    return r;
  }
};

#define WICK_BITWISE(Name, op)                                                   \
  struct Name##Op {                                                              \
    template <class T>                                                           \
    static T f(T x, T y) {                                                       \
      return static_cast<T>(static_cast<Wide<T>>(x) op static_cast<Wide<T>>(y)); \
    }                                                                            \
  };
WICK_BITWISE(BitwiseAnd, &)
WICK_BITWISE(BitwiseOr, |)
WICK_BITWISE(BitwiseXor, ^)

template <class T>
bool beyond(T count) {  // all bits of T are shifted out
  constexpr auto kBits = static_cast<T>(8 * sizeof(T));
  if constexpr (std::is_signed_v<T>) {
    if (count < 0) return true;
  }
  return count >= kBits;
}
struct ShiftLeftOp {
  template <class T>
  static T f(T x, T y) {
    if (beyond(y)) return 0;
    return static_cast<T>(static_cast<Wide<T>>(x) << y);
  }
};
struct ShiftRightOp {
  template <class T>
  static T f(T x, T y) {
    if (beyond(y)) return x < 0 ? static_cast<T>(-1) : T(0);
    return static_cast<T>(x >> y);
  }
};

// Returns the angle of (x, y) in (-pi, pi], with C's rules for zeros and infinities.
struct Atan2Op {
  static float f(float y, float x) {
    if (std::isnan(x) || std::isnan(y)) return scalar_math::kNaN;
    const float a = std::fabs(y), b = std::fabs(x);
    const float q = a == 0 ? 0.0f : a == b ? 1.0f : a / b;
    float r = scalar_math::atan(scalar_math::F(q)).v;
    if (std::signbit(x)) {
      r = (2 * scalar_math::kPio2Hi - r) + 2 * scalar_math::kPio2Mid;
    }
    return std::copysign(r, y);
  }
  static double f(double y, double x) { return std::atan2(y, x); }
};

template <class T>
Status run_mod(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  const bool fmod = static_cast<const ModAttrs*>(attrs)->fmod != 0;
  return fmod ? run<FmodOp, T>(ctx, in, out, attrs) : run<FloorModOp, T>(ctx, in, out, attrs);
}
template <class T>
Status run_shift(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const bool right = static_cast<const BitShiftAttrs*>(attrs)->right != 0;
  return right ? run<ShiftRightOp, T>(ctx, in, out, attrs)
               : run<ShiftLeftOp, T>(ctx, in, out, attrs);
}

// Computes y = f(x) for an op with one input.
template <class T, class Y, class Fn>
Status map(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, Fn f) {
  const T* x = in[0].as<T>();
  Y* y = out[0].as<Y>();
  ElementLoop<1> loop(out[0], in.data());
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const T* from = x + offset[0];
    Y* to = y + at;
    const int64_t dx = step;
    const Fn apply = f;
    for (int64_t i = 0; i < n; ++i) to[i] = apply(from[i * dx]);
  });
  return {};
}
template <class T>
Status run_not(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  return map<T, T>(ctx, in, out, [](T x) { return static_cast<T>(~x); });
}
template <class T>
Status run_is_nan(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  return map<T, bool>(ctx, in, out, [](T x) { return std::isnan(static_cast<Compute<T>>(x)); });
}
template <class T>
Status run_is_inf(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& a = *static_cast<const IsInfAttrs*>(attrs);
  const bool down = a.detect_negative != 0, up = a.detect_positive != 0;
  return map<T, bool>(ctx, in, out, [=](T v) {
    const auto x = static_cast<Compute<T>>(v);
    return std::isinf(x) && (x > 0 ? up : down);
  });
}

constexpr uint32_t kFlags = kStridedInputs | kInPlace;

}  // namespace

WICK_REF_ROWS(Mod, WICK_NUMBER_ROWS("mod", kFlags, match<T>, run_mod<T>));
WICK_REF_ROWS(BitwiseAnd, WICK_INT_ROWS("bitwise_and", kFlags, match<T>, run<BitwiseAndOp, T>));
WICK_REF_ROWS(BitwiseOr, WICK_INT_ROWS("bitwise_or", kFlags, match<T>, run<BitwiseOrOp, T>));
WICK_REF_ROWS(BitwiseXor, WICK_INT_ROWS("bitwise_xor", kFlags, match<T>, run<BitwiseXorOp, T>));
WICK_REF_ROWS(BitwiseNot, WICK_INT_ROWS("bitwise_not", kFlags, match<T>, run_not<T>));
WICK_REF_ROWS(BitShift, WICK_INT_ROWS("bit_shift", kFlags, match<T>, run_shift<T>));
WICK_REF_ROWS(IsNaN, WICK_FLOAT_ROWS("is_nan", kStridedInputs, match<T>, run_is_nan<T>));
WICK_REF_ROWS(IsInf, WICK_FLOAT_ROWS("is_inf", kStridedInputs, match<T>, run_is_inf<T>));
WICK_REF_ROWS(Atan2, WICK_FLOAT_ROWS("atan2", kFlags, match<T>, run<Atan2Op, T>));
WICK_NO_CPU_ROWS(Mod);
WICK_NO_CPU_ROWS(BitwiseAnd);
WICK_NO_CPU_ROWS(BitwiseOr);
WICK_NO_CPU_ROWS(BitwiseXor);
WICK_NO_CPU_ROWS(BitwiseNot);
WICK_NO_CPU_ROWS(BitShift);
WICK_NO_CPU_ROWS(IsNaN);
WICK_NO_CPU_ROWS(IsInf);
WICK_NO_CPU_ROWS(Atan2);

}  // namespace wick
