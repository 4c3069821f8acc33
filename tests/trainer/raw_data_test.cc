// A tensor's bytes are not a tensor: results computed from them have no gradient, and the types say
// so before anything runs.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

template <class T>
concept Differentiable = requires(T t) {
  t.backward();
  t.grad();
  t.requires_grad();
};
static_assert(Differentiable<Tensor>);
static_assert(!Differentiable<TensorView>);

using Read = decltype(std::declval<Tensor>().data<float>());
using Written = decltype(std::declval<Tensor>().mutable_data<float>());
using Unsafe = decltype(std::declval<Tensor>().unsafe_data());
using Row = decltype(std::declval<Tensor>().to_vector<float>());
static_assert(std::is_same_v<Read, const float*>);  // nothing is written through data()
static_assert(std::is_same_v<Written, float*>);
static_assert(std::is_same_v<Unsafe, void*>);

// No op takes them: an expression of them is not one of tensors.
template <class T>
concept Operand = requires(T t) { exp(t); } || requires(T t, Tensor u) { u* t; } ||
                  std::is_convertible_v<T, Arg> || std::is_convertible_v<T, Tensor>;
static_assert(Operand<Tensor>);
static_assert(!Operand<Read> && !Operand<Written> && !Operand<Unsafe> && !Operand<Row>);
static_assert(!Operand<TensorView>);
// There is no member of PyTorch's name that would leave the graph unseen.
template <class T>
concept HasSilentData = requires(T t) { t.data = t; } || requires(T t) { t.data(); };
static_assert(!HasSilentData<Tensor>);

TEST(RawData, WhatIsMadeOfItHasNoHistory) {
  Tensor x = ones({2, 2}).requires_grad_();
  Tensor y = x * 3;
  Tensor copy = from_blob(y.data<float>(), {2, 2}, DType::kF32);
  EXPECT_FALSE(copy.requires_grad());
  EXPECT_TRUE(copy.is_leaf());
  EXPECT_NE(copy.data_ptr(), y.data_ptr());
#line 50 "train.cpp"
  std::string error = test::error_of([&] { copy.sum().backward(); });
#line 51 "raw_data_test.cc"
  EXPECT_NE(error.find("backward"), std::string::npos) << error;
  EXPECT_NE(error.find("(train.cpp:50)"), std::string::npos) << error;
  EXPECT_FALSE(x.grad().defined());
}

TEST(RawData, AReadIsNoWriteAndAWriteIsSeen) {
  Tensor x = ones({2, 2}).requires_grad_();
  Tensor h = (x * 3).named("h");
  Tensor y = h * h;
  EXPECT_EQ(h.data<float>()[3], 3);
  EXPECT_EQ(h.version(), 0U);
#line 60 "train.cpp"
  static_cast<float*>(h.unsafe_data())[0] = 7;
#line 64 "raw_data_test.cc"
  EXPECT_EQ(h.version(), 1U);
  EXPECT_EQ(h.to_vector<float>()[0], 7);
  std::string error = test::error_of([&] { y.sum().backward(); });
  EXPECT_NE(error.find("saved value 'h' [2,2] f32 at version 0"), std::string::npos) << error;
  EXPECT_NE(error.find("unsafe_data at train.cpp:60 made it version 1"), std::string::npos)
      << error;
  EXPECT_FALSE(x.grad().defined());
}

TEST(RawData, OfAnotherTypeOrStrideIsRefused) {
  Tensor x = ones({2, 3});
  EXPECT_NE(test::error_of([&] { x.data<double>(); }).find("the tensor is float32, not float64"),
            std::string::npos);
  EXPECT_NE(test::error_of([&] { x.t().data<float>(); }).find("call contiguous() first"),
            std::string::npos);
  EXPECT_NE(test::error_of([&] { Tensor().data<float>(); }).find("[data] the tensor is undefined"),
            std::string::npos);
}

}  // namespace
}  // namespace wick
