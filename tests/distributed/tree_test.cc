// The tree of shards, and the functions by which elements are combined.
#include "trainer/distributed/comm/tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "runtime/core/half.h"

namespace wick::distributed {
namespace {

// The sum of all shards as an expression, so that its order can be compared.
std::string expression(int ranks, int shards) {
  std::vector<std::string> pieces;
  std::vector<Shards> nodes;
  for (int r = 0; r < ranks; ++r) {
    const Shards own = shards_of(r, ranks, shards);
    Forest<std::string> forest(own, shards);
    for (int s = own.begin; s < own.end; ++s) {
      forest.push(std::to_string(s), [](std::string* left, const std::string& right) {
        *left = "(" + *left + "+" + right + ")";
      });
    }
    EXPECT_TRUE(forest.complete());
    forest.each([&](const std::string& s) { pieces.push_back(s); });
    const auto mine = pieces_of(own, shards);
    nodes.insert(nodes.end(), mine.begin(), mine.end());
  }
  EXPECT_EQ(pieces.size(), nodes.size());
  // Combines neighbours until one is left, by the tree's own nodes.
  const std::function<std::string(Shards, size_t*)> join = [&](Shards node, size_t* at) {
    if (nodes[*at] == node) return pieces[(*at)++];
    const int right = right_child(node);
    const std::string left = join({node.begin, right}, at);
    return "(" + left + "+" + join({right, node.end}, at) + ")";
  };
  size_t at = 0;
  return join({0, shards}, &at);
}

TEST(ShardTree, IsOneExpressionForAnyNumberOfRanks) {
  EXPECT_EQ(expression(1, 8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
  EXPECT_EQ(expression(1, 5), "(((0+1)+(2+3))+4)");
  for (int shards : {1, 2, 3, 5, 6, 7, 8, 12, 16}) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      EXPECT_EQ(expression(ranks, shards), expression(1, shards)) << ranks << " of " << shards;
    }
  }
}

TEST(ShardTree, RanksOwnAllShardsOnce) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    int next = 0;
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(shards_of(r, ranks, 8).begin, next);
      next = shards_of(r, ranks, 8).end;
    }
    EXPECT_EQ(next, 8);
  }
  EXPECT_EQ(pieces_of({0, 4}, 8).size(), 1u);  // a power of two that divides K: one message
  EXPECT_EQ(pieces_of({2, 5}, 8), (std::vector<Shards>{{2, 4}, {4, 5}}));
}

TEST(ShardTree, SumsInBlocksHaveTheBitsOfOneElement) {
  constexpr int kShards = 8, kCount = 5000;  // several blocks, and a part of one
  std::vector<std::vector<float>> values(kShards, std::vector<float>(kCount));
  std::vector<Shards> pieces;
  std::vector<const void*> inputs;
  for (int s = 0; s < kShards; ++s) {
    for (int i = 0; i < kCount; ++i) {
      values[static_cast<size_t>(s)][static_cast<size_t>(i)] =
          std::sin(static_cast<float>(s * kCount + i)) * 1e3f;
    }
    pieces.push_back({s, s + 1});
    inputs.push_back(values[static_cast<size_t>(s)].data());
  }
  std::vector<float> out(kCount);
  TreeSum(kShards, pieces).run(inputs, out.data(), kCount, DType::kF32, ReduceOp::kSum);
  for (size_t i = 0; i < kCount; ++i) {
    auto v = [&](size_t s) { return values[s][i]; };
    const float expected = ((v(0) + v(1)) + (v(2) + v(3))) + ((v(4) + v(5)) + (v(6) + v(7)));
    ASSERT_EQ(memcmp(&expected, &out[i], 4), 0) << i;
  }
  // In place of an input, as all_reduce does.
  TreeSum(kShards, pieces).run(inputs, values[0].data(), kCount, DType::kF32, ReduceOp::kSum);
  EXPECT_EQ(memcmp(values[0].data(), out.data(), kCount * 4), 0);
}

template <class T>
T combined(ReduceOp op, DType dtype, T a, T b) {
  T out;
  EXPECT_TRUE(combine(op, dtype, &a, &b, &out, 1));
  return out;
}

TEST(Combine, EveryDTypeThatHasNumbers) {
  for (int value = 1; value < kDTypeCount; ++value) {
    const auto dtype = static_cast<DType>(value);
    const bool number = is_float(dtype) || is_int(dtype) || dtype == DType::kBool ||
                        dtype == DType::kC64 || dtype == DType::kC128;
    EXPECT_EQ(can_combine(ReduceOp::kSum, dtype), number) << dtype_name(dtype);
    const bool divisible = is_float(dtype) || dtype == DType::kC64 || dtype == DType::kC128;
    EXPECT_EQ(can_combine(ReduceOp::kMean, dtype), divisible) << dtype_name(dtype);
  }
  EXPECT_EQ(combined<uint8_t>(ReduceOp::kSum, DType::kU8, 200, 100), 44);  // wraps
  EXPECT_EQ(combined<int64_t>(ReduceOp::kSum, DType::kI64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(combined<int16_t>(ReduceOp::kProduct, DType::kI16, -300, 300), int16_t(-90000));
  EXPECT_EQ(combined<int32_t>(ReduceOp::kMin, DType::kI32, -3, 5), -3);
  EXPECT_EQ(combined<uint32_t>(ReduceOp::kMax, DType::kU32, 3, 4000000000u), 4000000000u);
  EXPECT_EQ(combined<uint8_t>(ReduceOp::kSum, DType::kBool, 1, 1), 1);
  EXPECT_EQ(combined<uint8_t>(ReduceOp::kProduct, DType::kBool, 1, 0), 0);
  EXPECT_EQ(combined(ReduceOp::kSum, DType::kF16, Half(1.0f), Half(0x1p-11f)).bits, Half(1).bits);
  EXPECT_EQ(combined(ReduceOp::kSum, DType::kBF16, BFloat16(3), BFloat16(0.5)).bits,
            BFloat16(3.5).bits);
}

TEST(Combine, NaNWinsAndPlusZeroIsAboveMinusZero) {
  EXPECT_TRUE(std::isnan(combined<float>(ReduceOp::kMax, DType::kF32, NAN, 1)));
  EXPECT_TRUE(std::isnan(combined<float>(ReduceOp::kMin, DType::kF32, 1, NAN)));
  EXPECT_FALSE(std::signbit(combined<double>(ReduceOp::kMax, DType::kF64, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(combined<double>(ReduceOp::kMin, DType::kF64, 0.0, -0.0)));
}

}  // namespace
}  // namespace wick::distributed
