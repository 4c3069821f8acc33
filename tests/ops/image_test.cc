// Image ops against formulas of another form than the kernels': weights as functions of distance,
// transposed convolution and col2im by scattering, and values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

Input given(Shape shape, std::vector<double> values) {
  return {DType::kF32, shape, 0, 0, std::move(values)};
}

Value run(OpId op, const Sample& s, const std::vector<Value>& in, int output = 0) {
  std::vector<Value> got;
  Status status = run_op(op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &got);
  EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
  return status.ok() ? got[static_cast<size_t>(output)] : Value();
}
Value run(OpId op, const Sample& s, int output = 0) { return run(op, s, make_inputs(s), output); }

std::string error_of(OpId op, const Sample& s) {
  std::vector<Value> got;
  Status status =
      run_op(op, s.attrs.get(), make_inputs(s), s.outputs, reference_sets(), nullptr, &got);
  return status.ok() ? "" : status.message();
}

double hat(double d) { return std::fmax(0, 1 - std::fabs(d)); }
double keys(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

// One axis of n pixels read at c, its edges repeated; shrink < 1 widens the kernel.
double blended(const std::vector<double>& x, double c, bool cubic, double shrink) {
  const auto n = static_cast<int64_t>(x.size());
  const double reach = (cubic ? 2 : 1) / shrink;
  double sum = 0, weights = 0;
  for (auto p = static_cast<int64_t>(std::floor(c - reach)) - 1; p <= c + reach + 1; ++p) {
    const double d = (static_cast<double>(p) - c) * shrink;
    const double w = cubic ? keys(d, -0.75) : hat(d);
    sum += w * x[static_cast<size_t>(std::min(std::max<int64_t>(p, 0), n - 1))];
    weights += w;
  }
  return sum / weights;
}

TEST(ResizeValues, FollowTheKernelAsAFunctionOfDistance) {
  std::vector<double> x = {3, -1, 4, 1, -5, 9, 2, -6, 5};
  for (int64_t out : {1, 3, 4, 9, 14}) {
    for (bool cubic : {false, true}) {
      for (int64_t antialias : {0, 1}) {
        ResizeAttrs a;
        a.mode = cubic ? 2 : 1;
        a.antialias = antialias;
        const Sample s = sample(
            "x",
            {given({9}, x), Input::absent(), Input::absent(), ints({static_cast<double>(out)})}, a);
        const Value y = run(OpId::kResize, s);
        ASSERT_EQ(y.view().numel(), out);
        const double scale = static_cast<double>(out) / 9;
        for (int64_t i = 0; i < out; ++i) {
          const double c = (static_cast<double>(i) + 0.5) / scale - 0.5;
          EXPECT_NEAR(y.at(i), blended(x, c, cubic, antialias != 0 ? std::fmin(scale, 1) : 1), 2e-5)
              << out << " cubic " << cubic << " antialias " << antialias << " at " << i;
        }
      }
    }
  }
}

TEST(ResizeValues, NearestTakesTheSideAskedFor) {
  const std::vector<double> x = {0, 1, 2, 3};
  const double want[4][2] = {{0, 2}, {1, 3}, {0, 2}, {1, 3}};  // between 0 and 1, 2 and 3
  for (int64_t how = 0; how < 4; ++how) {
    ResizeAttrs a;
    a.nearest_mode = how;
    const Value y =
        run(OpId::kResize, sample("x", {given({4}, x), Input::absent(), given({1}, {0.5})}, a));
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(y.at(i), want[how][i]) << how;
  }
}

TEST(ResizeValues, ScalesAreTheFractionsTheyStandFor) {
  // 10 * 0.7f is 6.9999999 and 3 / 0.6f is 4.9999998
  ResizeAttrs a;
  a.coordinates = static_cast<int64_t>(ResizeCoordinates::kAsymmetric);
  a.nearest_mode = static_cast<int64_t>(ResizeNearest::kFloor);
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto by = [&](double scale) {
    return run(OpId::kResize,
               sample("x", {given({10}, x), Input::absent(), given({1}, {scale})}, a));
  };
  EXPECT_EQ(by(0.7).view().numel(), 7);
  EXPECT_EQ(by(0.6).at(3), 5);
}

TEST(ResizeValues, AskForSizesThatCanBe) {
  const Input x = f32({2, 3}), none = Input::absent();
  const auto of_scales = [&](std::vector<double> v) {
    return error_of(
        OpId::kResize,
        sample("x", {x, none, given({static_cast<int64_t>(v.size())}, v)}, ResizeAttrs{}));
  };
  EXPECT_NE(of_scales({1, -1}), "");
  EXPECT_NE(of_scales({1, NAN}), "");
  EXPECT_NE(of_scales({1}), "");
  EXPECT_NE(of_scales({1, 1e30}), "");
  EXPECT_NE(error_of(OpId::kResize, sample("x", {x, none, none, ints({2, -1})}, ResizeAttrs{})),
            "");
  EXPECT_NE(error_of(OpId::kResize, sample("x", {x, none, none, ints({1, 4e18})}, ResizeAttrs{})),
            "");
  EXPECT_NE(
      error_of(OpId::kResize, sample("x", {f32({0, 3}), none, none, ints({1, 3})}, ResizeAttrs{})),
      "");
  EXPECT_NE(error_of(OpId::kResize, sample("x", {x}, ResizeAttrs{})), "");
  ResizeAttrs bad;
  bad.mode = 7;
  EXPECT_NE(error_of(OpId::kResize, sample("x", {x, none, none, ints({2, 3})}, bad)), "");
  bad.mode = 0, bad.axes = {0, -2};
  EXPECT_NE(error_of(OpId::kResize, sample("x", {x, none, none, ints({2, 3})}, bad)), "");
}

// y[q * stride - pad + k * dilation] += x[q] * w[k], along one dim.
TEST(ConvTransposeValues, AreTheScatteredSum) {
  for (int64_t stride : {1, 2, 3, 4}) {
    for (int64_t dilation : {1, 2, 3}) {
      ConvTransposeAttrs a;
      a.conv.strides = {stride}, a.conv.dilations = {dilation}, a.conv.pads = {1, 2};
      a.output_padding = {1};
      const Sample s = sample("scatter", {f32({2, 3, 5}), f32({3, 2, 4})}, a);
      const auto in = make_inputs(s);
      const Value y = run(OpId::kConvTranspose, s, in);
      const int64_t length = y.view().shape[2];
      ASSERT_EQ(length, stride * 4 + 3 * dilation + 1 + 1 - 3);
      std::vector<double> want(static_cast<size_t>(2 * 2 * length));
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t o = 0; o < 2; ++o)
            for (int64_t q = 0; q < 5; ++q)
              for (int64_t k = 0; k < 4; ++k) {
                const int64_t at = q * stride - 1 + k * dilation;
                if (at < 0 || at >= length) continue;
                want[static_cast<size_t>((n * 2 + o) * length + at)] +=
                    in[0].at((n * 3 + c) * 5 + q) * in[1].at((c * 2 + o) * 4 + k);
              }
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(y.at(static_cast<int64_t>(i)), want[i], 1e-5) << stride << " " << dilation;
    }
  }
}

TEST(Col2ImValues, AddWhatOverlaps) {
  const Value y =
      run(OpId::kCol2Im, sample("x",
                                {given({1, 3, 4}, {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400}),
                                 ints({6}), ints({3})},
                                Col2ImAttrs{}));
  const double want[] = {1, 12, 123, 234, 340, 400};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(y.at(i), want[i]);
}

TEST(GridSampleValues, AreHatsAroundThePoint) {
  for (int64_t padding : {0, 1, 2}) {
    const Sample s = sample("hats", {f32({1, 1, 4, 5}), f32({1, 9, 7, 2}, -1.3, 1.3)},
                            GridSampleAttrs{1, padding, 0});
    const auto in = make_inputs(s);
    const Value y = run(OpId::kGridSample, s, in);
    for (int64_t p = 0; p < 63; ++p) {
      double at[2];
      const double extent[2] = {5, 4};
      for (int d = 0; d < 2; ++d) {
        at[d] = ((in[1].at(2 * p + d) + 1) * extent[d] - 1) / 2;
        if (padding == 1) at[d] = std::fmin(std::fmax(at[d], 0), extent[d] - 1);
        if (padding == 2 && at[d] < -0.5) at[d] = -1 - at[d];
        if (padding == 2 && at[d] > extent[d] - 0.5) at[d] = 2 * extent[d] - 1 - at[d];
        if (padding == 2) at[d] = std::fmin(std::fmax(at[d], 0), extent[d] - 1);
      }
      double want = 0;
      for (int64_t r = 0; r < 4; ++r)
        for (int64_t c = 0; c < 5; ++c)
          want += hat(static_cast<double>(c) - at[0]) * hat(static_cast<double>(r) - at[1]) *
                  in[0].at(r * 5 + c);
      EXPECT_NEAR(y.at(p), want, 1e-5) << "padding " << padding << " at " << p;
    }
  }
}

TEST(MaxPoolIndicesValues, CountAllOfXInTheOrderAskedFor) {
  const Input x = given({1, 2, 2, 3}, {1, 5, 2, 3, 5, 0, 7, 1, 1, 7, 8, 8});
  for (int64_t order : {0, 1}) {
    const Value y =
        run(OpId::kMaxPoolIndices,
            sample("x", {x}, MaxPoolIndicesAttrs{{{2, 2}, {1, 1}, {}, {}, 0, 0}, order}, 2), 1);
    const double want[2][4] = {{1, 1, 10, 10}, {2, 2, 9, 9}};
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), want[order][i]) << order;
  }
}

TEST(DeformConvValues, MoveByTheOffset) {
  // a kernel of one pixel that reads half a pixel to the right, and half as much
  const Sample s = sample("x",
                          {given({1, 1, 1, 4}, {2, 4, 8, 16}), given({1, 1, 1, 1}, {1}),
                           given({1, 2, 1, 4}, {0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5}), given({1}, {1}),
                           given({1, 1, 1, 4}, {0.5, 0.5, 0.5, 0.5})},
                          DeformConvAttrs{});
  const Value y = run(OpId::kDeformConv, s);
  const double want[] = {2.5, 4, 7, 5};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), want[i]);
}

TEST(RoiAlignValues, AverageAPlane) {
  // a plane that rises by 1 a column and 10 a row is its own average at the bins' centers
  std::vector<double> x;
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 6; ++c) x.push_back(10 * r + c);
  const Sample s = sample("x", {given({1, 1, 6, 6}, x), given({1, 4}, {1, 1, 5, 3}), ints({0})},
                          RoiAlignAttrs{0, 1, 1, 2, 2, 1});
  const Value y = run(OpId::kRoiAlign, s);
  EXPECT_NEAR(y.at(0), 15 + 1.5, 1e-5);
  EXPECT_NEAR(y.at(1), 15 + 3.5, 1e-5);
  Sample out = s;
  out.in[2] = ints({1});
  EXPECT_NE(error_of(OpId::kRoiAlign, out), "");
  out.in[2] = ints({-1});
  EXPECT_NE(error_of(OpId::kRoiAlign, out), "");
}

TEST(DetValues, OfKnownMatrices) {
  const Value y =
      run(OpId::kDet, sample("x", {given({3, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0, 2, 4, 1, 2})}));
  EXPECT_NEAR(y.at(0), -2, 1e-6);
  EXPECT_EQ(y.at(1), -1);
  EXPECT_EQ(y.at(2), 0);
}

}  // namespace
}  // namespace wick::test
