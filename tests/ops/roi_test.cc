// RoiAlign by bits against the loops as they are written down: every sample one after the other,
// including those outside the image, which the kernel skips. And regions of 2^28 samples a bin.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Call {
  RoiAlignAttrs attrs;
  int64_t height, width;
  std::vector<float> image, roi;  // one channel, one region
};

float every_sample(const Call& c, int64_t row, int64_t column) {
  const auto& a = c.attrs;
  const float scale = static_cast<float>(a.spatial_scale), shift = a.half_pixel != 0 ? 0.5f : 0.0f;
  float edge[4];
  for (size_t i = 0; i < 4; ++i) edge[i] = c.roi[i] * scale - shift;
  float width = edge[2] - edge[0], height = edge[3] - edge[1];
  if (a.half_pixel == 0) width = width > 1 ? width : 1, height = height > 1 ? height : 1;
  const float bin_height = height / static_cast<float>(a.output_height);
  const float bin_width = width / static_cast<float>(a.output_width);
  int64_t rows = a.sampling_ratio, columns = a.sampling_ratio;
  if (rows == 0) {
    rows = bin_height > 0 ? static_cast<int64_t>(std::ceil(bin_height)) : 0;
    columns = bin_width > 0 ? static_cast<int64_t>(std::ceil(bin_width)) : 0;
  }
  float result = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float y = edge[1] + static_cast<float>(row) * bin_height +
                (static_cast<float>(i) + 0.5f) * bin_height / static_cast<float>(rows);
      float x = edge[0] + static_cast<float>(column) * bin_width +
                (static_cast<float>(j) + 0.5f) * bin_width / static_cast<float>(columns);
      size_t at[4] = {};
      float weight[4] = {};
      if (y >= -1 && y <= static_cast<float>(c.height) && x >= -1 &&
          x <= static_cast<float>(c.width)) {
        y = y > 0 ? y : 0, x = x > 0 ? x : 0;
        auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
        int64_t bottom = top + 1, right = left + 1;
        if (top >= c.height - 1) top = bottom = c.height - 1, y = static_cast<float>(top);
        if (left >= c.width - 1) left = right = c.width - 1, x = static_cast<float>(left);
        const float down = y - static_cast<float>(top), along = x - static_cast<float>(left);
        const int64_t places[4] = {top * c.width + left, top * c.width + right,
                                   bottom * c.width + left, bottom * c.width + right};
        const float weights[4] = {(1 - down) * (1 - along), (1 - down) * along, down * (1 - along),
                                  down * along};
        for (size_t q = 0; q < 4; ++q)
          at[q] = static_cast<size_t>(places[q]), weight[q] = weights[q];
      }
      float best = weight[0] * c.image[at[0]];
      for (size_t q = 0; q < 4; ++q) {
        const float v = c.image[at[q]];
        if (a.max == 0) result = std::fma(weight[q], v, result);
        if (q > 0 && weight[q] * v > best) best = weight[q] * v;
      }
      if (a.max != 0 && ((i == 0 && j == 0) || best > result)) result = best;
    }
  }
  const int64_t count = std::max<int64_t>(rows * columns, 1);
  return a.max != 0 ? result : result / static_cast<float>(count);
}

Value given(const Shape& shape, const std::vector<float>& values) {
  Value v(DType::kF32, shape);
  for (size_t i = 0; i < values.size(); ++i)
    v.set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  return v;
}
Status run(const Call& c, std::vector<Value>* out) {
  Value image(DType::kI64, {1});
  image.set(0, 0);
  return run_op(OpId::kRoiAlign, &c.attrs,
                {given({1, 1, c.height, c.width}, c.image), given({1, 4}, c.roi), image}, 1,
                reference_sets(), nullptr, out);
}

TEST(RoiAlignSamples, HaveTheBitsOfEverySample) {
  std::mt19937 random(7);
  const auto pick = [&](std::vector<float> of) { return of[random() % of.size()]; };
  int compared = 0;
  for (int k = 0; k < 4000; ++k) {
    Call c;
    c.height = 1 + static_cast<int64_t>(random() % 6),
    c.width = 1 + static_cast<int64_t>(random() % 6);
    c.attrs = {static_cast<int64_t>(random() % 2),     static_cast<int64_t>(random() % 2),
               1 + static_cast<int64_t>(random() % 3), 1 + static_cast<int64_t>(random() % 3),
               static_cast<int64_t>(random() % 4),     pick({1, 0.25f, 3})};
    for (int64_t i = 0; i < c.height * c.width; ++i) {
      const float v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 7;
      c.image.push_back(random() % 40 == 0 ? pick({kInf, -kInf, kNan, 0, -0.0f, 1e-45f, -1e-45f})
                                           : v);
    }
    for (int i = 0; i < 4; ++i) {
      const float v = static_cast<float>(static_cast<int>(random() % 601) - 300) / 20;
      c.roi.push_back(random() % 9 == 0 ? pick({kInf, -kInf, kNan, 3e38f, -3e38f, 60, -60, 0}) : v);
    }
    std::vector<Value> got;
    if (!run(c, &got).ok()) continue;  // a region too large to have samples by its size
    for (int64_t i = 0; i < c.attrs.output_height * c.attrs.output_width; ++i) {
      const float want = every_sample(c, i / c.attrs.output_width, i % c.attrs.output_width);
      const float have = got[0].view().as<float>()[i];
      if (std::isnan(want) && std::isnan(have)) continue;
      EXPECT_EQ(std::bit_cast<uint32_t>(want), std::bit_cast<uint32_t>(have))
          << "case " << k << " bin " << i << ": " << have << ", every sample gives " << want;
      ++compared;
    }
  }
  EXPECT_GT(compared, 8000);
}

// Samples outside the image cost nothing, however many there are: 2^28 samples in each of 2^16 bins
// would take for ever, and SIGALRM would end the process.
TEST(RoiAlignSamples, BesideTheImageCostNothing) {
  alarm(60);
  Call c;
  c.attrs = {0, 1, 256, 256, 0, 1};
  c.height = c.width = 4;
  c.image.assign(16, 1);
  c.roi = {0, 0, 256.0f * 16384, 256.0f * 16384};
  std::vector<Value> got;
  const Status s = run(c, &got);
  alarm(0);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_GT(got[0].at(0), 0);
  EXPECT_LT(got[0].at(0), 1e-6);  // 20 samples of 2^28
  EXPECT_EQ(got[0].at(1), 0);
}

}  // namespace
}  // namespace wick::test
