// Temporaries of an expression give their bytes to its result; a tensor that can still be read does
// not.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "trainer/tensor/memory.h"
#include "wick/trainer.h"

namespace wick {
namespace {

bool equal_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.raw_shape() == b.raw_shape())) return false;
  Tensor x = a.contiguous(), y = b.contiguous();
  return memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

// Bytes that `f` has at most beyond what lived before it.
size_t peak_of(const std::function<Tensor()>& f) {
  const size_t before = memory_allocated();
  reset_peak_memory_stats();
  Tensor kept = f();
  return max_memory_allocated() - before;
}

const Shape kShape{64, 64};
constexpr size_t kBytes = 64 * 64 * 4;
constexpr size_t kNumbers = 16;  // the C++ numbers of an expression, 4 bytes each

TEST(Reuse, AnExpressionTakesOneBuffer) {
  Tensor g = randn(kShape), y = randn(kShape);
  EXPECT_LE(peak_of([&] { return g * (1 - y * y); }), kBytes + kNumbers);
  EXPECT_LE(peak_of([&] { return (g + y) * 2 / (y - g) - 1; }), 2 * kBytes + kNumbers);
  EXPECT_EQ(peak_of([&] { return g * y; }), kBytes);
  Tensor held = 1 - y;
  EXPECT_EQ(peak_of([&] { return g * held; }), kBytes);
}

TEST(Reuse, BitsAreThoseOfNamedSteps) {
  for (DType t : {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kU8}) {
    Tensor a = (randn(kShape) * 9).to(t), b = (randn(kShape) * 9).to(t), row = b.select(0, 3);
    Tensor sum = a + b, scaled = sum * a, less = row - scaled, twice = 2 * less;
    EXPECT_TRUE(equal_bits(2 * (row - (a + b) * a), twice)) << dtype_name(t);
    Tensor difference = a - b, spread = difference * row;
    EXPECT_TRUE(equal_bits((a - b) * row, spread)) << dtype_name(t);
  }
  Tensor i = arange(12).reshape({3, 4});
  Tensor sum = i + i;
  EXPECT_TRUE(equal_bits((i + i) / 4, sum / 4));  // integers become floats: other bytes
  EXPECT_EQ(((i + i) / 4).dtype(), DType::kF32);
  Tensor mask = gt(i, 3);
  EXPECT_TRUE(equal_bits(gt(i, 3) + mask, mask));
}

TEST(Reuse, TheLargerShapeIsKept) {
  Tensor column = randn({4, 1}), row = randn({1, 5});
  Tensor c = column + 1, r = row + 1, sum = c + r;
  EXPECT_TRUE(equal_bits((column + 1) + (row + 1), sum));
  Tensor empty = zeros({0, 5}) + 1;
  EXPECT_EQ((zeros({0, 5}) * (row + 1)).raw_shape(), empty.raw_shape());
}

TEST(Reuse, NothingThatIsStillReadIsWritten) {
  Tensor x = randn(kShape), copy = x.clone();
  Tensor same = x;
  Tensor results[] = {x.detach() * 2,      x.t() + 1, Tensor(x) - 3,
                      x.reshape({-1}) / 2, same * x,  x.select(0, 0) + x};
  EXPECT_TRUE(equal_bits(x, copy));
  std::vector<Tensor> kept;
  auto keep = [&](Tensor t) {
    kept.push_back(t);
    return t;
  };
  Tensor z = keep(x + 1) * 5;
  EXPECT_TRUE(equal_bits(kept[0], copy + 1));
  EXPECT_EQ(((x + 1).named("a") * 2).name(), "");
}

TEST(Reuse, WhatAGradientNeedsIsKept) {
  Tensor x = randn(kShape).requires_grad_(true);
  Tensor y = (x * x) * (x * x + 1) - 2 * (x * x);
  sum(y).backward();  // x^4 + x^2 - 2 x^2
  Tensor v = x.detach();
  EXPECT_TRUE(allclose(x.grad(), v * v * v * 4 - v * 2, 1e-4, 1e-4));
  NoGrad guard;
  Tensor leaf = ones(kShape).requires_grad_(true);
  Tensor moved = std::move(leaf) * 2;
  EXPECT_FALSE(moved.requires_grad());
}

TEST(Reuse, ForwardModeSeesEveryStep) {
  auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{3 * (1 - in[0] * in[0])};
  };
  for (const Shape& shape : {kShape, Shape{}}) {
    Tensor x = randn(shape, DType::kF64), v = randn(shape, DType::kF64);
    EXPECT_TRUE(allclose(jvp(f, {x}, {v}).second[0], x * v * -6));
  }
}

}  // namespace
}  // namespace wick
