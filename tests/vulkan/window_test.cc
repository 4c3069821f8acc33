// Ops that read an image through windows: shapes that the rows do not have.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/vulkan/agree.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

// A list of `spatial` numbers, empty now and then where that means ones or zeros.
template <class List>
void fill(Random& random, List& list, int count, int64_t lo, int64_t hi) {
  list = {};
  for (int i = 0; i < count; ++i) list.values[list.count++] = random(lo, hi);
}

TEST(VulkanWindows, PoolsOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  int ran = 0;
  for (int round = 0; round < 120; ++round) {
    const int spatial = static_cast<int>(random(1, 3));
    Shape x{random(1, 2), random(1, 3)};
    PoolAttrs a;
    fill(random, a.kernel_shape, spatial, 1, 4);
    fill(random, a.strides, spatial, 1, 3);
    fill(random, a.dilations, spatial, 1, 3);
    fill(random, a.pads, 2 * spatial, 0, 2);
    for (int i = 0; i < spatial; ++i) x.push_back(random(2, 11));
    a.ceil_mode = random(0, 1);
    a.count_include_pad = random(0, 1);
    const std::string name = fmt::format("round {}", round);
    ran += agrees(OpId::kMaxPool, sample(name, {f32(x)}, a), To::kCpu);
    ran += agrees(OpId::kAveragePool, sample(name, {f32(x)}, a));
    ran += agrees(OpId::kMaxPoolIndices,
                  sample(name, {f32(x)}, MaxPoolIndicesAttrs{a, random(0, 1)}, 2), To::kCpu);
    ran += agrees(OpId::kLpPool, sample(name, {f32(x)}, LpPoolAttrs{a, random(1, 4)}));
  }
  EXPECT_GT(ran, 200);
  // A window far larger than the input: the loop is over the input.
  PoolAttrs wide;
  wide.kernel_shape = {1 << 28, 2};
  wide.pads = {(1 << 28) - 1, 0, 0, 1};
  wide.count_include_pad = 1;
  EXPECT_TRUE(agrees(OpId::kMaxPool, sample("wide", {f32({1, 2, 5, 6})}, wide), To::kCpu));
  EXPECT_TRUE(agrees(OpId::kAveragePool, sample("wide", {f32({1, 2, 5, 6})}, wide)));
}

// Products that fill several tiles in part, groups in the tiled shader and in the direct one, no
// bias, pads of one side; 1 to 3 dims.
TEST(VulkanWindows, ConvolutionsOfEveryShape) {
  WICK_NEED_DEVICE();
  struct Case {
    const char* name;
    Shape x, w;
    ConvAttrs attrs;
  };
  const Case cases[] = {
      {"1x1 tiles", {2, 19, 9, 11}, {37, 19, 1, 1}, {}},
      {"1x1 strided", {1, 5, 9, 11}, {9, 5, 1, 1}, {{2, 3}, {}, {}, 1}},
      {"grouped tiles", {2, 22, 7, 13}, {26, 11, 3, 3}, {{}, {}, {1, 1, 1, 1}, 2}},
      {"dilated tiles", {1, 3, 17, 15}, {11, 3, 3, 2}, {{1, 2}, {3, 2}, {2, 0, 1, 3}, 1}},
      {"one side", {1, 3, 6, 7}, {9, 3, 4, 3}, {{2, 1}, {}, {3, 0, 0, 2}, 1}},
      {"depthwise", {3, 13, 9, 7}, {13, 1, 5, 3}, {{2, 1}, {1, 2}, {2, 1, 1, 2}, 13}},
      {"depthwise x2", {1, 7, 9, 9}, {14, 1, 3, 3}, {{}, {}, {1, 1, 1, 1}, 7}},
      {"1d", {2, 7, 33}, {9, 7, 4}, {{3}, {2}, {5, 1}, 1}},
      {"1d grouped", {1, 6, 21}, {10, 3, 3}, {{}, {}, {0, 2}, 2}},
      {"3d tiles",
       {2, 6, 5, 7, 9},
       {10, 3, 3, 2, 3},
       {{2, 1, 1}, {1, 2, 1}, {1, 1, 0, 2, 0, 1}, 2}},
      {"3d wide", {1, 2, 9, 9, 17}, {3, 2, 1, 1, 1}, {}},
  };
  for (const Case& c : cases) {
    EXPECT_TRUE(agrees(OpId::kConv, sample(c.name, {f32(c.x), f32(c.w)}, c.attrs)));
    EXPECT_TRUE(agrees(OpId::kConv, sample(c.name, {f32(c.x), f32(c.w), f32({c.w[0]})}, c.attrs)));
    const FusedConvAttrs fused{c.attrs, {static_cast<int64_t>(Activation::kHardSwish), 0, 0}};
    EXPECT_TRUE(agrees(OpId::kFusedConv, sample(c.name, {f32(c.x), f32(c.w)}, fused)));
  }
  Random random;
  int ran = 0;
  for (int round = 0; round < 40; ++round) {
    const int spatial = static_cast<int>(random(1, 3));
    ConvAttrs a;
    a.group = random(1, 3);
    const int64_t channels = random(1, 4);
    Shape x{random(1, 2), channels * a.group}, w{a.group * random(1, 12), channels};
    fill(random, a.strides, spatial, 1, 3);
    fill(random, a.dilations, spatial, 1, 3);
    fill(random, a.pads, 2 * spatial, 0, 3);
    for (int i = 0; i < spatial; ++i) x.push_back(random(1, 12)), w.push_back(random(1, 4));
    std::vector<Input> in = {f32(x), f32(w)};
    if (random(0, 1) == 1) in.push_back(f32({w[0]}));
    ran += agrees(OpId::kConv, sample(fmt::format("round {}", round), in, a));
  }
  EXPECT_GT(ran, 25);
}

TEST(VulkanWindows, TransposedAndFoldedOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  int transposed = 0, folded = 0;
  for (int round = 0; round < 120; ++round) {
    const std::string name = fmt::format("round {}", round);
    const int spatial = static_cast<int>(random(1, 3));
    ConvTransposeAttrs a;
    a.conv.group = random(1, 2);
    Shape x{random(1, 2), a.conv.group * random(1, 3)},
        w{x[1], random(0, 3) == 0 ? random(4, 19) : random(1, 3)};
    fill(random, a.conv.strides, spatial, 1, 4);
    fill(random, a.conv.dilations, spatial, 1, 4);
    fill(random, a.conv.pads, 2 * spatial, 0, 2);
    fill(random, a.output_padding, spatial, 0, 2);
    if (random(0, 3) == 0) a.auto_pad = random(1, 2);
    if (random(0, 3) == 0) fill(random, a.output_shape, spatial, 1, 24);
    for (int i = 0; i < spatial; ++i) x.push_back(random(1, 7)), w.push_back(random(1, 4));
    std::vector<Input> in = {f32(x), f32(w)};
    if (random(0, 1) == 1) in.push_back(f32({a.conv.group * w[1]}));
    transposed += agrees(OpId::kConvTranspose, sample(name, in, a));

    Col2ImAttrs c;
    const int dims = static_cast<int>(random(1, 4));
    fill(random, c.strides, dims, 1, 3);
    fill(random, c.dilations, dims, 1, 3);
    fill(random, c.pads, 2 * dims, 0, 2);
    std::vector<double> image, block;
    int64_t positions = 1, windows = 1;
    for (int i = 0; i < dims; ++i) {
      image.push_back(static_cast<double>(random(3, 8)));
      block.push_back(static_cast<double>(random(1, 3)));
      const int64_t room =
          static_cast<int64_t>(image[static_cast<size_t>(i)]) + c.pads[i] + c.pads[i + dims] -
          (static_cast<int64_t>(block[static_cast<size_t>(i)]) - 1) * c.dilations[i] - 1;
      windows *= room < 0 ? 0 : room / c.strides[i] + 1;
      positions *= static_cast<int64_t>(block[static_cast<size_t>(i)]);
    }
    if (windows == 0) continue;
    folded += agrees(
        OpId::kCol2Im,
        sample(name, {f32({random(1, 2), 2 * positions, windows}), ints(image), ints(block)}, c));
  }
  EXPECT_GT(transposed, 80);
  EXPECT_GT(folded, 60);
}

TEST(VulkanWindows, DeformedConvolutionsOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  int ran = 0;
  for (int round = 0; round < 60; ++round) {
    const int spatial = static_cast<int>(random(1, 3));
    DeformConvAttrs a;
    a.conv.group = random(1, 2);
    a.offset_group = random(1, 2);
    const int64_t channels = 2 * random(1, 2) * a.conv.group;
    Shape x{random(1, 2), channels}, w{a.conv.group * random(1, 11), channels / a.conv.group};
    fill(random, a.conv.strides, spatial, 1, 2);
    fill(random, a.conv.dilations, spatial, 1, 2);
    fill(random, a.conv.pads, 2 * spatial, 0, 2);
    Shape offset{x[0], a.offset_group * spatial}, mask{x[0], a.offset_group};
    bool fits = true;
    for (int i = 0; i < spatial; ++i) {
      x.push_back(random(2, 6)), w.push_back(random(1, 3));
      const int64_t room = x[2 + i] + a.conv.pads[i] + a.conv.pads[i + spatial] -
                           (w[2 + i] - 1) * a.conv.dilations[i] - 1;
      fits = fits && room >= 0;
      offset[1] *= w[2 + i], mask[1] *= w[2 + i];
      offset.push_back(room / a.conv.strides[i] + 1), mask.push_back(room / a.conv.strides[i] + 1);
    }
    if (!fits) continue;
    std::vector<Input> in = {f32(x), f32(w), f32(offset, -3, 3), Input::absent(), Input::absent()};
    if (random(0, 1) == 1) in[3] = f32({w[0]});
    if (random(0, 1) == 1) in[4] = f32(mask);
    ran += agrees(OpId::kDeformConv, sample(fmt::format("round {}", round), in, a));
  }
  EXPECT_GT(ran, 30);
}

}  // namespace
}  // namespace wick::test
