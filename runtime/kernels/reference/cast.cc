#include <cmath>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/widest.h"

namespace wick {
namespace {

using reference::CastLoop;
using reference::find_narrow;
using reference::find_widen;
using reference::kIs16;
using reference::kWidestBlock;
using reference::NarrowSmall;
using reference::Widen;
using reference::Widest;
using reference::WidestBlock;

// Floats to integers: towards zero, saturating, NaN -> 0. Integers to narrower ones wrap. To bool:
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
      return To(reference::to_float_odd(static_cast<double>(v)));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return reference::saturated<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

// A loop for every pair of types would be half a megabyte of code. The pairs that models use have
// one; the others go through the type that holds both without loss, a block at a time.
#define WICK_DIRECT_CASTS(X) \
  X(uint8_t, float)          \
  X(int8_t, float)           \
  X(int32_t, float)          \
  X(int64_t, float)          \
  X(bool, float)             \
  X(double, float)           \
  X(Half, float)             \
  X(BFloat16, float)         \
  X(float, uint8_t)          \
  X(float, int8_t)           \
  X(float, int32_t)          \
  X(float, int64_t)          \
  X(float, bool)             \
  X(float, double) X(float, Half) X(float, BFloat16) X(int32_t, int64_t) X(int64_t, int32_t)

#define WICK_CAST_TYPES(X) WICK_NUMBER_TYPES(X) X(bool, "bool")

template <class From, class To>
void direct(const void* from, int64_t step, int64_t n, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(reference::read(x + i));
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(reference::read(x + i * step));
  }
}

template <class From>
void widen(const void* from, int64_t first, int64_t step, int64_t n, WidestBlock* to) {
  using W = Widest<From>;
  const From* x = static_cast<const From*>(from) + first;
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<W*>(to->bytes)[i] = convert<W>(reference::read(x + i * step));
}
template <class W, class To>
void narrow(const void* from, int64_t, int64_t n, void* to) {
  const W* x = static_cast<const W*>(from);
  for (int64_t i = 0; i < n; ++i) static_cast<To*>(to)[i] = convert<To>(x[i]);
}

CastLoop find_direct(DType from, DType to) {
#define X(From, To) \
  if (from == dtype_of<From> && to == dtype_of<To>) return direct<From, To>;
  WICK_DIRECT_CASTS(X)
#undef X
  return nullptr;
}

template <class W>
CastLoop find_narrow_from(DType to) {
  switch (to) {
#define X(T, name) \
  case dtype_of<T>: return narrow<W, T>;
    WICK_CAST_TYPES(X)
#undef X
    default: return nullptr;
  }
}
bool castable(DType t) {
#define X(T, name) t == dtype_of<T> ||
  return WICK_CAST_TYPES(X) is_small(t);
#undef X
}

bool match(const KernelQuery& q) { return castable(q.in[0].dtype) && castable(q.out[0].dtype); }

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& a = *static_cast<const CastAttrs*>(attrs);
  const auto* x = in[0].as<char>();
  auto* y = out[0].as<char>();
  const auto x_size = static_cast<int64_t>(dtype_size(in[0].dtype));
  const auto y_size = static_cast<int64_t>(dtype_size(out[0].dtype));
  const CastLoop one = find_direct(in[0].dtype, out[0].dtype);
  const Widen first = find_widen(in[0].dtype);
  const CastLoop second = find_narrow(first.kind, out[0].dtype);
  const NarrowSmall small = reference::find_narrow_small(out[0].dtype);
  const auto floats = reference::find_narrow_floats(in[0].dtype, out[0].dtype);
  if (first.loop == nullptr || (second == nullptr && small == nullptr)) {
    return error(Code::kUnsupported, "no cast from %s to %s", dtype_name(in[0].dtype),
                 dtype_name(out[0].dtype));
  }
  ElementLoop<1> loop(out[0], &in[0]);
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    char* to = y + at * y_size;
    if (one != nullptr) return one(x + offset[0] * x_size, step, n, to);
    if (floats != nullptr)
      return floats(in[0].as<float>() + offset[0], step, n, out[0].as<uint8_t>() + at, a);
    WidestBlock wide;
    for (int64_t i = 0; i < n; i += kWidestBlock) {
      const int64_t count = n - i < kWidestBlock ? n - i : kWidestBlock;
      first.loop(x, offset[0] + i * step, step, count, &wide);
      if (small != nullptr) {
        small(wide, first.kind, count, y, at + i, a);
      } else {
        second(wide.bytes, 1, count, to + i * y_size);
      }
    }
  });
  return {};
}

}  // namespace

CastLoop reference::find_narrow(Widen::Kind kind, DType to) {
  if (kind == Widen::Kind::kReal) return find_narrow_from<double>(to);
  return kind == Widen::Kind::kSigned ? find_narrow_from<int64_t>(to)
                                      : find_narrow_from<uint64_t>(to);
}

Widen reference::find_widen(DType from) {
  switch (from) {
#define X(T, name)                                                                \
  case dtype_of<T>:                                                               \
    return {widen<T>, std::is_same_v<Widest<T>, double>    ? Widen::Kind::kReal   \
                      : std::is_same_v<Widest<T>, int64_t> ? Widen::Kind::kSigned \
                                                           : Widen::Kind::kUnsigned};
    WICK_CAST_TYPES(X)
#undef X
    default: return find_widen_small(from);
  }
}

WICK_REF_ROWS(Cast, {"cast.any.ref", kStridedInputs, match, nullptr, nullptr, run});
WICK_NO_CPU_ROWS(Cast);

}  // namespace wick
