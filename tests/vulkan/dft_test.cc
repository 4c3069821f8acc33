// Transforms of infinities and NaNs, or with such values on the way: where the CPU gives an
// infinity or NaN, so does the device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/sets.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Transform {
  int64_t length;
  int64_t parts;  // parts of an input number: 1 or 2
  int64_t inverse = 0, onesided = 0;
};
// Lengths that are transformed by halving, by the direct sum and by a convolution.
constexpr Transform kTransforms[] = {{1, 1},       {2, 2},       {8, 1},       {8, 2, 1},
                                     {16, 2},      {12, 1},      {15, 2},      {12, 2, 1},
                                     {9, 1, 0, 1}, {8, 1, 0, 1}, {100, 1},     {70, 2},
                                     {90, 2, 1},   {64, 2, 1},   {7, 2, 1, 1}, {100, 1, 0, 1}};

bool by_halves(int64_t n) { return (n & (n - 1)) == 0; }

// `given`: of the numbers, real and imaginary one after another.
void expect_as_cpu(const Transform& t, const std::vector<float>& given, const std::string& what) {
  const int64_t numbers = static_cast<int64_t>(given.size()) / t.parts;
  Value x(DType::kF32, {1, numbers, t.parts});
  for (size_t i = 0; i < given.size(); ++i) x.view().as<float>()[i] = given[i];
  const DftAttrs a{1, 0, t.inverse, t.onesided};
  std::vector<Value> want, got;
  Status s = run_op(OpId::kDFT, &a, {x}, 1, reference_sets(), nullptr, &want);
  ASSERT_TRUE(s.ok()) << what << s.message();
  got.emplace_back(DType::kF32, want[0].view().shape);
  s = run_call(OpId::kDFT, &a, {x}, got);
  ASSERT_TRUE(s.ok()) << what << s.message();
  const float *w = want[0].view().as<float>(), *g = got[0].view().as<float>();
  const int64_t n = want[0].view().numel();
  double most = 0;
  for (float v : given) most = std::isfinite(v) ? std::fmax(most, std::fabs(v)) : most;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isfinite(w[i])) {  // against what the terms could sum to
      EXPECT_LE(std::fabs(double{g[i]} - w[i]), 1e-6 * most * static_cast<double>(numbers))
          << what << ": element " << i << " is " << g[i] << ", the CPU's " << w[i];
      continue;
    }
    EXPECT_FALSE(std::isfinite(g[i])) << what << ": element " << i << ", the CPU's " << w[i];
    // Halving multiplies an infinity again and again; it may end as NaN.
    if (!by_halves(t.length)) {
      EXPECT_TRUE(g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i])))
          << what << ": element " << i << " is " << g[i] << ", the CPU's " << w[i];
    }
  }
}

std::string name_of(const Transform& t) {
  return "length " + std::to_string(t.length) + " of " + std::to_string(t.parts) +
         (t.inverse != 0 ? ", inverse" : "") + (t.onesided != 0 ? ", one side" : "");
}
size_t inputs_of(const Transform& t) {
  const int64_t numbers = t.inverse != 0 && t.onesided != 0 ? t.length / 2 + 1 : t.length;
  return static_cast<size_t>(numbers * t.parts);
}

TEST(VulkanDft, NumbersThatAreNotFinite) {
  WICK_NEED_DEVICE();
  for (const Transform& t : kTransforms) {
    const size_t n = inputs_of(t);
    for (float bad : {kInf, -kInf, kNan}) {
      for (size_t at : {size_t{0}, n / 2, n - 1}) {
        std::vector<float> x(n);
        for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i * 37 % 64) / 32 - 1;
        x[at] = bad;
        expect_as_cpu(t, x, name_of(t) + ", " + std::to_string(bad) + " at " + std::to_string(at));
      }
    }
  }
}

// Sums that leave float32's range and come back, stay beyond it, or are brought back by the
// inverse's division.
TEST(VulkanDft, SumsBeyondTheRange) {
  WICK_NEED_DEVICE();
  for (const Transform& t : kTransforms) {
    const size_t n = inputs_of(t);
    std::vector<float> there_and_back(n), beyond(n), large_and_small(n);
    for (size_t i = 0; i < n; ++i) {
      there_and_back[i] = 2 * i < n ? 3e38f : -3e38f;
      beyond[i] = i % 3 == 0 ? 1e38f : 2e38f;
      large_and_small[i] = i % 2 == 0 ? 3.4e38f : 1e-3f;
    }
    expect_as_cpu(t, there_and_back, name_of(t) + ", there and back");
    expect_as_cpu(t, beyond, name_of(t) + ", beyond");
    expect_as_cpu(t, large_and_small, name_of(t) + ", large and small");
  }
}

}  // namespace
}  // namespace wick::test
