// QuantizedLinear in integers: exact numbers, before and after calibration and when deployed.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/quantizer/quantized.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class LinearOfInt8 : public testing::Test {
 protected:
  void SetUp() override {
    manual_seed(11);
    x = randn({9, 40});
  }
  nn::Linear layer{40, 24};
  Tensor x;
  const NoGrad guard;
};

TEST_F(LinearOfInt8, IsTheSumOfIntegers) {
  QuantizedLinear q(layer);
  q.calibrate(x);
  const float s = q.input_scale.item();
  const int zero = q.input_zero_point.to_vector<uint8_t>()[0];
  const std::vector<float> in = x.to_vector<float>(), scale = q.weight_scale.to_vector<float>(),
                           bias = q.bias.to_vector<float>(), got = q(x).to_vector<float>();
  const std::vector<int8_t> w = q.weight.to_vector<int8_t>();
  for (size_t r = 0; r < 9; ++r) {
    for (size_t n = 0; n < 24; ++n) {
      int64_t sum = 0;
      for (size_t k = 0; k < 40; ++k) {
        const double v = std::nearbyint(in[r * 40 + k] / s) + zero;
        sum += (static_cast<int64_t>(std::min(255.0, std::max(0.0, v))) - zero) * w[n * 40 + k];
      }
      const float product = static_cast<float>(sum) * (s * scale[n]);
      ASSERT_EQ(got[r * 24 + n], product + bias[n]) << r << ", " << n;
    }
  }
}

TEST_F(LinearOfInt8, RunsIntegerKernelsAlone) {
  QuantizedLinear q(layer);
  EXPECT_FALSE(q.calibrated());
  EXPECT_THAT(test::ops_of([&] { q(x); }), ElementsAre(Pair("DynamicLinear", 1)));
  q.calibrate(x);
  EXPECT_TRUE(q.calibrated());
  EXPECT_THAT(test::ops_of([&] { q(x); }),
              ElementsAre(Pair("Add", 1), Pair("QGemm", 1), Pair("QuantizeLinear", 1)));
  const Tensor want = layer(x), off = q(x) - want;
  EXPECT_LT((off * off).mean().item() / (want * want).mean().item(), 1e-4);  // 40 dB
}

TEST_F(LinearOfInt8, RowsHaveRangesOfTheirOwnUntilItIsCalibrated) {
  QuantizedLinear q(layer);
  Tensor loud = x.clone();
  loud.select(0, 3).copy_(x.select(0, 3) * 1000);
  const Tensor alone = q(x), beside = q(loud);
  for (int64_t row : {0, 8})
    EXPECT_EQ(alone.select(0, row).to_vector<float>(), beside.select(0, row).to_vector<float>());
  q.calibrate(x);
  EXPECT_GT(abs(q(loud) - layer(loud)).max().item(), 1);  // outside of the range: saturated
}

TEST_F(LinearOfInt8, EveryBatchWidensTheRange) {
  QuantizedLinear one(layer), two(layer);
  one.calibrate(x);
  two.calibrate(x * 0.5F);
  EXPECT_LT(two.input_scale.item(), one.input_scale.item());
  two.calibrate(x);
  two.calibrate(x * 0.1F);
  EXPECT_EQ(two.input_scale.item(), one.input_scale.item());
  EXPECT_EQ(two(x).to_vector<float>(), one(x).to_vector<float>());
}

TEST_F(LinearOfInt8, TakesAQuarterOfTheMemory) {
  const MemoryUsage m = QuantizedLinear(nn::Linear(512, 256)).memory_usage();
  EXPECT_EQ(m.original_bytes, (512 * 256 + 256) * 4);
  EXPECT_LT(m.quantized_bytes, 512 * 256 + 256 * 8 + 16);
  EXPECT_GT(m.ratio(), 3.9);
  QuantizedLinear q(layer);
  int64_t held = 1;  // the weight's zero point
  for (const auto& [name, t] : q.state_dict()) held += static_cast<int64_t>(t.raw().nbytes());
  EXPECT_EQ(q.memory_usage().quantized_bytes, held);
  EXPECT_TRUE(q.parameters().empty());
}

TEST_F(LinearOfInt8, IsDeployedAsItIs) {
  for (const bool calibrated : {false, true}) {
    nn::Sequential net(QuantizedLinear(layer), nn::ReLU(), QuantizedLinear(nn::Linear(24, 5)));
    net.eval();
    if (calibrated) {
      auto& first = dynamic_cast<QuantizedLinear&>(*net.children()[0].second);
      first.calibrate(x);
      dynamic_cast<QuantizedLinear&>(*net.children()[2].second).calibrate(relu(first(x)));
    }
    const ir::Graph g = capture(net, {{"x", x, {{0, "batch"}}, {}}});
    EXPECT_EQ(test::deployed(g, x), net(x).to_vector<float>());
    int64_t floats = 0;  // float32 numbers in the graph: scales and biases
    for (const ir::Node& n : g.nodes()) {
      for (const ir::ValueId v : n.inputs) {
        if (v != ir::kNoValue && g.is_constant(v) && g.value(v).dtype == DType::kF32)
          floats += g.value(v).constant.numel();
      }
    }
    EXPECT_LE(floats, 2 * (24 + 5) + 4);
  }
}

TEST_F(LinearOfInt8, GivesNoGradient) {
  QuantizedLinear q(layer);
  for (const bool calibrated : {false, true}) {
    if (calibrated) q.calibrate(x);
    const EnableGrad on;
    const Tensor leaf = x.clone();
    leaf.requires_grad_();
    EXPECT_NE(error_of([&] { q(leaf).sum().backward(); }), "no error") << calibrated;
  }
}

TEST_F(LinearOfInt8, StateHoldsTheCalibration) {
  QuantizedLinear q(layer), other{nn::Linear(40, 24)};
  q.calibrate(x);
  other.load_state_dict(q.state_dict());
  EXPECT_TRUE(other.calibrated());
  EXPECT_EQ(other(x).to_vector<float>(), q(x).to_vector<float>());
}

TEST_F(LinearOfInt8, WithoutBiasAndByOneScale) {
  Recipe recipe;
  recipe.per_channel = false;
  recipe.activation = DType::kI8;
  nn::Linear plain(40, 24, false);
  QuantizedLinear q(plain, recipe);
  EXPECT_EQ(q.weight_scale.numel(), 1);
  EXPECT_LT(abs(q(x) - plain(x)).max().item(), 0.1);
  q.calibrate(x);
  EXPECT_EQ(q.input_zero_point.dtype(), DType::kI8);
  EXPECT_LT(abs(q(x) - plain(x)).max().item(), 0.1);
}

TEST_F(LinearOfInt8, RefusesBadDataAndRecipes) {
  QuantizedLinear q(layer);
  EXPECT_THAT(error_of([&] { q.calibrate(zeros({0, 40})); }), HasSubstr("empty batch"));
  EXPECT_THAT(error_of([&] { q.calibrate(zeros({4, 39})); }), HasSubstr("[4,39] for 40 features"));
  EXPECT_THAT(error_of([&] { q.calibrate(zeros({40}) / 0); }), HasSubstr("nan"));
  EXPECT_FALSE(q.calibrated());
  layer.weight.copy_(layer.weight / 0);
  EXPECT_THAT(error_of([&] { QuantizedLinear{layer}; }), HasSubstr("NaN or infinite"));
  nn::Linear wide(3, 2);
  wide.to(DType::kF64);
  EXPECT_THAT(error_of([&] { QuantizedLinear{wide}; }), HasSubstr("float64"));
  Recipe recipe;
  recipe.weight = DType::kI4;
  EXPECT_THAT(error_of([&] { QuantizedLinear(nn::Linear(3, 2), recipe); }),
              HasSubstr("symmetric int8 here, not int4"));
}

}  // namespace
}  // namespace wick::quantize
