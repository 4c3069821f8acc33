// Conversions bit by bit: a value between two 16-bit floats goes to the nearer one, ties to even.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/core/half.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using vulkan::TensorId;
using vulkan::VulkanGraph;

template <class From, class To>
std::vector<To> cast(const std::vector<From>& x, DType from, DType to) {
  std::vector<To> y(x.size());
  const Shape shape{static_cast<int64_t>(x.size())};
  VulkanGraph graph(*shared_context(false), default_allocator());
  CastAttrs attrs;
  attrs.to = static_cast<int64_t>(to);
  const TensorId in = graph.add_input(from, shape).value();
  const TensorId out = graph.add_temporary(to, shape).value();
  EXPECT_TRUE(graph.add_call(OpId::kCast, &attrs, {&in, 1}, {&out, 1}).ok());
  EXPECT_TRUE(graph.add_output(out).ok());
  EXPECT_TRUE(graph.finish().ok());
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  EXPECT_TRUE(graph.run(inputs, outputs).ok());
  return y;
}

template <class T>
bool nan_bits(uint16_t bits) {
  return std::isnan(static_cast<float>(std::bit_cast<T>(bits)));
}

// Every value of the 16-bit type, what lies halfway to the next, and what lies just beside that.
template <class T>
void every_value_and_tie(DType dtype) {
  std::vector<uint16_t> all;
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    all.push_back(static_cast<uint16_t>(bits));
    const float v = static_cast<float>(std::bit_cast<T>(all.back()));
    const float next = static_cast<float>(std::bit_cast<T>(static_cast<uint16_t>(bits + 1)));
    floats.push_back(v);
    if (!std::isfinite(v) || !std::isfinite(next)) continue;
    const float half = static_cast<float>((double{v} + double{next}) / 2);
    floats.insert(floats.end(), {half, std::nextafter(half, v), std::nextafter(half, next)});
  }
  floats.insert(floats.end(), {65519.996f, 65520.0f, 1e30f, -1e30f, 3.4028235e38f});
  const auto wide = cast<uint16_t, float>(all, dtype, DType::kF32);
  for (size_t i = 0; i < all.size(); ++i) {
    const float want = static_cast<float>(std::bit_cast<T>(all[i]));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(want)) << i;
    }
  }
  const auto narrow = cast<float, uint16_t>(floats, DType::kF32, dtype);
  for (size_t i = 0; i < floats.size(); ++i) {
    const uint16_t want = T(floats[i]).bits;
    if (nan_bits<T>(want)) {
      ASSERT_TRUE(nan_bits<T>(narrow[i])) << floats[i];
    } else {
      ASSERT_EQ(narrow[i], want) << floats[i];
    }
  }
}

TEST(VulkanCast, EveryHalfAndEveryTie) {
  WICK_NEED_DEVICE();
  every_value_and_tie<Half>(DType::kF16);
}
TEST(VulkanCast, EveryBFloat16AndEveryTie) {
  WICK_NEED_DEVICE();
  every_value_and_tie<BFloat16>(DType::kBF16);
}

// Beyond the range the ends, NaN 0; towards 0 within.
TEST(VulkanCast, FloatsToIntegersSaturate) {
  WICK_NEED_DEVICE();
  const std::vector<float> x = {0.0f,     -0.0f,     1.9f,    -1.9f,        127.5f,
                                -128.9f,  300.0f,    -300.0f, 1e10f,        -1e10f,
                                INFINITY, -INFINITY, NAN,     2147483520.0f};
  const auto i32 = cast<float, int32_t>(x, DType::kF32, DType::kI32);
  const auto i8 = cast<float, int8_t>(x, DType::kF32, DType::kI8);
  const auto u8 = cast<float, uint8_t>(x, DType::kF32, DType::kU8);
  EXPECT_EQ(i32, (std::vector<int32_t>{0, 0, 1, -1, 127, -128, 300, -300, INT32_MAX, INT32_MIN,
                                       INT32_MAX, INT32_MIN, 0, 2147483520}));
  EXPECT_EQ(i8,
            (std::vector<int8_t>{0, 0, 1, -1, 127, -128, 127, -128, 127, -128, 127, -128, 0, 127}));
  EXPECT_EQ(u8, (std::vector<uint8_t>{0, 0, 1, 0, 127, 0, 255, 0, 255, 0, 255, 0, 0, 255}));
  const auto back = cast<int8_t, float>(i8, DType::kI8, DType::kF32);
  for (size_t i = 0; i < i8.size(); ++i) EXPECT_EQ(back[i], static_cast<float>(i8[i]));
}

}  // namespace
}  // namespace wick::test
