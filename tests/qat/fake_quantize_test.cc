// Fake quantization against QuantizeLinear + DequantizeLinear by bits, and against PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/qat/goldens.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"

namespace wick {
namespace {

using test::difference;
using test::Goldens;

uint32_t bits(float v) { return v == v ? std::bit_cast<uint32_t>(v) : 0x7fc00000; }

// DequantizeLinear(QuantizeLinear(x)) on the reference kernels.
std::vector<float> through_integers(const std::vector<float>& x, const Shape& shape,
                                    const std::vector<float>& scale, const std::vector<int>& zero,
                                    DType dtype, int64_t axis) {
  const Shape each = scale.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(scale.size())};
  HostTensor z(dtype, each);
  for (size_t i = 0; i < zero.size(); ++i) z.as<uint8_t>()[i] = static_cast<uint8_t>(zero[i]);
  const HostTensor s = HostTensor::of<float>(each, scale);
  QuantizeAttrs q;
  DequantizeAttrs d;
  q.axis = d.axis = axis;
  const HostTensor in[] = {HostTensor::of<float>(shape, x), s, z};
  const HostTensor integers = ir::run_node(OpId::kQuantizeLinear, &q, in, 1)[0];
  const HostTensor back[] = {integers, s, z};
  const HostTensor y = ir::run_node(OpId::kDequantizeLinear, &d, back, 1)[0];
  return {y.as<float>(), y.as<float>() + y.numel()};
}

// Ties of power-of-two scales, both ends of the range and far beyond, zeros, NaN, infinities.
std::vector<float> hostile(float scale, int64_t count) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> v = {0,     -0.0F,  inf,    -inf,   std::numeric_limits<float>::quiet_NaN(),
                          1e30F, -1e30F, 1e-40F, -1e-40F};
  for (int k = -300; k <= 300; ++k) {
    for (float part : {0.0F, 0.5F, 0.25F, 0.49999997F})
      v.push_back((static_cast<float>(k) + part) * scale);
  }
  Generator g{5, 0};
  const std::vector<float> more =
      uniform({4000}, -200 * scale, 200 * scale, DType::kF32, g).to_vector<float>();
  v.insert(v.end(), more.begin(), more.end());
  v.resize(static_cast<size_t>(count), scale * 1.5F);
  return v;
}

TEST(FakeQuantize, IsQuantizeAndDequantizeByBits) {
  size_t compared = 0;
  for (DType dtype : {DType::kU8, DType::kI8}) {
    const int lo = dtype == DType::kU8 ? 0 : -128, hi = lo + 255;
    for (float scale : {0.125F, 1.0F, 0.0123F, 3.7F, 1e-6F}) {
      for (int zero : {lo, lo + 1, lo + 128, hi}) {
        const std::vector<float> x = hostile(scale, 7000);
        const std::vector<float> want = through_integers(x, {7000}, {scale}, {zero}, dtype, 0);
        const Tensor t = from_blob(x.data(), {7000}, DType::kF32);
        const std::vector<float> got =
            fake_quantize_per_tensor_affine(t, scale, zero, lo, hi).to_vector<float>();
        for (size_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(bits(got[i]), bits(want[i])) << x[i] << " by " << scale << ", zero " << zero
                                                 << ": " << got[i] << " and " << want[i];
          ++compared;
        }
      }
    }
  }
  std::printf("%zu elements compared\n", compared);
}

TEST(FakeQuantize, IsThatForEachChannelToo) {
  const std::vector<float> scale = {0.5F, 0.03F, 7.0F};
  const std::vector<int> zero = {0, -5, 100};
  const std::vector<float> x = hostile(0.25F, 6000);
  const std::vector<float> zeros(zero.begin(), zero.end());
  for (auto [shape, axis] : {std::pair<Shape, int64_t>{{3, 2000}, 0},
                             {{2, 3, 1000}, 1},
                             {{2000, 3}, 1},
                             {{2, 3, 1000}, -2}}) {
    const std::vector<float> want = through_integers(x, shape, scale, zero, DType::kI8, axis);
    const std::vector<float> got =
        fake_quantize_per_channel_affine(from_blob(x.data(), shape, DType::kF32),
                                         from_blob(scale.data(), {3}, DType::kF32),
                                         from_blob(zeros.data(), {3}, DType::kF32), axis, -128, 127)
            .to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(bits(got[i]), bits(want[i])) << i;
  }
}

TEST(FakeQuantize, GradientsArePyTorchs) {
  const Goldens g("fake_quantize.txt");
  struct Case {
    const char* name;
    Shape shape;
    int64_t axis, lo, hi;
  };
  double worst = 0;
  for (const Case& c :
       {Case{"tensor_u8", {5, 7}, -1, 0, 255}, Case{"tensor_u4", {40}, -1, 0, 15},
        Case{"channel_s8", {3, 4, 5}, 0, -128, 127}, Case{"channel_s4", {4, 3, 5}, 1, -8, 7}}) {
    const std::string at = std::string(c.name) + ".";
    const auto n = static_cast<int64_t>(g.at(at + "scale").size());
    Tensor x = g.tensor(at + "x", c.shape).requires_grad_();
    const Tensor up = g.tensor(at + "g", c.shape);
    Tensor scale = g.tensor(at + "scale", {n}), zero = g.tensor(at + "zero", {n});
    const Tensor y = c.axis < 0
                         ? fake_quantize_per_tensor_affine(x, scale, zero, c.lo, c.hi)
                         : fake_quantize_per_channel_affine(x, scale, zero, c.axis, c.lo, c.hi);
    const Tensor gx = grad({y}, {x}, {up})[0];
    worst = std::max({worst, difference(y, g.at(at + "y")), difference(gx, g.at(at + "gx"))});
    scale.requires_grad_(), zero.requires_grad_();
    const Tensor learned =
        fake_quantize_learnable(x, scale, zero, std::max<int64_t>(c.axis, 0), c.lo, c.hi);
    const std::vector<Tensor> all = grad({learned}, {x, scale, zero}, {up});
    worst =
        std::max({worst, difference(learned, g.at(at + "learned_y")),
                  difference(all[0], g.at(at + "learned_gx")),
                  difference(all[1], g.at(at + "gscale")), difference(all[2], g.at(at + "gzero"))});
    EXPECT_LT(worst, 1e-5) << c.name;
  }
  std::printf("worst difference, relative to the largest: %.2e\n", worst);
}

TEST(FakeQuantize, LearnedScaleFollowsTheFormula) {
  // Esser et al. 2020, equation 3, by hand: in float64 x / s = 2.3, 9.7 (above), -1.4 (below)
  const Tensor x = tensor({2.3 * 0.5, 9.7 * 0.5, -1.4 * 0.5}, DType::kF64);
  Tensor s = tensor({0.5}, DType::kF64).requires_grad_();
  const Tensor y = fake_quantize_learnable(x, s, tensor({0.0}, DType::kF64), 0, 0, 7);
  const double factor = 1 / std::sqrt(3.0 * 7);
  const double want = factor * ((2 - 2.3) + 7 + 0);
  EXPECT_NEAR(grad({y.sum()}, {s})[0].item(), want, 1e-12);
  // the same with a gradient that differs by element
  const Tensor up = tensor({0.5, -2.0, 4.0}, DType::kF64);
  const Tensor again = fake_quantize_learnable(x, s, tensor({0.0}, DType::kF64), 0, 0, 7);
  EXPECT_NEAR(grad({again}, {s}, {up})[0].item(), factor * (0.5 * (2 - 2.3) - 2 * 7), 1e-12);
}

TEST(FakeQuantize, ScaleIsGivenUnlessItLearns) {
  Tensor x = tensor({1.0F, 2.0F}).requires_grad_(), s = tensor({0.5F}).requires_grad_();
  const Tensor y = fake_quantize_per_tensor_affine(x, s, tensor({0.0F}), 0, 255);
  EXPECT_FALSE(grad({y.sum()}, {x, s}, {}, false, false, true)[1].defined());
}

TEST(FakeQuantize, BadArgumentsAreErrors) {
  const Tensor x = ones({2, 3});
  const auto fails = [&](const Tensor& scale, const Tensor& zero, int64_t lo, int64_t hi) {
    return test::error_of([&] { fake_quantize_per_tensor_affine(x, scale, zero, lo, hi); });
  };
  const Tensor zero = tensor({0.0F});
  EXPECT_THAT(fails(tensor({0.0F}), zero, 0, 255), testing::HasSubstr("scale 0 is 0"));
  EXPECT_THAT(fails(tensor({-1.0F}), zero, 0, 255), testing::HasSubstr("finite and above 0"));
  EXPECT_THAT(fails(tensor({NAN}), zero, 0, 255), testing::HasSubstr("scale 0 is nan"));
  EXPECT_THAT(fails(tensor({INFINITY}), zero, 0, 255), testing::HasSubstr("scale 0 is inf"));
  EXPECT_THAT(fails(tensor({1.0F}), zero, 5, 5), testing::HasSubstr("quant_min 5"));
  EXPECT_THAT(fails(tensor({1.0F}), zero, 0, int64_t{1} << 40), testing::HasSubstr("int32"));
  EXPECT_THAT(fails(ones({4}), zeros({4}), 0, 255), testing::HasSubstr("scale"));
  EXPECT_THAT(fails(ones({2}), zero, 0, 255), testing::HasSubstr("scale and zero_point"));
  EXPECT_THAT(
      test::error_of([&] { fake_quantize_per_tensor_affine(x.to(DType::kI32), 1.0, 0, 0, 255); }),
      testing::HasSubstr("int32"));
  EXPECT_THAT(test::error_of(
                  [&] { fake_quantize_per_channel_affine(x, ones({3}), zeros({3}), 2, 0, 255); }),
              testing::HasSubstr("axis"));
}

}  // namespace
}  // namespace wick
