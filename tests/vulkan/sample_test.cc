// Ops that read an image between pixels: shapes and places that the rows do not have.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/backend/vulkan/backend.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/agree.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

Input reals(std::vector<double> v) {
  return {DType::kF32, {static_cast<int64_t>(v.size())}, 0, 0, v};
}

TEST(VulkanSamples, ResizesOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  int ran = 0;
  for (int round = 0; round < 100; ++round) {
    ResizeAttrs a;
    a.mode = random(0, 2);
    a.coordinates = random(0, 6);
    a.nearest_mode = random(0, 3);
    a.antialias = a.mode == 0 ? 0 : random(0, 1);
    a.exclude_outside = random(0, 1);
    a.extrapolation_value = 1.25;
    Shape x;
    std::vector<double> scales, roi, ends;
    const int rank = static_cast<int>(random(1, 4));
    for (int i = 0; i < rank; ++i) {
      x.push_back(random(1, 9));
      scales.push_back(random(0, 3) == 0 ? 1 : static_cast<double>(random(3, 40)) / 13);
      roi.push_back(static_cast<double>(random(-4, 4)) / 10);
      ends.push_back(static_cast<double>(random(6, 14)) / 10);
    }
    roi.insert(roi.end(), ends.begin(), ends.end());
    Sample s = sample(fmt::format("round {}", round), {f32(x), reals(roi), reals(scales)}, a);
    if (random(0, 1) == 1) {
      s.in[2] = Input::absent();
      std::vector<double> sizes;
      for (int i = 0; i < rank; ++i) sizes.push_back(static_cast<double>(random(1, 20)));
      s.in.push_back(ints(sizes));
    }
    ran += agrees(OpId::kResize, s, a.mode == 0 ? To::kCpu : To::kOracle);
  }
  EXPECT_GT(ran, 80);
  // Integers are moved whole, and more outputs than one dispatch's first round of groups has.
  ResizeAttrs nearest;
  for (const DType t : {DType::kI32, DType::kU32}) {
    EXPECT_TRUE(agrees(
        OpId::kResize,
        sample(dtype_name(t),
               {of(t, {2, 3, 5, 7}, 0, 1e9), Input::absent(), reals({1, 1, 1.7, 0.6})}, nearest),
        To::kCpu));
  }
  ResizeAttrs linear;
  linear.mode = 1;
  EXPECT_TRUE(agrees(
      OpId::kResize,
      sample("large", {f32({1, 3, 97, 61}), Input::absent(), reals({1, 1, 2.7, 3.1})}, linear)));
}

// Every place in turn: pixels, halfway between them, the edges, and what floats lie beside.
std::vector<double> places(int64_t extent, bool align) {
  std::vector<double> all;
  for (int64_t twice = -5; twice <= 2 * extent + 4; ++twice) {
    const double at = static_cast<double>(twice) / 2, n = static_cast<double>(extent);
    const auto x = static_cast<float>(align ? (extent == 1 ? at : 2 * at / (n - 1) - 1)
                                            : (2 * at + 1) / n - 1);
    for (float v : {x, std::nextafter(x, -9.0f), std::nextafter(x, 9.0f)})
      all.push_back(static_cast<double>(v));
  }
  for (double v : {0.0, 1e-20, -1e-20, 0x1p-53, -0x1p-53, 0x1.8p-54, 1e-9, -1e-9, 1e7, -1e7,
                   123456.789, 3e9, -7e12, 1e30, -1e30, 0x1p60, 0x1p62, -0x1.8p59, 3.4e38}) {
    all.push_back(static_cast<double>(static_cast<float>(v)));
  }
  for (double v : {HUGE_VAL, -HUGE_VAL, std::nan("")}) all.push_back(v);
  return all;
}

TEST(VulkanSamples, GridSamplePicksTheCpusPixels) {
  WICK_NEED_DEVICE();
  for (int64_t extent : {1, 2, 3, 4, 5, 7, 12, 33, 100}) {
    for (int64_t align = 0; align < 2; ++align) {
      Input grid = f32({1, 1, 1});
      grid.values = places(extent, align != 0);
      grid.shape[1] = static_cast<int64_t>(grid.values.size());
      for (int64_t padding = 0; padding < 3; ++padding) {
        for (int64_t mode = 0; mode < 3; ++mode) {
          EXPECT_TRUE(agrees(
              OpId::kGridSample,
              sample(fmt::format("{} align {} padding {} mode {}", extent, align, padding, mode),
                     {f32({1, 2, extent}), grid}, GridSampleAttrs{mode, padding, align}),
              mode == 0 ? To::kCpu : To::kOracle));
        }
      }
    }
  }
}

TEST(VulkanSamples, GridSampleOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  for (int round = 0; round < 60; ++round) {
    const int spatial = static_cast<int>(random(1, 3));
    const GridSampleAttrs a{random(0, 2), random(0, 2), random(0, 1)};
    Shape x{random(1, 3), random(1, 3)}, grid{x[0]};
    for (int i = 0; i < spatial; ++i) x.push_back(random(1, 9)), grid.push_back(random(1, 6));
    grid.push_back(spatial);
    EXPECT_TRUE(agrees(OpId::kGridSample,
                       sample(fmt::format("round {}", round), {f32(x), f32(grid, -2.2, 2.2)}, a),
                       a.mode == 0 ? To::kCpu : To::kOracle));
  }
}

TEST(VulkanSamples, RegionsOfEveryShape) {
  WICK_NEED_DEVICE();
  Random random;
  for (int round = 0; round < 60; ++round) {
    const int64_t images = random(1, 3), count = random(1, 5);
    const Shape x{images, random(1, 3), random(1, 9), random(1, 9)};
    const std::string name = fmt::format("round {}", round);
    Input rois = f32({count, 4}), pooled = f32({count, 5});
    std::vector<double> which;
    for (int64_t i = 0; i < count; ++i) {
      which.push_back(static_cast<double>(random(0, images - 1)));
      pooled.values.push_back(which.back());
      for (int k = 0; k < 4; ++k) {
        // halves and thirds: edges at which a bin or a sample more or less hangs
        const double v = static_cast<float>(static_cast<double>(random(-12, 60)) /
                                            static_cast<double>(random(2, 3)));
        rois.values.push_back(v);
        pooled.values.push_back(v);
      }
    }
    const double scales[] = {1, 0.5, 0.25, 0.3f};
    const double scale = scales[random(0, 3)];
    const RoiAlignAttrs align{random(0, 1), random(0, 1), random(1, 4),
                              random(1, 4), random(0, 3), scale};
    Input index = ints(which);
    if (random(0, 1) == 1) index.dtype = DType::kI32;
    EXPECT_TRUE(agrees(OpId::kRoiAlign, sample(name, {f32(x), rois, index}, align), To::kNearCpu));
    const MaxRoiPoolAttrs pool{{random(1, 4), random(1, 4)}, scale};
    EXPECT_TRUE(agrees(OpId::kMaxRoiPool, sample(name, {f32(x), pooled}, pool), To::kCpu));
  }
  Input far = f32({1, 5});
  far.values = {0, -3e9, -1e30, 5e9, 7e12};
  EXPECT_TRUE(agrees(OpId::kMaxRoiPool,
                     sample("far", {f32({1, 1, 9, 9}), far}, MaxRoiPoolAttrs{{3, 2}, 1}),
                     To::kCpu));
}

// Values that the CPU refuses at run time are refused by the device, too.
TEST(VulkanSamples, BadRegionsAreRefused) {
  WICK_NEED_DEVICE();
  struct Case {
    OpId op;
    Sample sample;
  };
  Input good = f32({2, 4});
  good.values = {0, 0, 3, 3, 1, 1, 2, 2};
  Input huge = good;
  huge.values[2] = 1e9;
  std::vector<Case> cases;
  for (double bad : {-1.0, 2.0, 4294967296.0})
    cases.push_back({OpId::kRoiAlign,
                     sample("index", {f32({2, 1, 5, 5}), good, ints({1, bad})}, RoiAlignAttrs{})});
  cases.push_back(
      {OpId::kRoiAlign, sample("size", {f32({2, 1, 5, 5}), huge, ints({0, 1})}, RoiAlignAttrs{})});
  for (double bad : {-1.0, 2.0, 1e30, std::nan("")}) {
    Input rois = f32({2, 5});
    rois.values = {1, 0, 0, 3, 3, bad, 0, 0, 2, 2};
    cases.push_back({OpId::kMaxRoiPool,
                     sample("image", {f32({2, 1, 5, 5}), rois}, MaxRoiPoolAttrs{{2, 2}, 1})});
  }
  for (const Case& c : cases) {
    const auto in = make_inputs(c.sample);
    std::vector<Value> out;
    const Status cpu = run_op(c.op, c.sample.attrs.get(), in, 1, cpu_sets(), nullptr, &out);
    ASSERT_FALSE(cpu.ok());
    const Shape shape{2, 1, c.op == OpId::kRoiAlign ? 1 : 2, c.op == OpId::kRoiAlign ? 1 : 2};
    const Status device =
        run_on_device(c.op, c.sample.attrs.get(), in, {Value(DType::kF32, shape)});
    EXPECT_EQ(device.code(), cpu.code()) << c.sample.name << ": " << device.message();
  }
}

// Before a model runs its kernels are tried on numbers of the backend's own: these must be such
// that the CPU's kernels take them.
TEST(VulkanSamples, AreTrustedOnceTried) {
  WICK_NEED_DEVICE();
  VulkanOptions options;
  options.cache_folder = "";
  auto backend = VulkanBackend::create(default_allocator(), options);
  ASSERT_TRUE(backend.ok()) << backend.status().message();
  ResizeAttrs cubic;
  cubic.mode = 2;
  const struct {
    OpId op;
    Sample sample;
    size_t known;  // the inputs from here on are constants
  } cases[] = {
      {OpId::kResize,
       sample("", {f32({1, 2, 5, 7}), Input::absent(), reals({1, 1, 1.7, 0.6})}, cubic), 1},
      {OpId::kGridSample,
       sample("", {f32({2, 3, 4, 5}), f32({2, 6, 3, 2})}, GridSampleAttrs{0, 2, 0}), 2},
      {OpId::kAffineGrid, sample("", {f32({2, 2, 3}), ints({2, 1, 4, 5})}, AffineGridAttrs{}), 1},
      {OpId::kRoiAlign,
       sample("", {f32({2, 3, 9, 9}), f32({4, 4}), ints({0, 1, 1, 0})},
              RoiAlignAttrs{0, 1, 2, 2, 0, 1}),
       3},
      {OpId::kMaxRoiPool,
       sample("", {f32({3, 2, 9, 9}), f32({5, 5}, 0, 1)}, MaxRoiPoolAttrs{{2, 2}, 1}), 2},
      {OpId::kCol2Im,
       sample("", {f32({2, 12, 15}), ints({4, 10}), ints({2, 3})},
              Col2ImAttrs{{2, 2}, {1, 2}, {1, 0, 1, 3}}),
       1},
      {OpId::kMaxPoolIndices,
       sample("", {f32({1, 2, 6, 6})}, MaxPoolIndicesAttrs{{{3, 3}, {2, 2}, {}, {}, 1, 0}, 1}, 2),
       1},
      {OpId::kConvTranspose,
       sample("", {f32({1, 4, 4, 3}), f32({4, 9, 3, 2})}, ConvTransposeAttrs{}), 2},
      {OpId::kDeformConv,
       sample("", {f32({1, 2, 4, 4}), f32({3, 2, 3, 3}), f32({1, 18, 2, 2})}, DeformConvAttrs{}),
       3},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(find_op(c.op)->name);
    const auto values = make_inputs(c.sample);
    std::vector<Value> results;
    ASSERT_TRUE(
        run_op(c.op, c.sample.attrs.get(), values, c.sample.outputs, cpu_sets(), nullptr, &results)
            .ok());
    std::vector<TensorView> in = views(values), out = views(results);
    for (size_t i = 0; i < c.known && i < in.size(); ++i) in[i].data = nullptr;
    for (TensorView& v : out) v.data = nullptr;
    const size_t before = (*backend)->checked();
    EXPECT_TRUE((*backend)->supports({c.op, c.sample.attrs.get(), in, out, 1, nullptr}));
    EXPECT_EQ((*backend)->checked(), before + 1);
    // Sizes that are only known at run time are left to the CPU.
    if (c.op != OpId::kResize && c.op != OpId::kCol2Im) continue;
    for (TensorView& v : in) v.data = nullptr;
    EXPECT_FALSE((*backend)->supports({c.op, c.sample.attrs.get(), in, out, 1, nullptr}));
  }
  EXPECT_EQ((*backend)->complaint_count(), size_t{0});
}

}  // namespace
}  // namespace wick::test
