#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/core/string_ref.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/kernels/reference/widest.h"
#include "runtime/kernels/reference/zip.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

template <DType T>
bool match_choice(const KernelQuery& q) {
  return q.in[1].dtype == T;
}

#define WICK_ARITHMETIC(Name, op)                                                  \
  struct Name##Op {                                                                \
    template <class T>                                                             \
    static T f(T x, T y) {                                                         \
      if constexpr (std::is_floating_point_v<T>)                                   \
        return x op y;                                                             \
      else                                                                         \
        return static_cast<T>(static_cast<Wide<T>>(x) op static_cast<Wide<T>>(y)); \
    }                                                                              \
  };
WICK_ARITHMETIC(Add, +)
WICK_ARITHMETIC(Sub, -)
WICK_ARITHMETIC(Mul, *)

// Integers are divided towards zero; x / 0 = 0 and lowest / -1 wraps (neither may trap).
struct DivOp {
  template <class T>
  static T f(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return x / y;
    } else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return static_cast<T>(Wide<T>(0) - static_cast<Wide<T>>(x));
      }
      return static_cast<T>(x / y);
    }
  }
};
// NaN takes precedence, +0 > -0.
struct MaxOp {
  template <class T>
  static T f(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (x == y) return std::signbit(x) ? y : x;
      return x > y || x != x ? x : y;
    } else {
      return x > y ? x : y;
    }
  }
};
struct MinOp {
  template <class T>
  static T f(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (x == y) return std::signbit(x) ? x : y;
      return x < y || x != x ? x : y;
    } else {
      return x < y ? x : y;
    }
  }
};

// NaN and -0 are not below 0, so that they stay; integers wrap.
struct PReluOp {
  template <class T>
  static T f(T x, T slope) {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return x < 0 ? MulOp::f(x, slope) : x;
    }
  }
};

#define WICK_COMPARE(Name, op) \
  struct Name##Op {            \
    template <class T>         \
    static bool f(T x, T y) {  \
      return x op y;           \
    }                          \
  };
WICK_COMPARE(Equal, ==)
WICK_COMPARE(Less, <)
WICK_COMPARE(LessOrEqual, <=)
WICK_COMPARE(Greater, >)
WICK_COMPARE(GreaterOrEqual, >=)
WICK_COMPARE(Xor, !=)
struct AndOp {
  static bool f(bool x, bool y) { return x && y; }
};
struct OrOp {
  static bool f(bool x, bool y) { return x || y; }
};

// Computes by squaring, with wrap-around; a negative exponent gives the integer part of the true
// result (0 for 0).
template <class T>
T integer_power(T x, int64_t y) {
  if (y < 0) {
    if (x == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (x == -1) return y % 2 == 0 ? 1 : -1;
    }
    return 0;
  }
  Wide<T> base = static_cast<Wide<T>>(x), result = 1;  // NOLINT: sign extension is intended
  for (; y != 0; y >>= 1, base *= base) {
    if ((y & 1) != 0) result *= base;
  }
  return static_cast<T>(result);
}

// Computes x^y with the exponent in its own dtype; the result has the base's.
template <class T, class E>
T mixed_power(T x, E y) {
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    return static_cast<T>(
        power(static_cast<Compute<T>>(x), static_cast<Compute<T>>(static_cast<Compute<E>>(y))));
  } else if constexpr (std::is_integral_v<E>) {
    if constexpr (std::is_same_v<E, uint64_t>) {
      // Squares modulo 2^n repeat, so an exponent beyond 2^63 acts like a smaller one >= 64 with
      // the same low bits.
      return integer_power(x, static_cast<int64_t>((y & INT64_MAX) | (y >> 63 << 62)));
    } else {
      return integer_power(x, static_cast<int64_t>(y));
    }
  } else {
    double r = std::pow(static_cast<double>(x), static_cast<double>(static_cast<Compute<E>>(y)));
    constexpr double kTop = static_cast<double>((std::numeric_limits<T>::max() >> 1) + 1) * 2;
    if (!(r > static_cast<double>(std::numeric_limits<T>::lowest())))
      return r == r ? std::numeric_limits<T>::lowest() : T(0);
    return r >= kTop ? std::numeric_limits<T>::max() : static_cast<T>(r);
  }
}

template <class T, class E>
void powers(const T* x, int64_t step, const E* y, int64_t n, T* z) {
  for (int64_t i = 0; i < n; ++i) z[i] = mixed_power<T, E>(x[i * step], y[i]);
}

template <class T>
Status run_pow(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  if (in[1].dtype == dtype_of<T>) {
    return zip<T, T, T>(ctx, in, out, [](T x, T y) { return mixed_power<T, T>(x, y); });
  }
  const Widen widen = reference::find_widen(in[1].dtype);
  if (widen.loop == nullptr) {
    return error(Code::kUnsupported, "no power with an exponent of %s", dtype_name(in[1].dtype));
  }
  const T* x = in[0].as<T>();
  T* z = out[0].as<T>();
  ElementLoop<2> loop(out[0], in.data());
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    WidestBlock wide;
    for (int64_t i = 0; i < n; i += kWidestBlock) {
      const int64_t count = n - i < kWidestBlock ? n - i : kWidestBlock;
      widen.loop(in[1].data, offset[1] + i * sy, sy, count, &wide);
      const T* px = x + offset[0] + i * sx;
      T* pz = z + at + i;
      switch (widen.kind) {
        case Widen::Kind::kReal: powers(px, sx, wide.as<double>(), count, pz); break;
        case Widen::Kind::kSigned: powers(px, sx, wide.as<int64_t>(), count, pz); break;
        case Widen::Kind::kUnsigned: powers(px, sx, wide.as<uint64_t>(), count, pz); break;
      }
    }
  });
  return {};
}

template <class T>
Status run_where(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const uint8_t* c = in[0].as<uint8_t>();
  const T* x = in[1].as<T>();
  const T* y = in[2].as<T>();
  T* z = out[0].as<T>();
  ElementLoop<3> loop(out[0], in.data());
  const int last = loop.rank - 1;
  const int64_t sc = loop.stride[0][last], sx = loop.stride[1][last], sy = loop.stride[2][last];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const int64_t dc = sc, dx = sx, dy = sy;
    const uint8_t* pc = c + offset[0];
    const T* px = x + offset[1];
    const T* py = y + offset[2];
    T* pz = z + at;
    // Both sides are read before the choice: a conditional load would keep the loop scalar.
    if (dc == 1 && dx == 1 && dy == 1) {
      for (int64_t i = 0; i < n; ++i) {
        const T a = read(px + i), b = read(py + i);
        pz[i] = pc[i] != 0 ? a : b;
      }
    } else if (dc == 1 && dx == 1 && dy == 0) {
      const T other = read(py);
      for (int64_t i = 0; i < n; ++i) {
        const T a = read(px + i);
        pz[i] = pc[i] != 0 ? a : other;
      }
    } else {
      for (int64_t i = 0; i < n; ++i)
        pz[i] = pc[i * dc] != 0 ? read(px + i * dx) : read(py + i * dy);
    }
  });
  return {};
}

constexpr uint32_t kFlags = kStridedInputs | kInPlace | kInPlaceSecond;

}  // namespace

WICK_REF_ROWS(Add, WICK_NUMBER_ROWS("add", kFlags, match<T>, run<AddOp, T>));
WICK_REF_ROWS(Sub, WICK_NUMBER_ROWS("sub", kFlags, match<T>, run<SubOp, T>));
WICK_REF_ROWS(Mul, WICK_NUMBER_ROWS("mul", kFlags, match<T>, run<MulOp, T>));
WICK_REF_ROWS(Div, WICK_NUMBER_ROWS("div", kFlags, match<T>, run<DivOp, T>));
WICK_REF_ROWS(Max, WICK_NUMBER_ROWS("max", kFlags, match<T>, run<MaxOp, T>));
WICK_REF_ROWS(Min, WICK_NUMBER_ROWS("min", kFlags, match<T>, run<MinOp, T>));
WICK_REF_ROWS(PRelu, WICK_NUMBER_ROWS("prelu", kFlags, match<T>, run<PReluOp, T>));
WICK_REF_ROWS(Pow, WICK_NUMBER_ROWS("pow", kFlags, match<T>, run_pow<T>));
WICK_REF_ROWS(Equal, WICK_NUMBER_ROWS("equal", kStridedInputs, match<T>, run_compare<EqualOp, T>),
              WICK_BOOL_ROW("equal", kStridedInputs, match<T>, run_compare<EqualOp, T>),
              WICK_REF_ROW(StringRef, "string", "equal", kStridedInputs, match<T>,
                           run_compare<EqualOp, T>));
WICK_REF_ROWS(Less, WICK_NUMBER_ROWS("less", kStridedInputs, match<T>, run_compare<LessOp, T>));
WICK_REF_ROWS(LessOrEqual, WICK_NUMBER_ROWS("less_or_equal", kStridedInputs, match<T>,
                                            run_compare<LessOrEqualOp, T>));
WICK_REF_ROWS(Greater,
              WICK_NUMBER_ROWS("greater", kStridedInputs, match<T>, run_compare<GreaterOp, T>));
WICK_REF_ROWS(GreaterOrEqual, WICK_NUMBER_ROWS("greater_or_equal", kStridedInputs, match<T>,
                                               run_compare<GreaterOrEqualOp, T>));
WICK_REF_ROWS(And, WICK_BOOL_ROW("and", kFlags, match<T>, run_compare<AndOp, T>));
WICK_REF_ROWS(Or, WICK_BOOL_ROW("or", kFlags, match<T>, run_compare<OrOp, T>));
WICK_REF_ROWS(Xor, WICK_BOOL_ROW("xor", kFlags, match<T>, run_compare<XorOp, T>));
WICK_REF_ROWS(Where,
              WICK_NUMBER_ROWS("where", kStridedInputs, match_choice<dtype_of<T>>, run_where<T>),
              WICK_BOOL_ROW("where", kStridedInputs, match_choice<dtype_of<T>>, run_where<T>),
              {"where.c64", kStridedInputs, match_choice<DType::kC64>, nullptr, nullptr,
               run_where<uint64_t>},
              {"where.c128", kStridedInputs, match_choice<DType::kC128>, nullptr, nullptr,
               run_where<Wide128>},
              WICK_REF_ROW(StringRef, "string", "where", kStridedInputs, match_choice<dtype_of<T>>,
                           run_where<T>));

// The compiler vectorizes the plain loops of these ops.
WICK_NO_CPU_ROWS(Equal);
WICK_NO_CPU_ROWS(Less);
WICK_NO_CPU_ROWS(LessOrEqual);
WICK_NO_CPU_ROWS(Greater);
WICK_NO_CPU_ROWS(GreaterOrEqual);
WICK_NO_CPU_ROWS(And);
WICK_NO_CPU_ROWS(Or);
WICK_NO_CPU_ROWS(Xor);

}  // namespace wick
