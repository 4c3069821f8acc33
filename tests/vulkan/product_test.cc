// Products and convolutions of every tile, at sizes that no tile divides.
#include <gtest/gtest.h>

#include "runtime/backend/vulkan/graph/lower.h"
#include "tests/vulkan/against_oracle.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using vulkan::ShaderId;

// The shader that a sample's first dispatch runs.
ShaderId shader_of(OpId op, const Sample& s, const Shape& out,
                   const vulkan::Capabilities& can = {}) {
  std::vector<TensorView> views;
  for (const Input& i : s.in) views.emplace_back(nullptr, i.dtype, i.shape);
  TensorView y(nullptr, s.in[0].dtype, out);
  OpCall call;
  call.op = op;
  call.attrs = s.attrs.get();
  call.in = views;
  call.out = {&y, 1};
  vulkan::Lowered lowered(default_allocator(), can);
  const Status status = vulkan::lower(call, lowered);
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok() ? lowered.dispatches[0].shader : ShaderId::kCount;
}

struct Product {
  const char* name;
  Shape a, b, y;
  ShaderId shader;
};

TEST(VulkanProducts, EveryTileAtOddSizes) {
  WICK_NEED_DEVICE();
  const Product products[] = {
      {"large tiles", {48, 65, 17}, {48, 17, 129}, {48, 65, 129}, ShaderId::k_gemm_f32},
      {"large, one step", {70, 63, 1}, {70, 1, 257}, {70, 63, 257}, ShaderId::k_gemm_f32},
      {"large, broadcast", {8, 6, 129, 9}, {6, 9, 129}, {8, 6, 129, 129}, ShaderId::k_gemm_f32},
      {"small tiles", {17, 33, 63}, {17, 63, 65}, {17, 33, 65}, ShaderId::k_gemm_small_f32},
      {"small, short", {65, 9, 3}, {65, 3, 17}, {65, 9, 17}, ShaderId::k_gemm_small_f32},
      {"thin tiles", {129, 65}, {65, 63}, {129, 63}, ShaderId::k_matmul_f32},
      {"a row", {1, 769}, {769, 129}, {1, 129}, ShaderId::k_gemv_f32},
      {"three times five rows", {3, 5, 65}, {65, 17}, {3, 5, 17}, ShaderId::k_matmul_f32},
      {"three rows a batch", {2, 3, 65}, {2, 65, 17}, {2, 3, 17}, ShaderId::k_gemv_f32},
      {"a column", {129, 1025}, {1025, 1}, {129, 1}, ShaderId::k_gemv_f32},
      {"three columns", {65, 129}, {129, 3}, {65, 3}, ShaderId::k_gemv_f32},
      // The last ones are second batches of their work groups.
      {"more batches than groups", {65539, 1, 64}, {1, 64, 1}, {65539, 1, 1}, ShaderId::k_gemv_f32},
  };
  for (const Product& p : products) {
    const Sample s = sample(p.name, {f32(p.a, -1, 1), f32(p.b, -1, 1)});
    EXPECT_EQ(shader_of(OpId::kMatMul, s, p.y), p.shader) << p.name;
    expect_within_bounds(OpId::kMatMul, s);
  }
}

// More rows than gemv's work groups reach.
TEST(VulkanProducts, TallOnesAreTiled) {
  const Sample tall = sample("tall", {f32({300000, 64}), f32({64, 3})});
  EXPECT_EQ(shader_of(OpId::kMatMul, tall, {300000, 3}), ShaderId::k_gemm_small_f32);
  const Sample less = sample("less", {f32({3000, 64}), f32({64, 3})});
  EXPECT_EQ(shader_of(OpId::kMatMul, less, {3000, 3}), ShaderId::k_gemv_f32);
}

// The weight's rows are outputs; every part of the epilogue.
TEST(VulkanProducts, LinearOfEveryShape) {
  WICK_NEED_DEVICE();
  EpilogueAttrs relu;
  relu.activation = static_cast<int64_t>(Activation::kRelu);
  const struct {
    int64_t rows, columns, depth;
    ShaderId shader;
  } cases[] = {{1, 129, 1025, ShaderId::k_gemv_f32},       {4, 63, 65, ShaderId::k_gemv_f32},
               {4, 63, 63, ShaderId::k_matmul_f32},        {65, 3, 257, ShaderId::k_gemv_f32},
               {257, 513, 17, ShaderId::k_gemm_small_f32}, {769, 2049, 33, ShaderId::k_gemm_f32}};
  for (const auto& c : cases) {
    const Shape y{c.rows, c.columns};
    const Sample s = sample("linear",
                            {f32({c.rows, c.depth}, -1, 1), f32({c.columns, c.depth}, -1, 1),
                             f32({c.columns}), f32({c.columns}), f32({c.columns}), f32(y)},
                            relu);
    EXPECT_EQ(shader_of(OpId::kFusedLinear, s, y), c.shader) << c.rows;
    expect_within_bounds(OpId::kFusedLinear, s);
  }
}

TEST(VulkanProducts, ConvolutionsOfEveryTile) {
  WICK_NEED_DEVICE();
  ConvAttrs plain, same, strided, groups, depthwise;
  same.pads = {1, 1, 1, 1};
  strided.strides = {2, 3};
  strided.dilations = {2, 1};
  strided.pads = {2, 0, 1, 3};
  groups.group = 3;
  groups.pads = {0, 1, 0, 1};
  depthwise.group = 17;
  depthwise.pads = {1, 1, 1, 1};
  const struct {
    const char* name;
    Shape x, w, y;
    ConvAttrs attrs;
    ShaderId shader;
  } cases[] = {
      {"1x1",
       {5, 33, 37, 41},
       {129, 33, 1, 1},
       {5, 129, 37, 41},
       plain,
       ShaderId::k_conv_gemm_small_f32},
      {"1x1 large",
       {9, 17, 63, 65},
       {65, 17, 1, 1},
       {9, 65, 63, 65},
       plain,
       ShaderId::k_conv_gemm_f32},
      {"3x3",
       {3, 5, 31, 33},
       {65, 5, 3, 3},
       {3, 65, 31, 33},
       same,
       ShaderId::k_conv_gemm_small_f32},
      {"3x3 large",
       {7, 3, 63, 65},
       {65, 3, 3, 3},
       {7, 65, 63, 65},
       same,
       ShaderId::k_conv_gemm_f32},
      {"small maps",
       {65, 17, 7, 7},
       {63, 17, 3, 3},
       {65, 63, 7, 7},
       same,
       ShaderId::k_conv_gemm_small_f32},
      {"one small map",
       {1, 65, 7, 7},
       {129, 65, 3, 3},
       {1, 129, 7, 7},
       same,
       ShaderId::k_conv2d_f32},
      {"strided",
       {17, 3, 33, 31},
       {33, 3, 3, 5},
       {17, 33, 16, 10},
       strided,
       ShaderId::k_conv_gemm_small_f32},
      {"groups",
       {11, 9, 17, 33},
       {51, 3, 3, 3},
       {11, 51, 15, 33},
       groups,
       ShaderId::k_conv_gemm_small_f32},
      {"depthwise",
       {3, 17, 13, 11},
       {17, 1, 3, 3},
       {3, 17, 13, 11},
       depthwise,
       ShaderId::k_conv2d_direct_f32},
      {"depthwise in twos",
       {3, 17, 5, 3},
       {34, 1, 3, 3},
       {3, 34, 5, 3},
       depthwise,
       ShaderId::k_conv2d_direct_f32},
  };
  for (const auto& c : cases) {
    const Sample s = sample(c.name, {f32(c.x, -1, 1), f32(c.w, -1, 1), f32({c.w[0]})}, c.attrs);
    EXPECT_EQ(shader_of(OpId::kConv, s, c.y), c.shader) << c.name;
    expect_within_bounds(OpId::kConv, s);
  }
}

// The products that use matrix units. No device at hand has those of VK_NV_cooperative_matrix, so
// the shader is only compiled and validated here.
TEST(VulkanProducts, MatrixUnitsTakeWholeVectorsOfHalves) {
  vulkan::Capabilities can;
  can.f16_storage = can.matrix_units = true;
  auto shader = [&](Shape a, Shape b, Shape y, DType dtype) {
    const Sample s = sample("matrix", {of(dtype, a), of(dtype, b)});
    return shader_of(OpId::kMatMul, s, y, can);
  };
  EXPECT_EQ(shader({65, 40}, {40, 72}, {65, 72}, DType::kF16), ShaderId::k_gemm_matrix_f16);
  EXPECT_EQ(shader({65, 40}, {40, 73}, {65, 73}, DType::kF16), ShaderId::k_matmul_f16);
  EXPECT_EQ(shader({65, 42}, {42, 72}, {65, 72}, DType::kF16), ShaderId::k_matmul_f16);
  EXPECT_EQ(shader({3, 64}, {64, 72}, {3, 72}, DType::kF16), ShaderId::k_gemv_f16);
  EXPECT_EQ(shader({65, 40}, {40, 72}, {65, 72}, DType::kF32), ShaderId::k_matmul_f32);
}

// Weights of 4 and 8 bits, blocks of which the last is short, more rows than share a weight.
TEST(VulkanProducts, WeightsInBlocks) {
  WICK_NEED_DEVICE();
  BlockLinearAttrs plain, zero;
  zero.zero_point = 8;
  zero.block_size = 64;
  const Input none = Input::absent();
  const Sample samples[] = {
      sample("row",
             {f32({1, 264}), of(DType::kU4, {65, 264}, 0, 16), f32({65, 5}, 0.01, 0.1), none,
              f32({65})},
             zero),
      sample(
          "rows",
          {f32({17, 136}), of(DType::kI4, {63, 136}, -8, 8), of(DType::kF16, {63, 5}, 0.01, 0.1)},
          plain),
      sample("zeros",
             {f32({9, 72}), of(DType::kU4, {3, 72}, 0, 16), f32({3, 3}, 0.01, 0.1),
              of(DType::kU4, {3, 3}, 0, 16)},
             plain),
      sample("bytes",
             {f32({3, 132}), of(DType::kU8, {129, 132}, 0, 256), f32({129, 5}, 0.01, 0.1),
              of(DType::kU8, {129, 5}, 0, 256), f32({129})},
             plain),
  };
  for (const Sample& s : samples) expect_within_bounds(OpId::kBlockLinear, s);
}

// Long rows by subgroups, where the device's add, and not along the last dim alone.
TEST(VulkanProducts, SoftmaxOfLongRows) {
  WICK_NEED_DEVICE();
  for (OpId op : {OpId::kSoftmax, OpId::kLogSoftmax}) {
    expect_within_bounds(op, sample("rows", {f32({17, 129}, -9, 9)}, AxisAttrs{1}));
    expect_within_bounds(op, sample("a row", {f32({1025}, -9, 9)}, AxisAttrs{0}));
    expect_within_bounds(op, sample("columns", {f32({3, 65, 5}, -9, 9)}, AxisAttrs{1}));
  }
}

}  // namespace
}  // namespace wick::test
