// float64 made of integers: the CPU's bits where IEEE 754 defines them, within two units elsewhere.
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
    for (OpId op :
         {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv, OpId::kMax, OpId::kMin, OpId::kPRelu})
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

// Two operands where rounding is hard: every pair of the odd ones; exponents all over; exponents
// near each other, and few digits, so that sums are ties; digits that cancel; products, quotients
// and operands beneath the normal range and at its end.
std::vector<uint64_t> hard_pairs() {
  const double odd[] = {
      0.0,      -0.0,     1.0,      -1.0,        1.5,        INFINITY, -INFINITY,
      NAN,      DBL_MAX,  -DBL_MAX, DBL_MIN,     -DBL_MIN,   4.9e-324, -4.9e-324,
      2.2e-308, 0x1p-537, 0x1p-538, 0x1p53,      0x1p53 + 2, 0x1p-53,  0x1p-54,
      1 / 3.0,  -1 / 3.0, 1e300,    0x1.8p-1073, -3e-310,    -2.5,     0x1.fffffffffffffp0};
  std::vector<uint64_t> pairs;
  for (double a : odd) {
    for (double b : odd)
      pairs.insert(pairs.end(), {std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)});
  }
  uint64_t state = 5;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  constexpr uint64_t kExponent = 0x7FFull << 52, kSigned = 1ull << 63;
  auto with_exponent = [](uint64_t v, uint64_t e) { return (v & ~kExponent) | (e << 52); };
  for (int i = 0; i < 48000; ++i) {
    uint64_t a = next(), b = next();
    const uint64_t e = a >> 52 & 0x7FF, few = next() >> 58;
    switch (i % 6) {
      case 1: b = (b & ~kExponent) | ((a + (b & (0x3Full << 52))) & kExponent); break;
      case 2: b = a ^ (b & 7) ^ kSigned; break;
      case 3:
        a = with_exponent(a, 480);
        b = with_exponent(b, 480 + (b & 127));
        break;
      case 4:  // an end in one digit, and a tail of others or of none
        a = with_exponent(a & ~uint64_t{7}, 100 + e % 1800);
        b = with_exponent(a, (a >> 52 & 0x7FF) - 48 - few % 12) & ~((1ull << (few % 53)) - 1);
        if (i % 5 == 0) b ^= kSigned;
        break;
      case 5:  // beneath the normal range, or towards it
        a &= ~kExponent >> (few % 40) | kSigned;
        if (i % 4 == 0) b = with_exponent(b, few % 3);
        if (i % 4 == 1) b = with_exponent(b, 1000 + few);
        break;
      default: break;
    }
    pairs.insert(pairs.end(), {a, b});
  }
  return pairs;
}

Value from_bits(const Shape& shape, const std::vector<uint64_t>& bits, size_t first, size_t step) {
  Value v(DType::kF64, shape);
  for (int64_t i = 0; i < v.view().numel(); ++i)
    v.set(i, std::bit_cast<double>(bits[first + static_cast<size_t>(i) * step]));
  return v;
}

TEST(VulkanDouble, HardPairs) {
  WICK_NEED_DEVICE();
  const std::vector<uint64_t> bits = hard_pairs();
  const auto n = static_cast<int64_t>(bits.size() / 2);
  const Value a = from_bits({n}, bits, 0, 2), b = from_bits({n}, bits, 1, 2);
  const Value both = from_bits({n, 2}, bits, 0, 1);
  NoAttrs none;
  for (OpId op : {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv, OpId::kMax, OpId::kMin,
                  OpId::kPRelu, OpId::kEqual, OpId::kLess, OpId::kLessOrEqual, OpId::kGreater})
    EXPECT_EQ(differs_from_cpu(op, &none, {a, b}), "") << find_op(op)->name;
  for (OpId op : {OpId::kSqrt, OpId::kReciprocal, OpId::kRound, OpId::kFloor, OpId::kCeil,
                  OpId::kSign, OpId::kRelu}) {
    for (const Value* x : {&a, &b})
      EXPECT_EQ(differs_from_cpu(op, &none, {*x}), "") << find_op(op)->name;
  }
  for (int64_t fmod : {0, 1}) {
    ModAttrs mod;
    mod.fmod = fmod;
    EXPECT_EQ(differs_from_cpu(OpId::kMod, &mod, {a, b}), "") << fmod;
  }
  // The other shaders that add and multiply.
  const CumulateAttrs along{1, 0, 0};
  EXPECT_EQ(differs_from_cpu(OpId::kCumSum, &along, {both}), "");
  EXPECT_EQ(differs_from_cpu(OpId::kCumProd, &along, {both}), "");
  ReduceAttrs last;
  last.axes.values[last.axes.count++] = 1;
  for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceProd, OpId::kReduceMax})
    EXPECT_EQ(differs_from_cpu(op, &last, {both}), "") << find_op(op)->name;
  const Value column = from_bits({n, 1}, bits, 0, 2), updates = from_bits({n, 1}, bits, 1, 2);
  Value zeros(DType::kI64, {n, 1});
  for (int64_t i = 0; i < n; ++i) zeros.set(i, 0);
  for (ScatterReduction how : {ScatterReduction::kAdd, ScatterReduction::kMul}) {
    const ScatterAttrs scatter{1, static_cast<int64_t>(how)};
    EXPECT_EQ(differs_from_cpu(OpId::kScatterElements, &scatter, {column, zeros, updates}), "");
  }
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
