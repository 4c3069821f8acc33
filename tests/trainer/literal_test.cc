// tensor({...}): dtypes of lists as PyTorch's, and Tensor's members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Literal, ListsHavePyTorchsDtypes) {
  EXPECT_EQ(tensor({0.5}).dtype(), DType::kF32);
  EXPECT_EQ(tensor({0.5f}).dtype(), DType::kF32);
  EXPECT_EQ(tensor({1, 2}).dtype(), DType::kI64);
  EXPECT_EQ(tensor({true}).dtype(), DType::kBool);
  EXPECT_EQ(tensor(3).dtype(), DType::kI64);
  EXPECT_EQ(tensor(0.5).dtype(), DType::kF32);
  EXPECT_EQ(tensor({int8_t{1}}).dtype(), DType::kI8);
  EXPECT_EQ(tensor<double>({1, 2}).dtype(), DType::kF64);
  EXPECT_EQ(tensor<double>(3).dtype(), DType::kF64);
  EXPECT_EQ(tensor({1, 2}, DType::kU8).dtype(), DType::kU8);
  EXPECT_EQ(tensor(std::vector<double>{1}).dtype(), DType::kF64);
  EXPECT_EQ(tensor(std::vector<double>{1}, DType::kF32).dtype(), DType::kF32);
  EXPECT_EQ(tensor({{{1., 2.}}}).raw_shape(), Shape({1, 1, 2}));
  EXPECT_EQ(tensor({0.1}, DType::kF64).item(), 0.1);
  EXPECT_EQ(tensor({0.1}).item(), static_cast<double>(0.1f));
}

TEST(Literal, ListsOfSeveralTypes) {
  const Tensor x = tensor({1., NAN, 2});
  EXPECT_EQ(x.dtype(), DType::kF32);
  EXPECT_THAT(x.to_vector<float>(), testing::ElementsAre(1, testing::IsNan(), 2));
  EXPECT_EQ(tensor({1, true, int64_t{1} << 40}).to_vector<int64_t>(),
            (std::vector<int64_t>{1, 1, int64_t{1} << 40}));
  EXPECT_EQ(tensor({{1., INFINITY}, {2, 3}}).raw_shape(), Shape({2, 2}));
  EXPECT_THAT(error_of([] { tensor({{1., 2.}, {3.}}); }), HasSubstr("lists of one level differ"));
  EXPECT_THAT(error_of([] {
                tensor({{1., 2.f}, {3., 1.f, 2.}});
              }),
              HasSubstr("lists of one level differ"));
}

// A few of each family; all of them are made of one list (trainer/tensor/methods.def).
TEST(Members, AreTheFunctions) {
  manual_seed(3);
  const Tensor a = randn({3, 4}), b = randn({4, 2}), at = tensor({{0, 1}, {3, 2}, {1, 1}});
  const auto same = [](const Tensor& x, const Tensor& y) {
    EXPECT_EQ(x.dtype(), y.dtype());
    EXPECT_TRUE(equal(x, y)) << x.to_string() << y.to_string();
  };
  same(a.matmul(b), matmul(a, b));
  same(a.argmax(1), argmax(a, 1));
  same(a.masked_fill(a.gt(0), 7), masked_fill(a, gt(a, 0), 7));
  same(a.gather(1, at), gather(a, 1, at));
  same(a.max(0).values, max(a, 0).values);
  same(a.topk(2).indices, topk(a, 2).indices);
  same(a.unique().values, unique(a).values);
  same(a.roll(1, 0), roll(a, 1, 0));
  same(a.split(2, 1)[1], split(a, 2, 1)[1]);
  same(a.unfold(1, 2, 1), unfold(a, 1, SizeArg(2), SizeArg(1)));
  same(a.new_full({2}, 3, DType::kI64), tensor({3, 3}));
  same(a.type_as(at), a.to(DType::kI64));
  same(a.clone().triu_(1), triu(a, 1));
  EXPECT_TRUE(a.is_floating_point());
  EXPECT_EQ(a.sizes().rank(), 2);
}

// Forms that PyTorch's users write: a size alone, sizes of parts, two numbers to choose from.
TEST(Members, TakeASizeAlone) {
  EXPECT_EQ(zeros(3).raw_shape(), (Shape{3}));
  EXPECT_EQ(randint(0, 9, 4).raw_shape(), (Shape{4}));
  const Tensor x = arange(6).view({2, 3});
  EXPECT_EQ(x.view(-1).raw_shape(), (Shape{6}));
  EXPECT_EQ(x.reshape(x.size(0) * 3).raw_shape(), (Shape{6}));
  EXPECT_EQ(arange(3).repeat(2).raw_shape(), (Shape{6}));
  EXPECT_EQ(zeros({}).rank(), 0);
}
TEST(Members, SplitIntoPartsOfGivenSizes) {
  const Tensor x = arange(12).view({2, 6});
  EXPECT_TRUE(equal(split(x, {1, 2, 3}, 1)[2], x.slice(1, 3, 6)));
  EXPECT_TRUE(equal(x.split({4, 2}, 1)[1], x.slice(1, 4, 6)));
  EXPECT_EQ(split(x, Shape{2}).size(), 1U);
  EXPECT_EQ(x.split(2, 1).size(), 3U);
}
TEST(Members, WhereOfTwoNumbers) {
  const Tensor c = tensor({true, false});
  EXPECT_TRUE(equal(where(c, 1, 0), tensor({1, 0})));
  EXPECT_TRUE(equal(where(c, 1, 0.5), tensor({1, 0.5})));
  EXPECT_TRUE(equal(where(c, false, true), tensor({false, true})));
}
TEST(Members, NormsOfAShapeInBraces) {
  EXPECT_EQ(nn::LayerNorm({4, 5}).weight.raw_shape(), (Shape{4, 5}));
  EXPECT_EQ(nn::LayerNorm({4}, {.bias = false}).normalized_shape(), (Shape{4}));
  EXPECT_EQ(nn::RMSNorm({4, 5}).weight.raw_shape(), (Shape{4, 5}));
}

TEST(Members, ABoolIsNotSubtracted) {
  const Tensor x = ones({2});
  EXPECT_THAT(error_of([&] { x - true; }), HasSubstr("a bool tensor has no -"));
  EXPECT_THAT(error_of([&] { true - x; }), HasSubstr("a bool tensor has no -"));
  EXPECT_EQ((x + true).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Members, AQuotientMayBeOverwritten) {
  const Tensor x = tensor({-1., 0.5, 2.}, DType::kF64).requires_grad_();
  Tensor y = x / (1 + x * x);
  y.relu_();
  sum(y).backward();
  // (1 - x^2) / (1 + x^2)^2 where x is above 0
  EXPECT_THAT(
      x.grad().to_vector<double>(),
      testing::ElementsAre(0, testing::DoubleNear(0.48, 1e-15), testing::DoubleNear(-0.12, 1e-15)));
}

}  // namespace
}  // namespace wick
