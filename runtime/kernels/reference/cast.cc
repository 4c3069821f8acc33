#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

template <class T>
inline constexpr bool kIs16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Rounds to odd: a following rounding to a shorter format is then the correct single rounding.
float to_float_odd(double d) {
  float f = static_cast<float>(d);
  double back = static_cast<double>(f);
  if (back == d || std::isnan(d) || std::isinf(f)) return f;
  uint32_t u = std::bit_cast<uint32_t>(f);
  if (std::fabs(back) > std::fabs(d)) --u;
  return std::bit_cast<float>(u | 1);
}

// Floats to integers: towards zero, saturating, NaN -> 0. Integers to narrower ones: wrap. To bool:
// != 0.
template <class To, class From>
To convert(From v) {
  if constexpr (kIs16<From>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (kIs16<To>) {
    if constexpr (std::is_same_v<From, float>)
      return To(v);
    else
      return To(to_float_odd(static_cast<double>(v)));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    // max + 1 is a power of two, hence exact in every float type
    constexpr From kTop = static_cast<From>(Limits::max() / 2 + 1) * 2;
    if (!(v > static_cast<From>(Limits::lowest()))) return v == v ? Limits::lowest() : To(0);
    return v >= kTop ? Limits::max() : static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <class From, class To>
void cast(ThreadPool* pool, const TensorView& in, const TensorView& out) {
  const From* x = in.as<From>();
  To* y = out.as<To>();
  ElementLoop<1> loop(out, &in);
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const From* row = x + offset[0];
    if (step == 1) {
      for (int64_t i = 0; i < n; ++i) y[at + i] = convert<To>(row[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) y[at + i] = convert<To>(row[i * step]);
    }
  });
}

#define WICK_CAST_TYPES(X) WICK_NUMBER_TYPES(X) X(bool, "bool")

template <class From>
bool cast_from(ThreadPool* pool, const TensorView& in, const TensorView& out) {
  switch (out.dtype) {
#define X(To, name) \
  case dtype_of<To>: cast<From, To>(pool, in, out); return true;
    WICK_CAST_TYPES(X)
#undef X
    default: return false;
  }
}

bool castable(DType t) {
#define X(T, name) t == dtype_of<T> ||
  return WICK_CAST_TYPES(X) false;
#undef X
}

bool match(const KernelQuery& q) { return castable(q.in[0].dtype) && castable(q.out[0].dtype); }

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  switch (in[0].dtype) {
#define X(From, name)                                        \
  case dtype_of<From>:                                       \
    if (cast_from<From>(ctx.pool, in[0], out[0])) return {}; \
    break;
    WICK_CAST_TYPES(X)
#undef X
    default: break;
  }
  return error(Code::kUnsupported, "no cast from %s to %s", dtype_name(in[0].dtype),
               dtype_name(out[0].dtype));
}

}  // namespace

WICK_REF_ROWS(Cast, {"cast.any.ref", kStridedInputs, match, nullptr, nullptr, run});
WICK_NO_CPU_ROWS(Cast);

}  // namespace wick
