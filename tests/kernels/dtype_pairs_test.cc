// Ops between every two types. Cast: rows longer than a block and strided, against long double
// (which holds every value of every type): one rounding to floats, saturation from floats to
// integers, wrapping between integers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "runtime/core/half.h"
#include "runtime/kernels/prepared.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick::test {
namespace {

template <class T>
constexpr bool kIs16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kIsReal = std::is_floating_point_v<T> || kIs16<T>;

template <class T>
long double exact(T v) {
  if constexpr (kIs16<T>) {
    return static_cast<float>(v);
  } else {
    return v;
  }
}

// Edges of every type, then everyday numbers that 16-bit floats must still round.
template <class T>
T value(int64_t i) {
  constexpr double kEdges[] = {0,     1,    -1,    2.5,   -2.5,  127.5,  128,          -129,
                               255.9, 256,  -300,  32768, 65535, -70000, 2147483648.0, 3e9,
                               -3e9,  1e19, -1e19, 2049};
  constexpr int64_t kCount = sizeof(kEdges) / sizeof(kEdges[0]);
  double v = i < kCount ? kEdges[i] : static_cast<double>(i * 37 % 9001) - 4000.25;
  if constexpr (kIs16<T>) {
    return T(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, bool>) {
    return i % 3 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (i % 50 == 40) return Limits::max();
    if (i % 50 == 41) return Limits::lowest();
    return std::fabs(v) < 9e18 ? static_cast<T>(static_cast<int64_t>(v)) : Limits::max();
  } else {
    return static_cast<T>(v);
  }
}

template <class From, class To>
To want(From from) {
  const long double v = exact(from);
  if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (kIs16<To>) {
    // A float that rounding to 16 bits cannot see the difference of: odd where it is inexact.
    float f = static_cast<float>(v);
    if (static_cast<long double>(f) != v && std::isfinite(f)) {
      uint32_t bits = std::bit_cast<uint32_t>(f);
      if (fabsl(f) > fabsl(v)) --bits;
      f = std::bit_cast<float>(bits | 1);
    }
    return To(f);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(v);
  } else if constexpr (kIsReal<From>) {
    using Limits = std::numeric_limits<To>;
    if (v >= static_cast<long double>(Limits::max())) return Limits::max();
    if (v <= static_cast<long double>(Limits::lowest())) return Limits::lowest();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(from);
  }
}

template <class From, class To>
void check(int64_t step) {
  constexpr int64_t kCount = 1300;
  std::unique_ptr<From[]> x(new From[static_cast<size_t>(kCount * step)]());
  std::unique_ptr<To[]> y(new To[static_cast<size_t>(kCount)]());
  for (int64_t i = 0; i < kCount; ++i) x[static_cast<size_t>(i * step)] = value<From>(i);
  Shape shape{kCount};
  Strides strides = contiguous_strides(shape);
  strides[0] = step;
  TensorView in(x.get(), dtype_of<From>, shape, strides), out(y.get(), dtype_of<To>, shape);
  CastAttrs attrs{static_cast<int64_t>(dtype_of<To>)};
  KernelQuery query{OpId::kCast, &attrs, {&in, 1}, {&out, 1}, 1};
  PreparedKernel kernel;
  ASSERT_TRUE(kernel.prepare(default_kernels(), query).ok());
  ASSERT_TRUE(kernel.run({}, OpId::kCast, {&in, 1}, {&out, 1}, &attrs).ok());
  for (int64_t i = 0; i < kCount; ++i) {
    const From from = x[static_cast<size_t>(i * step)];
    const To expected = want<From, To>(from);
    ASSERT_EQ(std::memcmp(&y[static_cast<size_t>(i)], &expected, sizeof(To)), 0)
        << dtype_name(dtype_of<From>) << " to " << dtype_name(dtype_of<To>) << ", element " << i
        << ", step " << step << ": " << static_cast<double>(exact(from)) << " became "
        << static_cast<double>(exact(y[static_cast<size_t>(i)])) << ", not "
        << static_cast<double>(exact(expected));
  }
}

template <class From, class... To>
void check_from() {
  (check<From, To>(1), ...);
  (check<From, To>(3), ...);
}
template <class... T>
void check_all() {
  (check_from<T, T...>(), ...);
}

TEST(Cast, EveryPairOfTypes) {
  check_all<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
            uint32_t, uint64_t, bool>();
}

// An exponent of any dtype gives what the same number in the base's own dtype gives.
template <class T, class E>
void check_power(int64_t step) {
  constexpr int64_t kCount = 1300;
  std::vector<T> x(kCount), own(kCount), got(kCount), want(kCount);
  std::vector<E> y(static_cast<size_t>(kCount * step));
  for (int64_t i = 0; i < kCount; ++i) {
    const auto k = static_cast<size_t>(i);
    x[k] = static_cast<T>(static_cast<float>(i % 6));
    own[k] = static_cast<T>(static_cast<float>(i % 7 % 4));
    y[k * static_cast<size_t>(step)] = static_cast<E>(static_cast<float>(i % 7 % 4));
  }
  Shape shape{kCount};
  Strides strides = contiguous_strides(shape);
  strides[0] = step;
  TensorView base(x.data(), dtype_of<T>, shape);
  auto run = [&](TensorView exponent, std::vector<T>& z) {
    TensorView in[2] = {base, exponent}, out(z.data(), dtype_of<T>, shape);
    static constexpr const KernelSet* kReference[] = {&kReferenceKernels};
    KernelQuery query{OpId::kPow, nullptr, {in, 2}, {&out, 1}, 1};
    PreparedKernel kernel;
    ASSERT_TRUE(kernel.prepare(kReference, query).ok());
    ASSERT_TRUE(kernel.run({}, OpId::kPow, {in, 2}, {&out, 1}, nullptr).ok());
  };
  run(TensorView(own.data(), dtype_of<T>, shape), want);
  run(TensorView(y.data(), dtype_of<E>, shape, strides), got);
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0)
      << dtype_name(dtype_of<T>) << " to the power of " << dtype_name(dtype_of<E>) << ", step "
      << step;
}

template <class T, class... E>
void check_powers_of() {
  (check_power<T, E>(1), ...);
  (check_power<T, E>(2), ...);
}
template <class... T>
void check_powers() {
  (check_powers_of<T, T...>(), ...);
}

TEST(Pow, EveryPairOfTypes) {
  check_powers<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
               uint32_t, uint64_t>();
}

}  // namespace
}  // namespace wick::test
