// float64 out of integers: the CPU's bits where IEEE 754 says them, two units elsewhere.
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>

#include "tests/ops/sets.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

// Numbers of every exponent, or of those of everyday use; the specials among them.
Value doubles(const Shape& shape, uint64_t seed, bool any) {
  const double special[] = {0.0, -0.0, 1.0,     -1.0,    INFINITY, -INFINITY, NAN,
                            0.5, 1.5,  DBL_MAX, DBL_MIN, 5e-324,   -2.5,      0x1p52 + 1};
  Value v(DType::kF64, shape);
  for (int64_t i = 0; i < v.view().numel(); ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    uint64_t bits = seed ^ seed >> 29;
    if (!any) bits = (bits & 0x800FFFFFFFFFFFFF) | (uint64_t{1010} + (seed >> 50) % 30) << 52;
    double x = std::bit_cast<double>(bits);
    if (any && (seed >> 61) == 0) x = special[(seed >> 40) % std::size(special)];
    v.set(i, x);
  }
  return v;
}

TEST(VulkanDouble, OneOperationRoundsOnce) {
  WICK_NEED_DEVICE();
  NoAttrs none;
  for (bool any : {false, true}) {
    const Value a = doubles({4099}, 1, any), b = doubles({4099}, 2, any);
    for (OpId op : {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv, OpId::kMax, OpId::kMin})
      EXPECT_EQ(differs_from_cpu(op, &none, {a, b}), "") << find_op(op)->name;
    for (OpId op : {OpId::kRelu, OpId::kNeg, OpId::kAbs, OpId::kSign, OpId::kFloor, OpId::kCeil,
                    OpId::kRound, OpId::kSqrt, OpId::kReciprocal})
      EXPECT_EQ(differs_from_cpu(op, &none, {a}), "") << find_op(op)->name;
    for (int64_t fmod : {0, 1}) {
      ModAttrs mod;
      mod.fmod = fmod;
      EXPECT_EQ(differs_from_cpu(OpId::kMod, &mod, {a, b}), "") << fmod;
    }
  }
  EXPECT_EQ(differs_from_cpu(OpId::kAdd, &none,
                             {doubles({5, 1, 7}, 3, false), doubles({3, 1}, 4, false)}),
            "");
}

TEST(VulkanDouble, SumsInTheCpusOrder) {
  WICK_NEED_DEVICE();
  ReduceAttrs a;
  a.axes.values[a.axes.count++] = 1;
  for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax, OpId::kReduceMin,
                  OpId::kReduceProd}) {
    EXPECT_EQ(differs_from_cpu(op, &a, {doubles({3, 5000, 2}, 5, false)}), "") << find_op(op)->name;
    EXPECT_EQ(differs_from_cpu(op, &a, {doubles({3, 7}, 6, true)}), "") << find_op(op)->name;
  }
}

TEST(VulkanDouble, ExponentialAndLogarithmWithinTwoUnits) {
  WICK_NEED_DEVICE();
  for (OpId op : {OpId::kExp, OpId::kLog}) {
    for (int kind = 0; kind < 3; ++kind) {
      Value x = doubles({4099}, 7, kind == 1);
      for (int64_t i = 0; kind == 2 && i < 4099; ++i)
        x.set(i, op == OpId::kExp ? (static_cast<double>(i) - 2050) * 0.365
                                  : 1 + (static_cast<double>(i) - 2050) * 0x1p-20);
      std::vector<Value> got;
      got.emplace_back(DType::kF64, x.view().shape);
      Status s = run_call(op, nullptr, {x}, got);
      ASSERT_TRUE(s.ok()) << s.message();
      for (int64_t i = 0; i < 4099; ++i) {
        const double want = op == OpId::kExp ? std::exp(x.at(i)) : std::log(x.at(i));
        const double y = got[0].at(i);
        if (y == want || (std::isnan(y) && std::isnan(want))) continue;
        ASSERT_LE(std::fabs(y - want), 2 * 0x1p-52 * std::fabs(want) + 5e-324)
            << find_op(op)->name << " of " << x.at(i);
      }
    }
  }
}

}  // namespace
}  // namespace wick::test
