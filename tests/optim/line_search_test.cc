// The line search of LBFGS alone: PyTorch's on waves, where its brackets turn over and its cubics
// have no minimum; and sums of vectors.
#include "trainer/optim/line_search.h"

#include "tests/optim/goldens.h"

namespace wick {
namespace {

// make_lbfgs.py's: f, and its slope.
std::pair<double, double> waves(double x, int64_t seed) {
  double f = 0.01 * x * x, g = 0.02 * x;
  for (int64_t k = 0; k < 4; ++k) {
    const double a = test::number(k, seed);
    const double b = (1 + 4 * std::abs(test::number(k + 4, seed))) * (seed >= 60 ? 50 : 1);
    const double c = 2 * test::number(k + 8, seed);
    f += a * std::sin(b * x + c);
    g += a * b * std::cos(b * x + c);
  }
  return {f, g};
}

TEST(LineSearch, FollowsPyTorch) {
  const std::vector<test::GoldenCase> cases = test::goldens("search");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_GT(cases[0].lines.size(), 500u);
  for (const auto& [key, want] : cases[0].lines) {
    const int64_t seed = std::stoi(key);
    const auto [f, g] = waves(0, seed);
    const double way = g > 0 ? -1 : 1;
    const Tensor d = full({1}, way, DType::kF64);
    auto evaluate = [&](double t) {
      const auto [value, slope] = waves(t * way, seed);
      return optim::LinePoint{value, full({1}, slope, DType::kF64)};
    };
    const optim::LinePoint start = {f, full({1}, g, DType::kF64), g * way, 0};
    const optim::LineResult found = optim::strong_wolfe(evaluate, want[0], d, start, want[1]);
    const std::string what = "seed " + key + " from " + std::to_string(want[0]);
    EXPECT_EQ(static_cast<double>(found.evals), want[2]) << what;
    // PyTorch's own answer moves by this when every loss and slope moves by eight roundings.
    const double within = want[3] + 0x1p-51;
    EXPECT_NEAR(found.point.t, want[4], within * std::max(1.0, want[4])) << what;
    EXPECT_NEAR(found.point.f, want[5], within) << what;
    EXPECT_NEAR(found.point.gtd, want[6], within) << what;
  }
}

TEST(LineSearch, SumsOfVectors) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    // Across several pieces; numbers of 1/64, whose products and sums are exact in double.
    const Tensor a = test::numbers({40001}, 1, dtype), b = test::numbers({40001}, 2, dtype);
    double product = 0, size = 0, most = 0;
    for (int64_t i = 0; i < 40001; ++i) {
      product += test::number(i, 1) * test::number(i, 2);
      size += std::abs(test::number(i, 1));
      most = std::max(most, std::abs(test::number(i, 1)));
    }
    EXPECT_EQ(optim::dot(a, b), product);
    EXPECT_EQ(optim::sum_abs(a), size);
    EXPECT_EQ(optim::max_abs(a), most);
    EXPECT_EQ(optim::max_abs(zeros({0}, dtype)), 0);
    a[7].fill_(std::nan(""));
    EXPECT_TRUE(std::isnan(optim::max_abs(a)));
  }
  // Lanes, not a chain: element 8 is added to element 0 first.
  const Tensor far = full({16}, 0.0, DType::kF64), ones = full({16}, 1.0, DType::kF64);
  far[0].fill_(1e16), far[1].fill_(1.0), far[8].fill_(-1e16);
  EXPECT_EQ(optim::dot(far, ones), 1.0);
}

}  // namespace
}  // namespace wick
