// Elementary functions over every exponent, huge arguments among them, within the bounds derived.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>

#include "tests/vulkan/bounds.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

// 64 digits for each exponent and sign, and the specials; near multiples of pi / 2.
Value all_exponents() {
  std::vector<float> v = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 0.5f, FLT_MAX};
  uint32_t seed = 1;
  for (uint32_t e = 1; e < 255; ++e) {
    for (int i = 0; i < 64; ++i) {
      seed = seed * 1664525 + 1013904223;
      v.push_back(std::bit_cast<float>((seed & 0x80000000u) | e << 23 | ((seed >> 5) & 0x7FFFFF)));
    }
  }
  for (int k = 1; k < 2000; ++k) {
    const auto near = static_cast<float>(k * M_PI_2);
    for (float x : {near, std::nextafter(near, 0.0f), -near}) v.push_back(x);
  }
  for (int k = 0; k < 4096; ++k) v.push_back(static_cast<float>(k - 2048) / 1024);
  // The float nearest to a multiple of pi / 2.
  v.push_back(16367173.0f * 0x1p72f);
  Value x(DType::kF32, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) x.set(static_cast<int64_t>(i), static_cast<double>(v[i]));
  return x;
}

TEST(VulkanTrig, WithinBoundsOverAllExponents) {
  WICK_NEED_DEVICE();
  struct Row {
    OpId op;
    double (*f)(double);
  };
  const Row rows[] = {
      {OpId::kSin, std::sin},     {OpId::kCos, std::cos},     {OpId::kTan, std::tan},
      {OpId::kAsin, std::asin},   {OpId::kAcos, std::acos},   {OpId::kAtan, std::atan},
      {OpId::kSinh, std::sinh},   {OpId::kCosh, std::cosh},   {OpId::kAsinh, std::asinh},
      {OpId::kAcosh, std::acosh}, {OpId::kAtanh, std::atanh}, {OpId::kLog1p, std::log1p},
      {OpId::kExpm1, std::expm1}, {OpId::kLog2, std::log2},   {OpId::kLog10, std::log10},
      {OpId::kErfc, std::erfc}};
  const Value x = all_exponents();
  for (const Row& row : rows) {
    Value want(DType::kF64, x.view().shape);
    for (int64_t i = 0; i < x.view().numel(); ++i) want.set(i, row.f(x.at(i)));
    std::vector<Value> got;
    got.emplace_back(DType::kF32, x.view().shape);
    Status s = run_call(row.op, nullptr, {x}, got);
    ASSERT_TRUE(s.ok()) << s.message();
    const auto bounds = vulkan_bounds(row.op, nullptr, {x}, want);
    double worst = 0;
    for (int64_t i = 0; i < x.view().numel(); ++i) {
      const double a = got[0].at(i), b = want.at(i);
      if (std::isnan(b)) {
        ASSERT_TRUE(std::isnan(a)) << find_op(row.op)->name << " of " << x.at(i) << ": " << a;
        continue;
      }
      if (static_cast<double>(static_cast<float>(b)) == a) continue;
      const double ratio = std::fabs(a - b) / bounds[static_cast<size_t>(i)];
      ASSERT_LE(ratio, 1) << find_op(row.op)->name << " of " << fmt::format("{}", x.at(i)) << ": "
                          << a << ", exact " << b;
      worst = std::fmax(worst, ratio);
    }
    fmt::print("{:<6} worst observed / bound {:.3f}\n", find_op(row.op)->name, worst);
    EXPECT_GE(worst, 1.0 / 50);
  }
}

// A remainder is exact, whatever the quotient.
TEST(VulkanTrig, RemaindersAreExact) {
  WICK_NEED_DEVICE();
  std::vector<float> of = {0.0f,  -0.0f,     INFINITY,    NAN,    1.0f,
                           -1.0f, 0x1p-149f, 0x1.8p-127f, FLT_MAX};
  uint32_t seed = 7;
  for (int i = 0; i < 4000; ++i) {
    seed = seed * 1664525 + 1013904223;
    of.push_back(std::bit_cast<float>(seed));
  }
  const auto n = static_cast<int64_t>(of.size());
  Value x(DType::kF32, {n}), y(DType::kF32, {n});
  for (int64_t i = 0; i < n; ++i) {
    x.set(i, static_cast<double>(of[static_cast<size_t>(i)]));
    y.set(i, static_cast<double>(of[static_cast<size_t>((i * 7 + 3) % n)]));
  }
  for (int64_t fmod : {0, 1}) {
    ModAttrs a;
    a.fmod = fmod;
    EXPECT_EQ(differs_from_cpu(OpId::kMod, &a, {x, y}), "") << fmod;
  }
}

}  // namespace
}  // namespace wick::test
