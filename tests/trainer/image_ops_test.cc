// Functions that read images, beyond what the function rows compare with PyTorch and the gradchecks
// with differences: texts of errors, dtypes of gradients, positions that are no numbers, ties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

Tensor image(const Shape& shape, DType dtype = DType::kF32) {
  Generator g{5, 0};
  return uniform(shape, -1, 1, DType::kF64, g).to(dtype);
}
bool finite(const Tensor& t) { return all(isfinite(t)).item() != 0; }

TEST(ImageOps, RefusalsSayWhatToDo) {
  const Tensor x = image({1, 2, 4, 5}), grid = image({1, 3, 3, 2}), bytes = x.to(DType::kU8);
  const auto says = [](const std::function<void()>& f, const char* what) {
    EXPECT_THAT(error_of(f), HasSubstr(what));
  };
  says(
      [&] {
        interpolate(bytes, {.size = {2, 2}, .mode = "bilinear"});
      },
      "[interpolate] mode \"bilinear\" needs floats, got uint8");
  says([&] { interpolate(bytes, {.size = {2, 2}, .mode = "area"}); }, "needs floats, got uint8");
  says([&] { interpolate(x, {.size = {2, 2}, .antialias = true}); }, "antialias goes with");
  says(
      [&] {
        interpolate(x, {.size = {2, 2}, .recompute_scale_factor = true});
      },
      "recompute_scale_factor needs scale_factor");
  says([&] { grid_sample(x, grid.to(DType::kF64)); },
       "the grid must have the input's dtype float32, got float64");
  says([&] { grid_sample(x, image({2, 3, 3, 2})); }, "[1,2,4,5] and [2,3,3,2]");
  says([&] { grid_sample(x, grid, "linear"); }, "got \"linear\"");
  says([&] { grid_sample(x, grid, "bilinear", "wrap"); }, "got \"wrap\"");
  says(
      [&] {
        grid_sample(image({1, 1, 2, 2, 2}), image({1, 1, 1, 1, 3}), "bicubic");
      },
      "got \"bicubic\" for 5 dimensions");
  says([&] { affine_grid(image({1, 2, 3}), {1, 1, 0, 2}); }, "sizes must be >= 1");
  says([&] { affine_grid(image({1, 2, 3}), {2, 1, 3, 2}); }, "[1,2,3] and [2,1,3,2]");
  const Tensor boxes = tensor({{3., 0., 0., 2., 2.}}, DType::kF32);
  says([&] { roi_align(x, boxes, 2); }, "[roi_align] batch index 3 is out of bounds for 1 images");
  says([&] { roi_pool(x, boxes, 2); }, "[roi_pool] batch index 3 of region 0 is out of bounds");
  says([&] { roi_pool(x, boxes, 0); }, "output_size must be >= 1");
  says(
      [&] {
        deform_conv2d(x, image({1, 7, 3, 4}), image({1, 2, 2, 2}));
      },
      "[deform_conv2d] needs an input");
  says(
      [&] {
        deform_conv2d(x, image({1, 8, 9, 4}), image({1, 2, 2, 2}));
      },
      "[deform_conv2d] the offsets do not fit the output");
  says(
      [&] {
        embedding_bag(tensor<int64_t>({{0, 1}}), image({3, 2}), Tensor(), {.mode = "min"});
      },
      "mode must be sum, mean or max, got 'min'");
  EXPECT_EQ(interpolate(bytes, {.size = {8, 5}}).dtype(), DType::kU8);
}

TEST(ImageOps, SixteenBitGradientsAreThoseOfFloat64Rounded) {
  const auto gradients = [](DType t) {
    const Tensor x = image({1, 2, 4, 5}).to(DType::kBF16).to(t).requires_grad_();
    const Tensor grid = (image({1, 2, 2, 2}) * 0.75).to(DType::kBF16).to(t).requires_grad_();
    const Tensor boxes = tensor({{0., 0.5, 1., 4., 3.5}}, DType::kF64).to(t);
    const Tensor offset = image({1, 8, 3, 4}).to(DType::kBF16).to(t).requires_grad_();
    const Tensor weight = image({1, 2, 2, 2}).to(DType::kBF16).to(t).requires_grad_();
    (sum(grid_sample(x, grid)) + sum(roi_align(x, boxes, 2)) +
     sum(deform_conv2d(x, offset, weight)))
        .backward();
    std::vector<Tensor> all;
    for (const Tensor& leaf : {x, grid, offset, weight}) all.push_back(leaf.grad());
    return all;
  };
  const std::vector<Tensor> want = gradients(DType::kF64);
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32}) {
    const std::vector<Tensor> got = gradients(t);
    const double bound = t == DType::kF32 ? 1e-5 : t == DType::kF16 ? 0.01 : 0.08;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), t);
      EXPECT_LE(max(abs(got[i].to(DType::kF64) - want[i])).item(), bound * max(abs(want[i])).item())
          << dtype_name(t) << " " << i;
    }
  }
}

TEST(ImageOps, PositionsThatAreNoNumbersPassNoGradient) {
  const double nan = constants::nan, inf = constants::inf;
  for (const char* mode : {"bilinear", "bicubic", "nearest"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      const Tensor x = image({1, 1, 3, 4}, DType::kF64).requires_grad_();
      const Tensor grid =
          tensor({nan, 0.1, inf, -0.2, -inf, nan, 0.15, 0.35}, DType::kF64).reshape({1, 2, 2, 2});
      grid.requires_grad_();
      sum(grid_sample(x, grid, mode, padding)).backward();
      EXPECT_TRUE(finite(x.grad())) << mode << " " << padding;
      ASSERT_TRUE(grid.grad().defined());
      const std::vector<double> g = grid.grad().to_vector<double>();
      for (const size_t i : {0, 2, 4, 5}) EXPECT_EQ(g[i], 0) << mode << " " << padding << " " << i;
      EXPECT_TRUE(finite(grid.grad())) << mode << " " << padding;
    }
  }
}

// Points exactly on the outermost pixels, as an identity has them with align_corners: PyTorch
// 1.13's numbers.
TEST(ImageOps, PointsOnTheEdgePassPyTorchsGradient) {
  const struct {
    const char* padding;
    bool align;
    std::vector<double> want;
  } kTable[] = {
      {"zeros", true, {0.1875, 2, -22.6875, -15.125, 2.4375, 6, 3.5625, -12.203125}},
      {"zeros", false, {0, 0, -15.125, -11.34375, 13, 4.5, 2.625, -18.75}},
      {"border", true, {0, 0, 0, 0, 0, 6, 3.5625, 0}},
      {"border", false, {0, 0, 0, 0, 0, 9, 5.25, 0}},
      {"reflection", true, {0, 0, 0, 0, 0, 6, 3.5625, 0}},
      {"reflection", false, {0, 0, 0, 0, 0, 9, 5.25, 0}},
  };
  const Tensor x = square(arange(0, 12, 1, DType::kF64)).reshape({1, 1, 3, 4}) / 8;
  for (const auto& row : kTable) {
    const Tensor grid =
        tensor({-1., -1., 1., 1., -1., 0.5, 0.25, 1.}, DType::kF64).reshape({1, 1, 4, 2});
    grid.requires_grad_();
    sum(grid_sample(x, grid, "bilinear", row.padding, row.align)).backward();
    const std::vector<double> got = grid.grad().to_vector<double>();
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], row.want[i], 1e-12) << row.padding << " " << row.align << " " << i;
  }
}

TEST(ImageOps, TheGridOfNearestPixelsGetsZeros) {
  const Tensor x = image({1, 1, 3, 4}), grid = image({1, 2, 2, 2}).requires_grad_();
  sum(grid_sample(x, grid, "nearest")).backward();
  EXPECT_EQ(grid.grad().to_vector<float>(), std::vector<float>(8, 0));
}

TEST(ImageOps, NothingReadHasAGradientOfZero) {
  const Tensor x = image({1, 2, 3, 4}).requires_grad_();
  sum(roi_align(x, zeros({0, 5}), 2)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(24, 0));
  const Tensor beside = tensor({{0., 50., 50., 60., 60.}}, DType::kF32);
  sum(roi_align(x, beside, 2)).backward();
  sum(roi_pool(x, beside, 2)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(24, 0));
  // the bias alone learns
  const Tensor bias = zeros({1}).requires_grad_();
  sum(deform_conv2d(image({1, 2, 3, 3}), zeros({1, 8, 2, 2}), image({1, 2, 2, 2}), bias))
      .backward();
  EXPECT_EQ(bias.grad().to_vector<float>(), std::vector<float>{4});
}

TEST(ImageOps, AWindowOfZerosHasAGradientOfZero) {
  for (const int64_t p : {1, 2, 3}) {
    LpPoolAttrs a;
    a.pool.kernel_shape = {2, 2};
    a.p = p;
    const Tensor x = zeros({1, 1, 2, 2}).requires_grad_();
    sum(call(OpId::kLpPool, a, {x})).backward();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(4, 0)) << p;
  }
}

TEST(ImageOps, TheFirstOfEqualPixelsGetsTheGradient) {
  const Tensor x = ones({1, 1, 2, 2}).requires_grad_();
  sum(roi_pool(x, tensor({{0., 0., 0., 1., 1.}}, DType::kF32), 1)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 0, 0, 0}));
}

// An offset of whole pixels is a shifted convolution; without offsets it is the plain one.
TEST(ImageOps, DeformableConvolutionWithoutOffsetsIsPlain) {
  const Tensor x = image({2, 4, 5, 6}, DType::kF64), w = image({6, 2, 3, 3}, DType::kF64);
  const Tensor want = conv2d(x, w, Tensor(), {2, 1}, 1, 1, 2);
  Shape at = want.raw_shape();
  at[1] = 18;
  const Tensor got = deform_conv2d(x, zeros(at, DType::kF64), w, Tensor(), {2, 1}, 1);
  EXPECT_EQ(got.raw_shape(), want.raw_shape());
  EXPECT_LE(max(abs(got - want)).item(), 1e-12);
}

// PyTorch's is 0; NumPy's, and ONNX Runtime's of float32, is NaN, as the graph's Sign.
TEST(ImageOps, SignOfNanIsNan) {
  for (const DType t : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor y = sign(full({40}, constants::nan, t));
    EXPECT_TRUE(all(isnan(y)).item() != 0) << dtype_name(t);
  }
}

}  // namespace
}  // namespace wick
