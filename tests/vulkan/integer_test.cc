// Integer arithmetic: the CPU's bits for every width, including the ends of the ranges and zeros.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

class VulkanInteger : public testing::TestWithParam<DType> {
 protected:
  // `seed` chooses the order: pairs of all the special ones come by in some of them.
  Value values(const Shape& shape, uint64_t seed, DType dtype = DType::kNone) const {
    const DType t = dtype == DType::kNone ? GetParam() : dtype;
    const int width = dtype_bits(t);
    const uint64_t top = uint64_t{1} << (width - 1);
    const uint64_t special[] = {0,
                                1,
                                ~uint64_t{0},
                                top,
                                top - 1,
                                top + 1,
                                2,
                                3,
                                7,
                                100,
                                ~uint64_t{6},
                                uint64_t{1} << (width / 2),
                                (uint64_t{1} << (width / 2)) + 5};
    Value v(t, shape);
    char* data = static_cast<char*>(v.view().data);
    for (int64_t i = 0; i < v.view().numel(); ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      uint64_t bits = seed >> 11 ^ seed << 40;
      if ((seed >> 60) < 10) bits = special[(seed >> 32) % std::size(special)];
      if ((seed >> 60) == 10) bits >>= width / 2;
      memcpy(data + i * width / 8, &bits, static_cast<size_t>(width / 8));
    }
    return v;
  }
};

TEST_P(VulkanInteger, TwoOperands) {
  WICK_NEED_DEVICE();
  NoAttrs none;
  for (OpId op :
       {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv, OpId::kMax, OpId::kMin, OpId::kBitwiseAnd,
        OpId::kBitwiseOr, OpId::kBitwiseXor, OpId::kPow, OpId::kPRelu}) {
    EXPECT_EQ(differs_from_cpu(op, &none, {values({997}, 1), values({997}, 2)}), "")
        << find_op(op)->name;
  }
  EXPECT_EQ(differs_from_cpu(OpId::kSub, &none, {values({5, 1, 7}, 3), values({3, 1}, 4)}), "");
  for (int64_t flag : {0, 1}) {
    ModAttrs mod;
    mod.fmod = flag;
    EXPECT_EQ(differs_from_cpu(OpId::kMod, &mod, {values({997}, 5), values({997}, 6)}), "");
    BitShiftAttrs shift;
    shift.right = flag;
    Value count(GetParam(), {997});
    for (int64_t i = 0; i < 997; ++i)
      count.set(i, static_cast<double>(i % (dtype_bits(GetParam()) + 3)));
    EXPECT_EQ(differs_from_cpu(OpId::kBitShift, &shift, {values({997}, 7), count}), "");
    EXPECT_EQ(differs_from_cpu(OpId::kBitShift, &shift, {values({997}, 7), values({997}, 8)}), "");
  }
}

TEST_P(VulkanInteger, PowersByOtherDtypes) {
  WICK_NEED_DEVICE();
  NoAttrs none;
  for (DType e : {DType::kI8, DType::kU64}) {
    EXPECT_EQ(differs_from_cpu(OpId::kPow, &none, {values({499}, 9), values({499}, 10, e)}), "")
        << dtype_name(e);
  }
  Value base(DType::kF32, {31}), exponent(GetParam(), {31});
  for (int64_t i = 0; i < 31; ++i) {
    base.set(i, 1);
    exponent.set(i, static_cast<double>(i));
  }
  EXPECT_EQ(differs_from_cpu(OpId::kPow, &none, {base, exponent}), "");
}

TEST_P(VulkanInteger, OneOperandAndBounds) {
  WICK_NEED_DEVICE();
  NoAttrs none;
  for (OpId op : {OpId::kNeg, OpId::kAbs, OpId::kSign, OpId::kRelu, OpId::kBitwiseNot})
    EXPECT_EQ(differs_from_cpu(op, &none, {values({333}, 11)}), "") << find_op(op)->name;
  for (OpId op : {OpId::kEqual, OpId::kLess, OpId::kGreaterOrEqual})
    EXPECT_EQ(differs_from_cpu(op, &none, {values({333}, 12), values({333}, 13)}), "");
  ClipAttrs clip;
  clip.min = 2.5;
  clip.max = 1e30;
  EXPECT_EQ(differs_from_cpu(OpId::kClip, &clip, {values({333}, 14)}), "");
  EXPECT_EQ(
      differs_from_cpu(OpId::kClip, &clip, {values({333}, 15), values({}, 16), values({1}, 17)}),
      "");
  Value choice(DType::kBool, {333});
  for (int64_t i = 0; i < 333; ++i) choice.set(i, i % 3 == 0 ? 1 : 0);
  EXPECT_EQ(differs_from_cpu(OpId::kWhere, &none, {choice, values({333}, 18), values({1}, 19)}),
            "");
}

INSTANTIATE_TEST_SUITE_P(Widths, VulkanInteger,
                         testing::Values(DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                                         DType::kI32, DType::kU32, DType::kI64, DType::kU64),
                         [](const auto& p) { return std::string(dtype_name(p.param)); });

// Floats between bounds of tensors; NaN stays.
TEST(VulkanClip, BoundsOfTensors) {
  WICK_NEED_DEVICE();
  ClipAttrs none;
  for (DType t : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const Value x = make_inputs(sample("x", {of(t, {7, 9}, -4, 4)}))[0];
    Value low(t, {}), high(t, {}), odd(t, {3});
    low.set(0, -1.5);
    high.set(0, 2);
    odd.set(0, NAN);
    odd.set(1, -0.0);
    odd.set(2, INFINITY);
    WICK_EXPECT_AS_CPU(OpId::kClip, &none, x, low, high);
    WICK_EXPECT_AS_CPU(OpId::kClip, &none, x, high, low);
    WICK_EXPECT_AS_CPU(OpId::kClip, &none, x, low);
    WICK_EXPECT_AS_CPU(OpId::kClip, &none, odd, low, high);
  }
}

}  // namespace
}  // namespace wick::test
