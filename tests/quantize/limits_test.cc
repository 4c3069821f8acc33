// The ends of the integers' range: sums beyond 32 bits, scales next to nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/lower_qdq.h"
#include "quantize/passes/block_weights.h"
#include "quantize/passes/insert_qdq.h"
#include "runtime/core/half.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kLong = 150528;  // 3 x 224 x 224

HostTensor filled(const Shape& s, float v) {
  HostTensor t(DType::kF32, s);
  std::fill_n(t.as<float>(), t.numel(), v);
  return t;
}
// Output 0 is the mean of all inputs, output 1 that of the first 1000, or of all as well.
struct Mean : Builder {
  explicit Mean(float bias, bool alike = false) {
    HostTensor w = filled(Shape{2, kLong}, 1.0F / kLong);
    for (int64_t i = 0; !alike && i < kLong; ++i) w.as<float>()[kLong + i] = i < 1000 ? 0.001F : 0;
    const ir::ValueId x = input("x", {1, kLong});
    const ir::ValueId b = g.add_constant(HostTensor::of<float>(Shape{2}, {bias, 0.1F}), "b");
    g.add_output("y", g.emit(OpId::kLinear, {x, g.add_constant(w, "w", true), b}, "fc"));
  }
};
Batch batch_of(float v) {
  HostTensor x = filled(Shape{1, kLong}, v);
  for (int64_t i = 0; i < kLong; ++i)  // about v, never below 0
    x.as<float>()[i] += 0.2F * noise(Shape{1}, static_cast<uint64_t>(i)).as<float>()[0];
  return {{"x", x}};
}

// 150,528 weights of one size are 127 each: their sum by bytes is 4.9e9 of 2.1e9.
TEST(Limits, WeightsGetCoarserWhere32BitsMayNotHoldTheirSums) {
  const Batch batch = batch_of(0.75F);
  for (const DType activation : {DType::kU8, DType::kI8}) {
    for (const bool correction : {false, true}) {
      for (const bool per_channel : {true, false}) {
        for (const float bias : {0.1F, -0.2F}) {
          const Mean net(bias, !per_channel);
          Recipe r;
          r.activation = activation, r.bias_correction = correction, r.per_channel = per_channel;
          r.float_output = true;
          const Batches data = batches_of({batch});
          const QuantizeResult q = quantize_static(net.g, calibrate(net.g, data, r), r, data);
          ASSERT_THAT(q.notes, SizeIs(1));
          EXPECT_THAT(q.notes[0],
                      HasSubstr(per_channel ? "fc: 1 of 2 channels have coarser weights, so that "
                                              "32 bits hold its sums"
                                            : "fc: the weights are coarser, so that 32 bits"));
          ir::LowerReport report;
          const ir::Graph integers = ir::lowered(q.graph, &report);
          EXPECT_EQ(report.integer_nodes(), 1) << report.text();
          const HostTensor want = run_batch(net.g, batch)[0], got = run_batch(integers, batch)[0];
          // A step of the weights is a 28th of them, or smaller.
          EXPECT_NEAR(got.as<float>()[0], want.as<float>()[0], 0.03);
          EXPECT_NEAR(got.as<float>()[1], want.as<float>()[1], per_channel ? 0.01 : 0.03);
        }
      }
    }
  }
}

TEST(Limits, OfFourBitsToo) {
  const HostTensor w = filled(Shape{1, 1300000}, 1);
  QParams q{{1.0F / 7}, {0}, DType::kI4, 0};
  const QParams input{{0.01F}, {0}, DType::kU8, -1};
  EXPECT_EQ(fit_sums(HostTensor(), w, input, false, &q), 1);  // 7 * 255 * 1,300,000: 2,320,500,000
  EXPECT_THAT(largest_sums(w, q, {0, 255}), testing::Each(testing::Le(ir::kMostSum)));
}

TEST(Limits, LayersThatJustFitStayAsTheyAre) {
  const QParams input{{0.01F}, {0}, DType::kU8, -1};
  for (const int64_t n : {66311, 66312}) {
    const HostTensor w = filled(Shape{1, n}, 127);
    QParams q{{1}, {0}, DType::kI8, 0};
    EXPECT_EQ(fit_sums(HostTensor(), w, input, false, &q), n == 66311 ? 0 : 1);
    EXPECT_EQ(q.scale[0] == 1, n == 66311);
    EXPECT_LE(largest_sums(w, q, {0, 255})[0], ir::kMostSum);
  }
  // The part that a bias takes is missing for the sums; a bias that may move takes half of the
  // range.
  const HostTensor w = filled(Shape{1, 66311}, 127), bias = filled(Shape{1}, 20.0F);
  QParams q{{1}, {0}, DType::kI8, 0};
  EXPECT_EQ(fit_sums(bias, w, input, false, &q), 1);  // 2000 steps, 1912 are free
  EXPECT_LE(largest_sums(w, q, {0, 255})[0] + 2000, ir::kMostSum);
  EXPECT_EQ(fit_sums(bias, w, input, true, &q), 1);
  EXPECT_LE(largest_sums(w, q, {0, 255})[0] + (1 << 30), ir::kMostSum);
}

TEST(Limits, DynamicLayersStayFloatWhere32BitsMayNotHoldTheirSums) {
  const Mean net(0.25F);
  const Batch batch = batch_of(0.75F);
  const QuantizeResult q = quantize_dynamic(net.g, Recipe{});
  ASSERT_THAT(q.stayed, SizeIs(1));
  EXPECT_EQ(q.stayed[0].node, "fc");
  EXPECT_EQ(q.stayed[0].reason, "32 bits may not hold its sums");
  EXPECT_TRUE(same_bits(run_batch(q.graph, batch)[0], run_batch(net.g, batch)[0]));

  // The same number of weights, of both signs: at most half of them can add up in one direction.
  Builder b;
  HostTensor w = filled(Shape{1, 120000}, 1);
  for (int64_t i = 0; i < 120000; i += 2) w.as<float>()[i] = -1;
  b.g.add_output(
      "y", b.g.emit(OpId::kLinear, {b.input("x", {1, 120000}), b.g.add_constant(w, "w")}, "fc"));
  EXPECT_THAT(quantize_dynamic(b.g, Recipe{}).stayed, IsEmpty());
}

// Tables of dynamic recipes are in blocks, too: a size that no kernel has is refused before
// anything runs.
TEST(Limits, SizesOfBlocksAreCheckedInEveryMode) {
  for (const Mode mode :
       {Mode::kStatic, Mode::kDynamic, Mode::kWeightOnly, Mode::kQat, Mode::kF16, Mode::kBF16}) {
    Recipe r;
    r.mode = mode;
    for (const int64_t fine : {32, 64, 128}) {
      r.block_size = fine;
      EXPECT_EQ(error_of([&] { check(r); }), "no error") << mode_name(mode);
    }
    for (const int64_t bad : {int64_t{0}, int64_t{-32}, int64_t{31}, int64_t{256}, INT64_MAX}) {
      r.block_size = bad;
      EXPECT_THAT(error_of([&] { check(r); }),
                  HasSubstr("block_size must be 32, 64 or 128, got " + std::to_string(bad)))
          << mode_name(mode);
    }
  }
}

// float16 ends at 6e-8; where its digits run out, scales are float32.
TEST(Limits, TinyWeightsInBlocksKeepTheirDigits) {
  for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
    for (const float size : {1.0F, 1e-2F, 1e-3F, 1e-4F, 1e-5F, 1e-6F, 1e-8F, 1e-20F}) {
      HostTensor w = noise({8, 64}, 5);
      // The last block alone; the others are of a usual size, or nothing.
      for (int64_t i = 7 * 64; i < 8 * 64; ++i) w.as<float>()[i] *= size;
      for (int64_t i = 0; i < 32; ++i) w.as<float>()[i] = 0;
      const BlockedWeight b = in_blocks(w, dtype, dtype != DType::kU4, 32);
      const float scale = size / (dtype == DType::kI8 ? 127 : dtype == DType::kI4 ? 7 : 7.5F);
      const bool near = scale > 0x1p-18F && scale < 0x1p-16F;  // near the bound
      EXPECT_TRUE(near || (b.scale.dtype() == DType::kF32) == (scale < 0x1p-17F)) << size;
      const DequantizeAttrs a{1, 32, static_cast<int64_t>(DType::kF32)};
      std::vector<HostTensor> in = {b.bytes, b.scale};
      if (dtype == DType::kU4) in.push_back(b.zero);
      const HostTensor back = ir::run_node(OpId::kDequantizeLinear, &a, in, 1)[0];
      double signal = 0, error = 0;
      for (int64_t i = 7 * 64; i < 8 * 64; ++i) {
        const double x = w.as<float>()[i] / static_cast<double>(size),
                     e = x - back.as<float>()[i] / static_cast<double>(size);
        signal += x * x, error += e * e;
      }
      EXPECT_GT(10 * std::log10(signal / error), dtype == DType::kI8 ? 43 : 19)
          << dtype_name(dtype) << " " << size;
    }
  }
}

}  // namespace
}  // namespace wick::quantize
