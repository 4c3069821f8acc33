// The elementwise part of reductions. Every loop combines element i with element i, in one order of
// operands, so that vector code and plain code give the same bits.
#include <cmath>
#include <type_traits>

#include "runtime/core/half.h"
#include "trainer/distributed/comm/tree.h"

namespace wick::distributed {
namespace {

template <class T>
T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <class T>
T most(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

// The type in which T is combined: integers as unsigned numbers of int's width or more, which wrap.
template <class T>
struct Work {
  using type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};
template <>
struct Work<float> {
  using type = float;
};
template <>
struct Work<double> {
  using type = double;
};

template <class T, class F>
void loop(const void* a, const void* b, void* out, int64_t n, const F& f) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], y[i]);
}

template <class T>
bool numbers(ReduceOp op, const void* a, const void* b, void* out, int64_t n) {
  using W = typename Work<T>::type;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      loop<T>(a, b, out, n,
              [](T x, T y) { return static_cast<T>(static_cast<W>(x) + static_cast<W>(y)); });
      return true;
    case ReduceOp::kProduct:
      loop<T>(a, b, out, n,
              [](T x, T y) { return static_cast<T>(static_cast<W>(x) * static_cast<W>(y)); });
      return true;
    case ReduceOp::kMin: loop<T>(a, b, out, n, least<T>); return true;
    case ReduceOp::kMax: loop<T>(a, b, out, n, most<T>); return true;
  }
  return false;
}

template <class T>  // Half, BFloat16
bool halves(ReduceOp op, const void* a, const void* b, void* out, int64_t n) {
  auto by = [&](auto f) {
    loop<T>(a, b, out, n,
            [&](T x, T y) { return T(f(static_cast<float>(x), static_cast<float>(y))); });
    return true;
  };
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean: return by([](float x, float y) { return x + y; });
    case ReduceOp::kProduct: return by([](float x, float y) { return x * y; });
    case ReduceOp::kMin: return by(least<float>);
    case ReduceOp::kMax: return by(most<float>);
  }
  return false;
}

bool bools(ReduceOp op, const void* a, const void* b, void* out, int64_t n) {
  if (op == ReduceOp::kMean) return false;
  const bool either = op == ReduceOp::kSum || op == ReduceOp::kMax;
  loop<uint8_t>(a, b, out, n, [&](uint8_t x, uint8_t y) {
    return static_cast<uint8_t>(either ? (x | y) != 0 : x != 0 && y != 0);
  });
  return true;
}

template <class T>
bool quotients(void* data, int64_t n, int divisor) {
  T* x = static_cast<T*>(data);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      x[i] = x[i] / static_cast<T>(divisor);
    } else {
      x[i] = T(static_cast<float>(x[i]) / static_cast<float>(divisor));
    }
  }
  return true;
}

}  // namespace

bool combine(ReduceOp op, DType dtype, const void* a, const void* b, void* out, int64_t n) {
  switch (dtype) {
    case DType::kF32: return numbers<float>(op, a, b, out, n);
    case DType::kF64: return numbers<double>(op, a, b, out, n);
    case DType::kF16: return halves<Half>(op, a, b, out, n);
    case DType::kBF16: return halves<BFloat16>(op, a, b, out, n);
    case DType::kU8: return numbers<uint8_t>(op, a, b, out, n);
    case DType::kI8: return numbers<int8_t>(op, a, b, out, n);
    case DType::kU16: return numbers<uint16_t>(op, a, b, out, n);
    case DType::kI16: return numbers<int16_t>(op, a, b, out, n);
    case DType::kU32: return numbers<uint32_t>(op, a, b, out, n);
    case DType::kI32: return numbers<int32_t>(op, a, b, out, n);
    case DType::kU64: return numbers<uint64_t>(op, a, b, out, n);
    case DType::kI64: return numbers<int64_t>(op, a, b, out, n);
    case DType::kBool: return bools(op, a, b, out, n);
    case DType::kC64:
    case DType::kC128: {
      if (op != ReduceOp::kSum && op != ReduceOp::kMean) return false;
      const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
      return combine(op, part, a, b, out, 2 * n);
    }
    default: return false;
  }
}

bool divide(DType dtype, void* data, int64_t n, int divisor) {
  switch (dtype) {
    case DType::kF32: return quotients<float>(data, n, divisor);
    case DType::kF64: return quotients<double>(data, n, divisor);
    case DType::kF16: return quotients<Half>(data, n, divisor);
    case DType::kBF16: return quotients<BFloat16>(data, n, divisor);
    case DType::kC64: return quotients<float>(data, 2 * n, divisor);
    case DType::kC128: return quotients<double>(data, 2 * n, divisor);
    default: return false;
  }
}

bool can_combine(ReduceOp op, DType dtype) {
  return combine(op, dtype, nullptr, nullptr, nullptr, 0) &&
         (op != ReduceOp::kMean || divide(dtype, nullptr, 0, 1));
}

void to_bf16(const float* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = BFloat16(in[i]).bits;
}

void from_bf16(const uint16_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    BFloat16 b;
    b.bits = in[i];
    out[i] = static_cast<float>(b);
  }
}

}  // namespace wick::distributed
