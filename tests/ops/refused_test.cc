// Arguments that the rules refuse because kernels rely on it. Found by tests/fuzz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using testing::HasSubstr;

template <class A>
std::string refusal(OpId op, const A& attrs, std::vector<Input> in, int outputs = 1) {
  std::vector<Value> out;
  const auto all = AnyAttrs::of(attrs);
  const Sample sample{"refused", all, std::move(in), outputs};
  return run_op(op, all.get(), make_inputs(sample), outputs, cpu_sets(), nullptr, &out).message();
}

Input reals(std::vector<double> v) {
  return {DType::kF32, {static_cast<int64_t>(v.size())}, 0, 0, std::move(v)};
}

TEST(Refused, InterpolateOfTheFirstDims) {
  ResizeAttrs a;
  a.interpolate = 1;
  const Input x = f32({1, 2, 4});
  EXPECT_EQ(refusal(OpId::kResize, a, {x, Input::absent(), reals({1, 1, 2})}), "");
  EXPECT_THAT(refusal(OpId::kResize, a, {x, Input::absent(), reals({1, 2, 2})}),
              HasSubstr("interpolate keeps dims 0 and 1: [1,2,4] and [1,4,8]"));
  EXPECT_THAT(refusal(OpId::kResize, a, {x, Input::absent(), Input::absent(), ints({3, 2, 4})}),
              HasSubstr("interpolate keeps dims 0 and 1"));
}

TEST(Refused, GradientsOfAnotherShape) {
  PoolAttrs pool;
  pool.kernel_shape = {2, 2};
  const Input x = f32({1, 1, 4, 4});
  for (OpId op : {OpId::kMaxPoolGrad, OpId::kAveragePoolGrad}) {
    EXPECT_EQ(refusal(op, pool, {f32({1, 1, 3, 3}), x}), "");
    EXPECT_THAT(refusal(op, pool, {f32({1, 1, 5, 3}), x}), HasSubstr("not of the output's shape"));
    PoolAttrs empty = pool;
    empty.kernel_shape = {};
    EXPECT_THAT(refusal(op, empty, {f32({1, 1, 3, 3}), x}), HasSubstr("kernel_shape"));
  }
  const Input c = f32({2});
  EXPECT_EQ(refusal(OpId::kBatchNormGrad, BatchNormAttrs{}, {f32({3, 2}), f32({3, 2}), c, c, c}, 3),
            "");
  EXPECT_THAT(
      refusal(OpId::kBatchNormGrad, BatchNormAttrs{}, {f32({2, 2}), f32({3, 2}), c, c, c}, 3),
      HasSubstr("not of the output's shape"));
}

TEST(Refused, GradientsThatNoNormOrInterpolationGives) {
  const Input x = f32({2, 4, 3}), none = Input::absent(), sizes = ints({2, 4, 6});
  ResizeAttrs a;
  a.mode = 1;
  a.interpolate = 1;
  const Input y = f32({2, 4, 6});
  EXPECT_EQ(refusal(OpId::kResizeGrad, a, {x, y, none, sizes}), "");
  EXPECT_EQ(refusal(OpId::kResizeGrad, a, {x, y, none, sizes}, 2), "");
  EXPECT_THAT(refusal(OpId::kResizeGrad, a, {x, y, none, sizes}, 3),
              HasSubstr("has one output or 2, got 3"));
  EXPECT_THAT(refusal(OpId::kResizeGrad, a, {x, x, none, sizes}),
              HasSubstr("not of the output's shape"));
  a.interpolate = 0;
  EXPECT_THAT(refusal(OpId::kResizeGrad, a, {x, y, none, sizes}), HasSubstr("is of interpolate"));
  const LayerNormGradAttrs rows{2, 1e-5};
  EXPECT_EQ(refusal(OpId::kLayerNormGrad, rows, {x, x, f32({4, 3})}, 3), "");
  EXPECT_THAT(refusal(OpId::kLayerNormGrad, rows, {x, x, f32({3})}, 3),
              HasSubstr("the shape of the normalized dims"));
  EXPECT_THAT(refusal(OpId::kLayerNormGrad, LayerNormGradAttrs{4, 1e-5}, {x, x, f32({3})}, 3),
              HasSubstr("row_dims must be 1 to 3, got 4"));
  EXPECT_EQ(refusal(OpId::kGroupNormGrad, GroupNormGradAttrs{2, 1e-5}, {x, x, f32({4})}, 3), "");
  EXPECT_THAT(refusal(OpId::kGroupNormGrad, GroupNormGradAttrs{3, 1e-5}, {x, x, f32({4})}, 3),
              HasSubstr("not divisible by 3 groups"));
}

TEST(Refused, ConvGradientsThatNoConvGives) {
  ConvGradAttrs a;
  a.spatial = {3};  // sizes of the weight, then of the input
  EXPECT_EQ(refusal(OpId::kConvWeightGrad, a, {f32({1, 2, 5}), f32({1, 4, 3})}), "");
  EXPECT_THAT(refusal(OpId::kConvWeightGrad, a, {f32({1, 2, 5}), f32({1, 4, 4})}),
              HasSubstr("not of the output's shape"));
  ConvGradAttrs strides = a;
  strides.conv.strides = {-2};
  EXPECT_THAT(refusal(OpId::kConvWeightGrad, strides, {f32({1, 2, 5}), f32({1, 4, 3})}),
              HasSubstr("strides must be"));
  strides.conv.strides = {int64_t{1} << 32};
  EXPECT_THAT(refusal(OpId::kConvWeightGrad, strides, {f32({1, 2, 5}), f32({1, 4, 3})}),
              HasSubstr("strides must be 1 values from 1 to 2^31 - 1"));
  ConvGradAttrs group = a;
  group.conv.group = 0;
  EXPECT_THAT(refusal(OpId::kConvWeightGrad, group, {f32({1, 2, 5}), f32({1, 4, 3})}),
              HasSubstr("do not fit"));
  a.spatial = {5};
  EXPECT_EQ(refusal(OpId::kConvInputGrad, a, {f32({1, 4, 3}), f32({4, 2, 3})}), "");
  EXPECT_THAT(refusal(OpId::kConvInputGrad, a, {f32({1, 4, 4}), f32({4, 2, 3})}),
              HasSubstr("not of the output's shape"));
}

}  // namespace
}  // namespace wick::test
