#include <cmath>
#include <numbers>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/by_edition.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

using scalar_math::F;

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

struct Params {
  double a = 0, b = 0;
  Edition edition = kNewestEdition;
};

// Computes f(x, params) in T; 16-bit floats are computed in f32 and rounded once.
template <class Op, class T>
T apply(T x, const Params& p) {
  if constexpr (kIs16<T>) {
    return T(Op::f(static_cast<float>(x), p));
  } else {
    return static_cast<T>(Op::f(x, p));
  }
}

template <class Op, class T>
Status run_with(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const Params& p) {
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  ElementLoop<1> loop(out[0], &in[0]);
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const T* from = x + offset[0];
    T* to = y + at;
    const int64_t dx = step;
    const Params of = p;
    for (int64_t i = 0; i < n; ++i) to[i] = apply<Op>(read(from + i * dx), of);
  });
  return {};
}

template <class Op, class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  Params p = Op::params(attrs);
  p.edition = ctx.edition;
  return run_with<Op, T>(ctx, in, out, p);
}

struct NoParams {
  static Params params(const void*) { return {}; }
};

#define WICK_REF_OP(Name, f32, f64)                          \
  struct Name##Op : NoParams {                               \
    static float f(float v, const Params&) { return f32; }   \
    static double f(double v, const Params&) { return f64; } \
  };
#define WICK_REF_MATH(Name, function) \
  WICK_REF_OP(Name, scalar_math::function(F(v)).v, std::function(v))

#define WICK_REF_BY_EDITION(Name, function) \
  struct Name##Op : NoParams {              \
    template <class T>                      \
    static T f(T v, const Params& p) {      \
      return function(p.edition, v);        \
    }                                       \
  };
WICK_REF_BY_EDITION(Exp, exp_of)
WICK_REF_BY_EDITION(Sigmoid, sigmoid_of)
WICK_REF_BY_EDITION(Silu, silu_of)
WICK_REF_BY_EDITION(Tanh, tanh_of)
WICK_REF_MATH(Log, log)
WICK_REF_MATH(Erf, erf)
WICK_REF_MATH(Sin, sin)
WICK_REF_MATH(Cos, cos)
WICK_REF_MATH(Tan, tan)
WICK_REF_MATH(Asin, asin)
WICK_REF_MATH(Acos, acos)
WICK_REF_MATH(Atan, atan)
WICK_REF_MATH(Sinh, sinh)
WICK_REF_MATH(Cosh, cosh)
WICK_REF_MATH(Asinh, asinh)
WICK_REF_MATH(Acosh, acosh)
WICK_REF_MATH(Atanh, atanh)
WICK_REF_MATH(Log1p, log1p)
WICK_REF_MATH(Expm1, expm1)
WICK_REF_MATH(Log2, log2)
WICK_REF_MATH(Log10, log10)
WICK_REF_MATH(Erfc, erfc)
WICK_REF_OP(Softplus, scalar_math::softplus(F(v)).v,
            std::isnan(v) ? v : std::fmax(v, 0.0) + std::log1p(std::exp(-std::fabs(v))))
WICK_REF_OP(Sqrt, std::sqrt(v), std::sqrt(v))
WICK_REF_OP(Reciprocal, 1 / v, 1 / v)
WICK_REF_OP(Floor, std::floor(v), std::floor(v))
WICK_REF_OP(Ceil, std::ceil(v), std::ceil(v))
WICK_REF_OP(Round, std::nearbyint(v), std::nearbyint(v))

template <class T>
T clip_to(T x, T lo, T hi) {
  T r = x <= lo ? lo : x;
  return r >= hi ? hi : r;
}

struct HardSwishOp : NoParams {
  template <class T>
  static T f(T v, const Params&) {
    return v * (clip_to(v + 3, T(0), T(6)) * (T(1) / 6));
  }
};
struct HardSigmoidOp {
  static Params params(const void* attrs) {
    auto* a = static_cast<const HardSigmoidAttrs*>(attrs);
    return {a->alpha, a->beta};
  }
  template <class T>
  static T f(T v, const Params& p) {
    return clip_to(std::fma(static_cast<T>(p.a), v, static_cast<T>(p.b)), T(0), T(1));
  }
};
struct LeakyReluOp {
  static Params params(const void* attrs) {
    return {static_cast<const LeakyReluAttrs*>(attrs)->alpha};
  }
  template <class T>
  static T f(T v, const Params& p) {
    return v < 0 ? v * static_cast<T>(p.a) : v;
  }
};
struct EluOp {
  static Params params(const void* attrs) { return {static_cast<const EluAttrs*>(attrs)->alpha}; }
  static float f(float v, const Params& p) {
    return v < 0 ? static_cast<float>(p.a) * scalar_math::expm1(F(v)).v : v;
  }
  static double f(double v, const Params& p) { return v < 0 ? p.a * std::expm1(v) : v; }
};
struct GeluOp {
  static Params params(const void* attrs) {
    return {static_cast<double>(static_cast<const GeluAttrs*>(attrs)->tanh)};
  }
  static float f(float v, const Params& p) {
    return p.a != 0 ? gelu_tanh_of(p.edition, v) : scalar_math::gelu(F(v)).v;
  }
  static double f(double v, const Params& p) {
    return p.a != 0 ? gelu_tanh_of(p.edition, v)
                    : 0.5 * v * std::erfc(-v * (std::numbers::sqrt2 / 2));
  }
};
struct NegOp : NoParams {
  template <class T>
  static T f(T v, const Params&) {
    if constexpr (kIsFloat<T>)
      return -v;
    else
      return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(v));
  }
};
struct AbsOp : NoParams {
  template <class T>
  static T f(T v, const Params& p) {
    if constexpr (kIsFloat<T>)
      return std::fabs(v);
    else if constexpr (std::is_signed_v<T>)
      return v < 0 ? NegOp::f(v, p) : v;
    else
      return v;
  }
};
struct SignOp : NoParams {
  template <class T>
  static T f(T v, const Params&) {
    if (v == 0) return T(0);
    if constexpr (std::is_signed_v<T>) {
      if (v < 0) return static_cast<T>(-1);
      return v > 0 ? T(1) : v;  // NaN
    } else {
      return T(1);
    }
  }
};
struct NotOp : NoParams {
  static bool f(bool v, const Params&) { return !v; }
};

// Computes the bounds in T, so that int64 keeps all digits; an infinite or NaN attribute means no
// bound.
template <class T>
Status run_clip(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  using C = std::conditional_t<kIs16<T>, float, T>;
  auto* a = static_cast<const ClipAttrs*>(attrs);
  auto bound = [](double v, double none) {
    if constexpr (kIsFloat<C>)
      return static_cast<C>(v);
    else
      return saturated<C>(v == v ? v : none);
  };
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  C lo = bound(a->min, -kEndless), hi = bound(a->max, kEndless);
  if (in.size() > 1 && in[1].present()) lo = static_cast<C>(*in[1].as<T>());
  if (in.size() > 2 && in[2].present()) hi = static_cast<C>(*in[2].as<T>());
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  ElementLoop<1> loop(out[0], &in[0]);
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const T* from = x + offset[0];
    T* to = y + at;
    const int64_t dx = step;
    const C least = lo, most = hi;
    for (int64_t i = 0; i < n; ++i)
      to[i] = static_cast<T>(clip_to(static_cast<C>(from[i * dx]), least, most));
  });
  return {};
}

constexpr uint32_t kFlags = kStridedInputs | kInPlace;

}  // namespace

#define WICK_FLOAT_OP(Name, text) \
  WICK_REF_ROWS(Name, WICK_FLOAT_ROWS(text, kFlags, match<T>, run<Name##Op, T>))
WICK_FLOAT_OP(LeakyRelu, "leaky_relu");
WICK_FLOAT_OP(Elu, "elu");
WICK_FLOAT_OP(Sigmoid, "sigmoid");
WICK_FLOAT_OP(Tanh, "tanh");
WICK_FLOAT_OP(Gelu, "gelu");
WICK_FLOAT_OP(Silu, "silu");
WICK_FLOAT_OP(HardSwish, "hard_swish");
WICK_FLOAT_OP(HardSigmoid, "hard_sigmoid");
WICK_FLOAT_OP(Softplus, "softplus");
WICK_FLOAT_OP(Exp, "exp");
WICK_FLOAT_OP(Log, "log");
WICK_FLOAT_OP(Sqrt, "sqrt");
WICK_FLOAT_OP(Reciprocal, "reciprocal");
WICK_FLOAT_OP(Erf, "erf");
WICK_FLOAT_OP(Sin, "sin");
WICK_FLOAT_OP(Cos, "cos");
WICK_FLOAT_OP(Tan, "tan");
WICK_FLOAT_OP(Asin, "asin");
WICK_FLOAT_OP(Acos, "acos");
WICK_FLOAT_OP(Atan, "atan");
WICK_FLOAT_OP(Sinh, "sinh");
WICK_FLOAT_OP(Cosh, "cosh");
WICK_FLOAT_OP(Asinh, "asinh");
WICK_FLOAT_OP(Acosh, "acosh");
WICK_FLOAT_OP(Atanh, "atanh");
WICK_FLOAT_OP(Log1p, "log1p");
WICK_FLOAT_OP(Expm1, "expm1");
WICK_FLOAT_OP(Log2, "log2");
WICK_FLOAT_OP(Log10, "log10");
WICK_FLOAT_OP(Erfc, "erfc");
WICK_FLOAT_OP(Floor, "floor");
WICK_FLOAT_OP(Ceil, "ceil");
WICK_FLOAT_OP(Round, "round");
WICK_REF_ROWS(Neg, WICK_FLOAT_ROWS("neg", kFlags, match<T>, run<NegOp, T>),
              WICK_INT_ROWS("neg", kFlags, match<T>, run<NegOp, T>));
WICK_REF_ROWS(Abs, WICK_FLOAT_ROWS("abs", kFlags, match<T>, run<AbsOp, T>),
              WICK_INT_ROWS("abs", kFlags, match<T>, run<AbsOp, T>));
WICK_REF_ROWS(Sign, WICK_FLOAT_ROWS("sign", kFlags, match<T>, run<SignOp, T>),
              WICK_INT_ROWS("sign", kFlags, match<T>, run<SignOp, T>));
WICK_REF_ROWS(Not, WICK_BOOL_ROW("not", kFlags, match<T>, run<NotOp, T>));
WICK_NO_CPU_ROWS(Not);
WICK_REF_ROWS(Clip, WICK_NUMBER_ROWS("clip", kFlags, match<T>, run_clip<T>));

}  // namespace wick
