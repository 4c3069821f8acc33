// Sums of products of bytes have the CPU's bits, with a device's dot products and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/graph/lower.h"
#include "tests/ops/rows.h"
#include "tests/vulkan/against_oracle.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

// A device with nothing beyond Vulkan 1.1; closed again at the end.
class Plain {
 public:
  explicit Plain(bool staging = false) {
    vulkan::ContextOptions options;
    options.plain = true;
    options.force_staging = staging;
    options.cache_folder = "";
    auto made = vulkan::Context::create(default_allocator(), options);
    if (made.ok()) context_ = made.value();
  }
  ~Plain() { vulkan::Context::destroy(context_); }
  vulkan::Context* get() const { return context_; }

 private:
  vulkan::Context* context_ = nullptr;
};

// Every `step`-th sample of the rows; how many the device ran.
int rows_of(vulkan::Context& context, size_t step) {
  int ran = 0;
  for (const TestRow* row : {&kTest_QLinearConv, &kTest_ConvInteger, &kTest_QLinearMatMul,
                             &kTest_MatMulInteger, &kTest_QGemm, &kTest_DynamicLinear}) {
    const auto samples = row->samples();
    for (size_t i = 0; i < samples.size(); i += step)
      ran += as_on_the_cpu(context, row->op, samples[i]);
  }
  return ran;
}

TEST(VulkanBytes, TheCpusWithTheDevicesDotProducts) {
  WICK_NEED_DEVICE();
  if (!shared_context(false)->device().info().integer_dot)
    GTEST_SKIP() << "the device has no integer dot products";
  EXPECT_GE(rows_of(*shared_context(false), 2), 50);
}

TEST(VulkanBytes, TheCpusWithoutThem) {
  WICK_NEED_DEVICE();
  Plain plain;
  ASSERT_NE(plain.get(), nullptr);
  EXPECT_FALSE(plain.get()->device().info().integer_dot);
  EXPECT_GE(rows_of(*plain.get(), 3), 30);
  Plain staging(true);  // weights and scales are constants
  ASSERT_NE(staging.get(), nullptr);
  EXPECT_GE(rows_of(*staging.get(), 3), 30);
}

// Several tiles in each direction, tails of a word, zero points of both.
TEST(VulkanBytes, ProductsOfSeveralTiles) {
  WICK_NEED_DEVICE();
  const auto bytes = [](DType t, Shape s) {
    return of(t, s, t == DType::kI8 ? -128 : 0, t == DType::kI8 ? 128 : 256);
  };
  const auto one = [](DType t, double v) { return Input{t, {}, 0, 0, {v}}; };
  const DType u8 = DType::kU8, i8 = DType::kI8;
  for (const auto& [rows, depth, columns] :
       {std::array<int64_t, 3>{129, 65, 67}, {65, 130, 132}, {1, 257, 63}, {63, 33, 65}}) {
    const Sample q =
        sample("qlinear", {bytes(u8, {2, rows, depth}), one(DType::kF32, 0.02), one(u8, 131),
                           bytes(i8, {2, depth, columns}), f32({columns}, 0.001, 0.02),
                           bytes(i8, {columns}), one(DType::kF32, 0.4), one(u8, 120)});
    EXPECT_TRUE(as_on_the_cpu(*shared_context(true), OpId::kQLinearMatMul, q));
    const Sample g = sample(
        "gemm", {bytes(i8, {rows, depth}), one(DType::kF32, 0.02), one(i8, 3),
                 bytes(u8, {columns, depth}), f32({columns}, 0.001, 0.02), bytes(u8, {columns}),
                 of(DType::kI32, {columns}, -3000, 3000), one(DType::kF32, 0.4), one(i8, -20)});
    EXPECT_TRUE(as_on_the_cpu(*shared_context(true), OpId::kQGemm, g));
  }
}

// Sums less zero points that a run's own quantization gives, and padding that is worth them.
TEST(VulkanBytes, ZeroPointsThatOnlyARunKnows) {
  WICK_NEED_DEVICE();
  const auto one = [](DType t, double v) { return Input{t, {}, 0, 0, {v}}; };
  const DType u8 = DType::kU8, i8 = DType::kI8;
  for (DType t : {u8, i8}) {
    const double low = t == u8 ? 0 : -128, zero = t == u8 ? 131 : -7;
    for (const auto& [out, groups, kernel] :
         {std::array<int64_t, 3>{70, 1, 3}, {16, 1, 1}, {10, 2, 3}, {12, 12, 3}}) {
      ConvAttrs conv;
      conv.group = groups;
      conv.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
      const Sample s = sample("conv",
                              {of(t, {2, 12, 9, 7}, low, low + 256),
                               of(i8, {out, 12 / groups, kernel, kernel}, -128, 128), one(t, zero),
                               of(i8, {out}, -5, 6)},
                              conv);
      for (bool known : {true, false})
        EXPECT_TRUE(as_on_the_cpu(*shared_context(known), OpId::kConvInteger, s));
    }
    const Sample s = sample(
        "matmul", {of(t, {2, 33, 65}, low, low + 256), of(i8, {65, 70}, -128, 128), one(t, zero)});
    for (bool known : {true, false})
      EXPECT_TRUE(as_on_the_cpu(*shared_context(known), OpId::kMatMulInteger, s));
  }
}

// Rows of x by their own ranges, few of them and many; values beside the ties between two bytes.
TEST(VulkanBytes, RowsOfFloatsByTheirRanges) {
  WICK_NEED_DEVICE();
  Plain plain;
  ASSERT_NE(plain.get(), nullptr);
  for (const auto& [rows, depth, columns] : {std::array<int64_t, 3>{1, 384, 130},
                                             {3, 517, 9},
                                             {12, 259, 70},
                                             {17, 65, 67},
                                             {129, 131, 133}}) {
    std::vector<double> x;
    for (int64_t i = 0; i < rows * depth; ++i) {
      const double tie = static_cast<double>(i * 7 % 255) - 100 + 0.5,
                   off = static_cast<double>(i % 3 - 1) * 1e-7;
      x.push_back(0.3 * (i % depth == 0 ? -100 : i % depth == 1 ? 155 : tie * (1 + off)));
    }
    const auto product = [&](Input scale, bool bias) {
      std::vector<Input> in = {{DType::kF32, {rows, depth}, 0, 0, x},
                               of(DType::kI8, {columns, depth}, -128, 128),
                               std::move(scale)};
      if (bias) in.push_back(f32({columns}, -1, 1));
      return sample("rows", in);
    };
    for (vulkan::Context* context : {shared_context(true), plain.get()}) {
      EXPECT_TRUE(as_on_the_cpu(*context, OpId::kDynamicLinear,
                                product(f32({columns}, 0.001, 0.02), true)));
      EXPECT_TRUE(as_on_the_cpu(*context, OpId::kDynamicLinear,
                                product({DType::kF32, {1}, 0, 0, {0.01}}, false)));
    }
  }
}

// A scale that is none is found out by the shader, where only a run knows it.
TEST(VulkanBytes, BadScalesOfARunAreErrors) {
  WICK_NEED_DEVICE();
  const auto one = [](DType t, double v) { return Input{t, {}, 0, 0, {v}}; };
  const DType u8 = DType::kU8, i8 = DType::kI8;
  const auto gemm = [&](double scale, bool bytes) {
    std::vector<Input> in = {of(u8, {33, 65}, 0, 256),    one(DType::kF32, scale), one(u8, 131),
                             of(i8, {70, 65}, -128, 128), one(DType::kF32, 0.01),  one(i8, 0)};
    if (bytes)
      in.insert(in.end(), {of(DType::kI32, {70}, -9, 9), one(DType::kF32, 0.4), one(u8, 9)});
    return sample("gemm", in);
  };
  const auto linear = [&](double scale) {
    return sample("linear", {f32({5, 65}), of(i8, {2, 65}, -128, 128),
                             Input{DType::kF32, {2}, 0, 0, {0.5, scale}}});
  };
  const auto message = [](OpId op, const Sample& s, DType y, Shape shape) {
    std::vector<Value> out = {Value(y, shape)};
    return std::string(run_call(op, nullptr, make_inputs(s), out).message());
  };
  const auto bad = testing::HasSubstr("above 0 and finite");
  const double infinity = INFINITY;
  for (double scale : {0.0, -1.0, static_cast<double>(NAN), infinity}) {
    EXPECT_THAT(message(OpId::kQGemm, gemm(scale, true), u8, {33, 70}), bad) << scale;
    EXPECT_THAT(message(OpId::kDynamicLinear, linear(scale), DType::kF32, {5, 2}), bad) << scale;
    if (scale == infinity) continue;
    EXPECT_THAT(message(OpId::kQGemm, gemm(scale, false), DType::kF32, {33, 70}), bad) << scale;
  }
  // The scale of a range with infinity in it is allowed.
  EXPECT_TRUE(as_on_the_cpu(*shared_context(false), OpId::kQGemm, gemm(infinity, false)));
}

// A check makes numbers up for what only a run knows: the CPU takes no scale that is not above 0.
TEST(VulkanBytes, CallsWithScalesOfARunAreChecked) {
  WICK_NEED_DEVICE();
  VulkanOptions options;
  options.cache_folder = "";
  auto backend = VulkanBackend::create(default_allocator(), options);
  ASSERT_TRUE(backend.ok()) << backend.status().message();
  const float known[] = {0.01f};
  const uint8_t zero[] = {0};
  const auto later = [](DType t, const Shape& s) { return TensorView(nullptr, t, s); };
  const TensorView scale(const_cast<float*>(known), DType::kF32, {}),
      zeros(const_cast<uint8_t*>(zero), DType::kI8, {}), none;
  const TensorView weight = later(DType::kI8, {70, 65}), y = later(DType::kF32, {33, 70});
  const TensorView gemm[] = {later(DType::kU8, {33, 65}),
                             later(DType::kF32, {}),
                             later(DType::kU8, {}),
                             weight,
                             scale,
                             zeros,
                             none};
  const TensorView linear[] = {later(DType::kF32, {33, 65}), weight, later(DType::kF32, {70})};
  for (const KernelQuery& q :
       {KernelQuery{OpId::kQGemm, nullptr, {gemm, 7}, {&y, 1}, 1, nullptr},
        KernelQuery{OpId::kDynamicLinear, nullptr, {linear, 3}, {&y, 1}, 1, nullptr}}) {
    const Status s = (*backend)->why_not(q);
    EXPECT_TRUE(s.ok()) << s.message();
  }
  EXPECT_EQ((*backend)->checked(), 2u);
}

}  // namespace
}  // namespace wick::test
