// quantize_int8 and back, against the formula and by properties that hold for any numbers.
#include "quantize/modules/int8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick::quantize {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The largest error over half a scale, beyond what float32 cannot tell apart.
double worst_in_scales(const Tensor& x) {
  const Int8Tensor q = quantize_int8(x);
  const std::vector<float> before = x.to_vector<float>(),
                           after = dequantize_int8(q).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double error = std::abs(static_cast<double>(after[i]) - before[i]);
    const double ulp = std::abs(before[i]) * std::numeric_limits<float>::epsilon();
    worst = std::max(worst, (error - 2 * ulp) / q.scale);
  }
  return worst;
}

TEST(QuantizeInt8, FollowsTheFormula) {
  const Int8Tensor q = quantize_int8(tensor({-1.0F, 0.0F, 0.5F, 1.55F}));
  EXPECT_EQ(q.values.dtype(), DType::kI8);
  EXPECT_EQ(q.scale, (1.55F - -1.0F) / 255);
  EXPECT_EQ(q.zero_point, -28);  // -128 + rint(1 / 0.01)
  EXPECT_THAT(q.values.to_vector<int8_t>(), ElementsAre(-128, -28, 22, 127));
  const std::vector<float> back = dequantize_int8(q).to_vector<float>();
  EXPECT_EQ(back[0], -100 * q.scale);
  EXPECT_EQ(back[1], 0);
  EXPECT_EQ(back[3], 155 * q.scale);
}

TEST(QuantizeInt8, KeepsTheShapeInAQuarterOfTheBytes) {
  manual_seed(1);
  const Tensor x = randn({7, 3, 5}).transpose(0, 2);  // strides of any kind
  const Int8Tensor q = quantize_int8(x);
  EXPECT_EQ(q.values.raw_shape(), x.raw_shape());
  EXPECT_EQ(q.values.raw().nbytes() * 4, x.raw().nbytes());
  EXPECT_LE(worst_in_scales(x), 0.5 + 1e-5);
}

TEST(QuantizeInt8, ComesBackWithinHalfAScale) {
  Generator g{3, 0};
  for (int i = 0; i < 400; ++i) {
    const double width = std::pow(10.0, i % 30 - 15);
    // ranges on both sides of 0, on one side, and touching it
    const double lo = width * (i % 7 - 3), hi = lo + width * (1 + i % 5);
    const Tensor x = uniform({500}, lo, hi, DType::kF32, g);
    ASSERT_LE(worst_in_scales(x), 0.5 + 1e-5) << lo << " to " << hi;
  }
}

TEST(QuantizeInt8, ZeroPointIsClippedToTheEnds) {
  const Int8Tensor above = quantize_int8(tensor({4.0F, 10.0F}));
  EXPECT_EQ(above.zero_point, -128);
  EXPECT_EQ(above.scale, 10.0F / 255);  // from 0, which is always an integer
  EXPECT_THAT(above.values.to_vector<int8_t>(), ElementsAre(-26, 127));
  const Int8Tensor below = quantize_int8(tensor({-4.0F, -10.0F}));
  EXPECT_EQ(below.zero_point, 127);
  EXPECT_THAT(below.values.to_vector<int8_t>(), ElementsAre(25, -128));
}

TEST(QuantizeInt8, ConstantTensors) {
  const Int8Tensor zero = quantize_int8(zeros({3}));
  EXPECT_EQ(zero.scale, 1);
  EXPECT_THAT(dequantize_int8(zero).to_vector<float>(), ElementsAre(0, 0, 0));
  for (const float c : {3.7F, -0.002F, 1e30F, -1e-30F}) {
    const Int8Tensor q = quantize_int8(full({4}, c));
    EXPECT_EQ(q.scale, std::abs(c) / 255);
    for (const float v : dequantize_int8(q).to_vector<float>()) EXPECT_FLOAT_EQ(v, c);
  }
  EXPECT_FLOAT_EQ(dequantize_int8(quantize_int8(tensor(2.5F))).item(), 2.5F);  // rank 0
}

TEST(QuantizeInt8, RefusesWhatHasNoRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of([&] { quantize_int8(tensor({1.0F, nan})); }), HasSubstr("nan"));
  EXPECT_THAT(error_of([&] { quantize_int8(full({2}, 1 / zeros({}).item())); }), HasSubstr("inf"));
  EXPECT_THAT(error_of([] { quantize_int8(zeros({0, 3})); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] { quantize_int8(Tensor()); }), HasSubstr("undefined"));
  EXPECT_THAT(error_of([] { quantize_int8(zeros({2}, DType::kF64)); }), HasSubstr("float64"));
  const Tensor bytes = zeros({2}, DType::kI8);
  EXPECT_THAT(error_of([&] {
                dequantize_int8({zeros({2}), 1, 0});
              }),
              HasSubstr("takes int8 values, got float32"));
  EXPECT_THAT(error_of([&] { dequantize_int8({}); }), HasSubstr("no tensor"));
  EXPECT_THAT(error_of([&] { dequantize_int8({bytes, 0, 0}); }), HasSubstr("finite and > 0"));
  EXPECT_THAT(error_of([&] { dequantize_int8({bytes, nan, 0}); }), HasSubstr("finite and > 0"));
  EXPECT_THAT(error_of([&] { dequantize_int8({bytes, 1, 128}); }), HasSubstr("no int8"));
}

}  // namespace
}  // namespace wick::quantize
