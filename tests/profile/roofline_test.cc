// Points under the roofline: intensities by hand, both verdicts, shares of the roof, and that no
// time is lost between a profile and its points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/models.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

constexpr Roofline kRoof{.flops_per_second = 1e11, .bytes_per_second = 1e10, .threads = 1};

const RooflinePoint& point(const std::vector<RooflinePoint>& points, const std::string& op) {
  static const RooflinePoint kNone;
  for (const RooflinePoint& p : points) {
    if (p.op == op) return p;
  }
  ADD_FAILURE() << "no " << op;
  return kNone;
}

// T17: 2 n^3 FLOPs on 12 n^2 bytes, one FLOP on 12 bytes.
TEST(RooflinePoints, ProductsAndSumsByHand) {
  const int64_t n = 96;
  const Tensor a = randn({n, n}), b = randn({n, n});
  Profiler profiler;
  for (int i = 0; i < 3; ++i) {
    matmul(a, b);
    add(a, b);
  }
  const auto points = roofline_points(profiler.stop(), kRoof);
  const RooflinePoint& product = point(points, "matmul");
  EXPECT_EQ(product.calls, 3);
  EXPECT_DOUBLE_EQ(product.intensity, n / 6.0);
  EXPECT_STREQ(product.verdict(), "compute-bound");  // 16 FLOPs a byte, the ridge is at 10
  const RooflinePoint& sum = point(points, "add");
  EXPECT_DOUBLE_EQ(sum.intensity, 1 / 12.0);
  EXPECT_STREQ(sum.verdict(), "memory-bound");
  EXPECT_DOUBLE_EQ(sum.gflops * 12, sum.gbytes);
  EXPECT_DOUBLE_EQ(sum.of_roof, sum.gbytes * 1e9 / kRoof.bytes_per_second);
  EXPECT_DOUBLE_EQ(product.of_roof, product.gflops * 1e9 / kRoof.flops_per_second);
}

TEST(RooflinePoints, PlaceEveryOpOfAStep) {
  manual_seed(0);
  test::Cnn model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  const Tensor x = randn({4, 1, 28, 28}), y = zeros({4}, DType::kI64);
  Profiler profiler;
  cross_entropy(model(x), y).backward();
  optimizer.step();
  const Profile& profile = profiler.stop();
  const auto points = roofline_points(profile, kRoof);
  double seconds = 0, flops = 0, want_seconds = 0, want_flops = 0;
  int64_t calls = 0, want_calls = 0;
  bool backward = false;
  for (const RooflinePoint& p : points) {
    seconds += p.seconds;
    flops += p.flops;
    calls += p.calls;
    backward = backward || p.backward;
    EXPECT_GT(p.bytes, 0) << p.op;
  }
  for (const ProfileSlice& s : profile.slices) {
    if (s.kind != SliceKind::kKernel || s.cost.bytes() <= 0) continue;
    want_seconds += s.seconds();
    want_flops += s.cost.flops();
    ++want_calls;
  }
  EXPECT_NEAR(seconds, want_seconds, 1e-9);
  EXPECT_DOUBLE_EQ(flops, want_flops);
  EXPECT_EQ(calls, want_calls);
  EXPECT_TRUE(backward);
  // Two convolutions of other shapes are two points.
  int convolutions = 0;
  for (const RooflinePoint& p : points) convolutions += p.op == "conv2d" ? 1 : 0;
  EXPECT_EQ(convolutions, 2);
  const std::string text = roofline_report(points, kRoof, 3);
  EXPECT_THAT(text, HasSubstr("1 thread: 100.0 GFLOP/s, 10.0 GB/s; compute-bound from 10.0"));
  EXPECT_THAT(text, HasSubstr("and " + std::to_string(points.size() - 3) + " more\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;  // limits, head, 3, rest, sum
}

}  // namespace
}  // namespace wick
