// Forms of operators other than the plain one: dtypes, absent inputs, statistics of a dtype of
// their own.
#include <gmock/gmock.h>

#include "runtime/core/half.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

HostTensor halves(Shape shape, const std::vector<float>& values) {
  HostTensor t(DType::kF16, shape);
  for (size_t i = 0; i < values.size(); ++i) t.as<Half>()[i] = Half(values[i]);
  return t;
}
HostTensor reals(Shape shape, const std::vector<float>& values) {
  return HostTensor::of<float>(shape, values);
}

// Squares of these overflow a half: stage one is computed in stash_type, which the statistics have.
TEST(NnForms, NormsOfHalvesAreComputedInFloat) {
  const HostTensor x = halves({2, 2}, {300, 700, -2000, 2000}), one = halves({2}, {1, 1});
  auto y = NodeModel("LayerNormalization", 17).in(x).in(one).run(3);
  expect_near(y[0], Shape{2, 2}, {-1, 1, -1, 1}, 1e-3);
  EXPECT_EQ(y[0].dtype(), DType::kF16);
  EXPECT_EQ(y[1].dtype(), DType::kF32);
  expect_near(y[1], Shape{2, 1}, {500, 0});
  expect_near(y[2], Shape{2, 1}, {1.0 / 200, 1.0 / 2000});

  y = NodeModel("RMSNormalization", 23).in(x).in(reals({2}, {1, 2})).run();
  EXPECT_EQ(y[0].dtype(), DType::kF32);  // the scale's
  expect_near(y[0], Shape{2, 2}, {0.557, 2.6, -1, 2}, 1e-3);

  const HostTensor image = halves({1, 1, 2, 2}, {-2000, 2000, 2000, -2000});
  y = NodeModel("InstanceNormalization", 6)
          .in(image)
          .in(halves({1}, {1}))
          .in(halves({1}, {0}))
          .run();
  expect_near(y[0], Shape{1, 1, 2, 2}, {-1, 1, 1, -1}, 1e-3);
  y = NodeModel("MeanVarianceNormalization", 13).in(image).run();
  expect_near(y[0], Shape{1, 1, 2, 2}, {-1, 1, 1, -1}, 1e-3);
  y = NodeModel("LpNormalization", 1).in(halves({2}, {600, 800})).run();
  expect_near(y[0], Shape{2}, {0.6, 0.8}, 1e-3);
}

// Its epsilon is added to the deviation, not to the variance.
TEST(NnForms, MeanVarianceNormalizationOfSmallValues) {
  auto y =
      NodeModel("MeanVarianceNormalization", 13).in(reals({1, 1, 1, 2}, {-1e-6f, 1e-6f})).run();
  expect_near(y[0], Shape{1, 1, 1, 2}, {-0.999, 0.999}, 1e-4);
}

// The last of the four rows of weights is all that a cubic sees of the second pixel.
TEST(NnForms, CubicNeighboursFindTheBorderEach) {
  auto y = NodeModel("GridSample", 20)
               .in(reals({1, 1, 1, 4}, {1, 0, 0, 0}))
               .in(reals({1, 1, 1, 2}, {-1.5, -1}))
               .set("mode", std::string("cubic"))
               .set("padding_mode", std::string("border"))
               .set("align_corners", 1)
               .run();
  expect_near(y[0], Shape{1, 1, 1, 1}, {1.03515625});
}

TEST(NnForms, GridSampleOfBooleans) {
  HostTensor x(DType::kBool, Shape{1, 1, 1, 2});
  x.as<uint8_t>()[1] = 1;
  auto y = NodeModel("GridSample", 20)
               .in(x)
               .in(reals({1, 1, 2, 2}, {-0.5, 0, 0.5, 0}))
               .set("mode", std::string("nearest"))
               .run();
  EXPECT_EQ(y[0].dtype(), DType::kBool);
  expect_near(y[0], Shape{1, 1, 1, 2}, {0, 1});
}

// Thirds and two thirds of one value are that value, whatever the weights round to.
TEST(NnForms, ResizedIntegersStayPlain) {
  HostTensor x(DType::kU8, Shape{1, 1, 3, 4});
  for (int i = 0; i < 12; ++i) x.as<uint8_t>()[i] = 97;
  for (const char* mode : {"linear", "cubic"}) {
    auto y = NodeModel("Resize", 13)
                 .in(x)
                 .in({})
                 .in(reals({4}, {1, 1, 3, 1.5f}))
                 .set("mode", std::string(mode))
                 .run();
    expect_near(y[0], Shape{1, 1, 9, 6}, std::vector<double>(54, 97));
  }
}

// Until opset 12 the scales are there even where sizes decide, with no element; `run` reads them
// with an unknown number of elements too.
TEST(NnForms, ResizeWithEmptyScales) {
  auto y = NodeModel("Resize", 11)
               .in(reals({1, 1, 1, 2}, {1, 2}))
               .in(reals({0}, {}))
               .in(reals({0}, {}))
               .in(whole({4}, {1, 1, 1, 4}))
               .run();
  expect_near(y[0], Shape{1, 1, 1, 4}, {1, 1, 2, 2});
}

// Axes that keep their size keep their elements, though this mode has no half to take off.
TEST(NnForms, ResizeForNearestLeavesOtherAxes) {
  auto y = NodeModel("Resize", 11)
               .in(reals({1, 2, 1, 2}, {1, 2, 3, 4}))
               .in(reals({0}, {}))
               .in(reals({4}, {1, 1, 1, 2}))
               .set("mode", std::string("linear"))
               .set("coordinate_transformation_mode", std::string("tf_half_pixel_for_nn"))
               .run();
  expect_near(y[0], Shape{1, 2, 1, 4}, {1.25, 1.75, 2, 2, 3.25, 3.75, 4, 4});
}

// 0.5, 1.5 ... over 2 are 0.25, 0.75 ...: rounded to 0, 1, 1, 2 and on.
TEST(NnForms, ResizeForNearestRounds) {
  for (auto [mode, want] :
       {std::pair<std::string, std::vector<double>>{"floor", {0, 0, 1, 1, 2, 2}},
        {"round_prefer_floor", {0, 1, 1, 2, 2, 2}}}) {
    auto y = NodeModel("Resize", 11)
                 .in(reals({3}, {0, 1, 2}))
                 .in(reals({0}, {}))
                 .in(reals({1}, {2}))
                 .set("nearest_mode", mode)
                 .set("coordinate_transformation_mode", std::string("tf_half_pixel_for_nn"))
                 .run();
    expect_near(y[0], Shape{6}, want);
  }
}

TEST(NnForms, ResizeSymmetricIsExact) {
  auto y = NodeModel("Resize", 19)
               .in(reals({7}, {0, 1, 2, 3, 4, 5, 6}))
               .in({})
               .in(reals({1}, {0.5}))
               .set("nearest_mode", std::string("ceil"))
               .set("coordinate_transformation_mode", std::string("half_pixel_symmetric"))
               .run();
  expect_near(y[0], Shape{3}, {1, 3, 5});
}

TEST(NnForms, WindowsOfIntegersReachOne) {
  auto y = NodeModel("BlackmanWindow", 17).in(whole({}, {10})).set("output_datatype", 7).run();
  expect_near(y[0], Shape{10}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
}

// A vector's zero point is one number, of a vector of perhaps one.
TEST(NnForms, MatMulIntegerOfVectors) {
  HostTensor a(DType::kU8, Shape{2}), b(DType::kU8, Shape{2}), zero(DType::kU8, Shape{1});
  a.as<uint8_t>()[0] = 3, a.as<uint8_t>()[1] = 5;
  b.as<uint8_t>()[0] = 2, b.as<uint8_t>()[1] = 4;
  *zero.as<uint8_t>() = 1;
  auto y = NodeModel("MatMulInteger", 10).in(a).in(b).in(zero).in(zero).run();
  expect_near(y[0], Shape{}, {2 * 1 + 4 * 3});
}

// Caches of every dtype: 8-bit floats keep their bits, 4-bit ones their values.
TEST(NnForms, TensorScatterOfSmallTypes) {
  for (DType t : {DType::kF8E4M3FN, DType::kF8E8M0, DType::kI4, DType::kU4, DType::kF4E2M1}) {
    const bool bytes = t == DType::kF8E4M3FN || t == DType::kF8E8M0;
    HostTensor cache(t, Shape{1, 3, 2}), update(t, Shape{1, 1, 2});
    auto* c = static_cast<uint8_t*>(cache.data());
    auto* u = static_cast<uint8_t*>(update.data());
    for (size_t i = 0; i < cache.nbytes(); ++i) c[i] = static_cast<uint8_t>(0x21 + 0x11 * i);
    for (size_t i = 0; i < update.nbytes(); ++i) u[i] = 0x7f;
    auto y = NodeModel("TensorScatter", 24).in(cache).in(update).in(whole({1}, {1})).run();
    ASSERT_EQ(y[0].dtype(), t);
    auto* got = static_cast<const uint8_t*>(y[0].data());
    const size_t line = bytes ? 2 : 1;
    for (size_t i = 0; i < y[0].nbytes(); ++i)
      EXPECT_EQ(got[i], i / line == 1 ? 0x7f : c[i]) << dtype_name(t) << " " << i;
  }
}

TEST(NnForms, DropoutWithASmallRatio) {
  HostTensor x(DType::kF8E5M2, Shape{2}), rate(DType::kF8E5M2, Shape{}), yes(DType::kBool, Shape{});
  static_cast<uint8_t*>(x.data())[0] = 0x3c, *yes.as<uint8_t>() = 1;
  static_cast<uint8_t*>(rate.data())[0] = 0;
  auto y = NodeModel("Dropout", 22).in(x).in(rate).in(yes).run(2);
  expect_near(y[0], Shape{2}, {1, 0});
  expect_near(y[1], Shape{2}, {1, 1});
}

// Before opset 7 a slope has one number for each channel; from then on it broadcasts to x.
TEST(NnForms, PReluIsOneOpInEveryVersion) {
  const HostTensor x = floats({2, 3, 4}, 5);
  const auto check = [&](int64_t opset, const Shape& shape, const Shape& seen) {
    SCOPED_TRACE(std::to_string(opset) + " " + to_text(shape).text);
    const HostTensor slope = floats(shape, 7);
    NodeModel m("PRelu", opset);
    m.in(x).constant(slope);
    const HostTensor y = m.run()[0];
    ASSERT_TRUE(y.shape() == x.shape());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const int64_t at[] = {i / 12, i / 4 % 3, i % 4};
      int64_t k = 0;
      for (int d = 0; d < seen.rank(); ++d)
        k = k * seen[d] + (seen[d] == 1 ? 0 : at[3 - seen.rank() + d]);
      const float v = x.as<float>()[i];
      EXPECT_EQ(y.as<float>()[i], v < 0 ? v * slope.as<float>()[k] : v) << i;
    }
    ir::Graph g = import_onnx_bytes(m.bytes(false, 1));
    ir::optimize(g);
    ASSERT_EQ(g.node_count(), 1U);
    EXPECT_EQ(g.node(0).op, OpId::kPRelu);
    EXPECT_EQ(onnx_op_types(g), std::vector<std::string>{"PRelu"});
  };
  for (const int64_t opset : {1, 6}) {
    check(opset, {3}, {3, 1});
    check(opset, {1}, {1});
  }
  for (const int64_t opset : {7, 9, 16, 22}) {
    for (const Shape& shape :
         {Shape{}, Shape{1}, Shape{4}, Shape{3, 1}, Shape{1, 3, 1}, Shape{2, 1, 4}, Shape{2, 3, 4}})
      check(opset, shape, shape);
  }
  EXPECT_THAT(error_of([&] {
                import_onnx_bytes(
                    NodeModel("PRelu", 16).in(x).constant(floats({5, 2, 3, 4}, 7)).bytes(false, 1));
              }),
              testing::HasSubstr("the slope does not broadcast to x: [5,2,3,4] and [2,3,4]"));
}

}  // namespace
}  // namespace wick::test
