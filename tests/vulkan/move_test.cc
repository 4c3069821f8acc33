// Ops that move elements, of every width: several elements share a word, and parts of a tensor end
// within a word.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

constexpr DType kWidths[] = {DType::kI64, DType::kF64,  DType::kF32, DType::kF16,
                             DType::kU8,  DType::kBool, DType::kI4,  DType::kU2};

Value bytes(DType t, const Shape& shape, uint32_t seed) {
  Value v(t, shape);
  auto* data = static_cast<uint8_t*>(v.view().data);
  for (size_t i = 0; i < v.view().nbytes(); ++i) {
    seed = seed * 1664525 + 1013904223;
    data[i] = static_cast<uint8_t>(t == DType::kBool ? seed >> 31 : seed >> 24);
  }
  return v;
}
Value numbers(std::vector<int64_t> v) {
  Value out(DType::kI64, {static_cast<int64_t>(v.size())});
  memcpy(out.view().data, v.data(), v.size() * sizeof(int64_t));
  return out;
}

class VulkanMove : public testing::TestWithParam<DType> {};

TEST_P(VulkanMove, TransposeExpandSlice) {
  WICK_NEED_DEVICE();
  const DType t = GetParam();
  TransposeAttrs perm;
  for (int64_t d : {2, 0, 1}) perm.perm.values[perm.perm.count++] = d;
  WICK_EXPECT_AS_CPU(OpId::kTranspose, &perm, bytes(t, {3, 5, 7}, 1));
  WICK_EXPECT_AS_CPU(OpId::kTranspose, &perm, bytes(t, {2, 3, 16}, 2));
  ShapeAttrs none;
  WICK_EXPECT_AS_CPU(OpId::kExpand, &none, bytes(t, {3, 1, 5}, 3), numbers({2, 3, 3, 5}));
  if (dtype_bits(t) < 8) return;  // the CPU has no kernel for the rest
  SliceAttrs slice;
  WICK_EXPECT_AS_CPU(OpId::kSlice, &slice, bytes(t, {9, 7}, 4), numbers({8, 1}), numbers({0, 6}),
                     numbers({0, 1}), numbers({-2, 1}));
  WICK_EXPECT_AS_CPU(OpId::kSlice, &slice, bytes(t, {4, 64}, 5), numbers({1, 16}), numbers({4, 48}),
                     numbers({0, 1}));
}

TEST_P(VulkanMove, ConcatAndSplitWithinWords) {
  WICK_NEED_DEVICE();
  const DType t = GetParam();
  if (dtype_bits(t) < 8) return;
  for (int64_t axis : {0, 1, 2}) {
    AxisAttrs a;
    a.axis = axis;
    Shape s[3] = {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}};
    s[1][static_cast<int>(axis)] = 1;
    s[2][static_cast<int>(axis)] = 4;
    EXPECT_EQ(differs_from_cpu(OpId::kConcat, &a,
                               {bytes(t, s[0], 6), bytes(t, s[1], 7), bytes(t, s[2], 8)}),
              "")
        << "axis " << axis;
    SplitAttrs split;
    split.axis = axis;
    Shape whole = {3, 3, 3};
    whole[static_cast<int>(axis)] = 8;
    EXPECT_EQ(differs_from_cpu(OpId::kSplit, &split, {bytes(t, whole, 9), numbers({5, 1, 2})}, 3),
              "");
  }
  AxisAttrs last;
  last.axis = 1;
  WICK_EXPECT_AS_CPU(OpId::kConcat, &last, bytes(t, {3, 32}, 10), bytes(t, {3, 16}, 11));
}

TEST_P(VulkanMove, PadInEveryMode) {
  WICK_NEED_DEVICE();
  const DType t = GetParam();
  if (dtype_bits(t) < 8) return;
  for (int64_t mode = 0; mode < 4; ++mode) {
    PadAttrs a;
    a.mode = mode;
    EXPECT_EQ(differs_from_cpu(OpId::kPad, &a, {bytes(t, {5, 6}, 12), numbers({2, 3, 1, 4})}), "")
        << "mode " << mode;
    EXPECT_EQ(differs_from_cpu(OpId::kPad, &a, {bytes(t, {5, 6}, 12), numbers({-1, 2, 2, -3})}), "")
        << "mode " << mode << ", cut";
  }
  PadAttrs a;
  WICK_EXPECT_AS_CPU(OpId::kPad, &a, bytes(t, {3, 3}, 13), numbers({-1, 2, 1, -1}),
                     bytes(t, {}, 14));
}

TEST_P(VulkanMove, GatherByRowsAndElements) {
  WICK_NEED_DEVICE();
  const DType t = GetParam();
  if (dtype_bits(t) < 8) return;
  for (int64_t axis : {0, 1}) {
    AxisAttrs a;
    a.axis = axis;
    WICK_EXPECT_AS_CPU(OpId::kGather, &a, bytes(t, {4, 5, 3}, 15), numbers({3, -1, 0, 2, -4}));
  }
  AxisAttrs a;
  a.axis = 1;
  Value at(DType::kI64, {4, 3});
  for (int64_t i = 0; i < 12; ++i) at.set(i, static_cast<double>(i * 5 % 10 - 5));
  WICK_EXPECT_AS_CPU(OpId::kGatherElements, &a, bytes(t, {4, 5}, 16), at);
}

// Nothing is run for an empty result; a sum of nothing is 0, a product 1.
TEST_P(VulkanMove, EmptyParts) {
  WICK_NEED_DEVICE();
  const DType t = GetParam();
  if (dtype_bits(t) < 8) return;
  AxisAttrs a;
  a.axis = 1;
  WICK_EXPECT_AS_CPU(OpId::kConcat, &a, bytes(t, {3, 0}, 17), bytes(t, {3, 5}, 18),
                     bytes(t, {3, 0}, 19));
  SplitAttrs split;
  EXPECT_EQ(differs_from_cpu(OpId::kSplit, &split, {bytes(t, {4, 3}, 20), numbers({0, 4, 0})}, 3),
            "");
  SliceAttrs slice;
  WICK_EXPECT_AS_CPU(OpId::kSlice, &slice, bytes(t, {4, 3}, 21), numbers({4}), numbers({9}));
  TransposeAttrs perm;
  WICK_EXPECT_AS_CPU(OpId::kTranspose, &perm, bytes(t, {0, 3}, 22));
}

TEST(VulkanEmpty, ReductionsOfNothing) {
  WICK_NEED_DEVICE();
  for (DType t : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    ReduceAttrs a;
    a.axes.values[a.axes.count++] = 1;
    for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax, OpId::kReduceMin,
                    OpId::kReduceProd}) {
      EXPECT_EQ(differs_from_cpu(op, &a, {Value(t, {3, 0, 5})}), "") << find_op(op)->name;
      EXPECT_EQ(differs_from_cpu(op, &a, {Value(t, {0, 4, 5})}), "") << find_op(op)->name;
    }
  }
}

// Sums of nothing are zeros; no rows, columns or images are no dispatch.
TEST(VulkanEmpty, ProductsAndWindows) {
  WICK_NEED_DEVICE();
  NoAttrs none;
  ConvAttrs conv;
  PoolAttrs pool;
  pool.kernel_shape = {2, 2};
  for (DType t : {DType::kF32, DType::kF16}) {
    auto of = [&](const Shape& s) { return Value(t, s); };
    for (const auto& [a, b] : {std::pair{Shape{3, 8}, Shape{8, 0}},
                               {{0, 8}, {8, 3}},
                               {{3, 0}, {0, 4}},
                               {{3, 0}, {0, 0}},
                               {{2, 3, 0}, {2, 0, 5}},
                               {{2, 3, 0}, {0, 7}},
                               {{0, 3, 4}, {4, 5}},
                               {{0}, {0, 3}},
                               {{0}, {0}}}) {
      EXPECT_EQ(differs_from_cpu(OpId::kMatMul, &none, {of(a), of(b)}), "")
          << to_text(a).text << to_text(b).text;
    }
    WICK_EXPECT_AS_CPU(OpId::kLinear, &none, of({0, 8}), of({5, 8}), of({5}));
    WICK_EXPECT_AS_CPU(OpId::kConv, &conv, of({0, 2, 5, 5}), of({4, 2, 3, 3}), of({4}));
    WICK_EXPECT_AS_CPU(OpId::kMaxPool, &pool, of({0, 2, 5, 5}));
    WICK_EXPECT_AS_CPU(OpId::kAveragePool, &pool, of({2, 0, 5, 5}));
    WICK_EXPECT_AS_CPU(OpId::kAdd, &none, of({3, 0}), of({1, 1}));
    WICK_EXPECT_AS_CPU(OpId::kSinh, &none, of({0}));
    AxisAttrs last;
    last.axis = -1;
    WICK_EXPECT_AS_CPU(OpId::kSoftmax, &last, of({3, 0}));
  }
}

TEST(VulkanBitCast, ReadsTheSameBits) {
  WICK_NEED_DEVICE();
  const std::pair<DType, DType> pairs[] = {{DType::kF32, DType::kI32},
                                           {DType::kF64, DType::kI64},
                                           {DType::kU16, DType::kF16},
                                           {DType::kI8, DType::kF8E5M2}};
  for (auto [from, to] : pairs) {
    BitCastAttrs a;
    a.to = static_cast<int64_t>(to);
    EXPECT_EQ(differs_from_cpu(OpId::kBitCast, &a, {bytes(from, {3, 7}, 23)}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, VulkanMove, testing::ValuesIn(kWidths),
                         [](const auto& p) { return std::string(dtype_name(p.param)); });

}  // namespace
}  // namespace wick::test
