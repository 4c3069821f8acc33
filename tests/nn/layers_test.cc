// Properties of layers beyond PyTorch's numbers: noise, modes, and arguments that are refused.
#include "tests/nn/goldens.h"

namespace wick {
namespace {

double mean_of(const Tensor& t) { return mean(t.to(kD)).item(); }
double std_of(const Tensor& t) { return std(t.to(kD)).item(); }

TEST(Layers, DropoutKeepsTheMean) {
  manual_seed(2);
  Tensor x = ones({200, 300});
  nn::Dropout d(0.3);
  Tensor y = d(x);
  EXPECT_NEAR(mean_of(y), 1, 0.01);
  EXPECT_NEAR(mean_of(eq(y, 0)), 0.3, 0.01);
  d.eval();
  EXPECT_TRUE(equal(d(x), x));
  EXPECT_TRUE(equal(nn::Dropout(0)(x), x));
  EXPECT_EQ(sum(nn::Dropout(1)(x)).item(), 0);
}

// Whole channels: each is kept or dropped as one.
TEST(Layers, ChannelDropoutDropsChannels) {
  manual_seed(3);
  nn::Dropout1d one;
  nn::Dropout2d two;
  nn::Dropout3d three;
  Tensor x = ones({50, 40, 6});
  for (const Tensor& y : {one(x), two(x.reshape({50, 40, 2, 3})).flatten(2),
                          three(x.reshape({50, 40, 2, 3, 1})).flatten(2)}) {
    Tensor sums = sum(y, {2});
    EXPECT_TRUE(equal(logical_or(eq(sums, 0), eq(sums, 12)).to(DType::kF32), ones({50, 40})));
    EXPECT_NEAR(mean_of(y), 1, 0.06);
  }
}

// Mean 0 and variance 1 in, the same out; what is dropped takes one value.
TEST(Layers, AlphaDropoutKeepsMeanAndVariance) {
  manual_seed(4);
  Tensor x = randn({300, 400, 2});
  nn::AlphaDropout each(0.2);
  nn::FeatureAlphaDropout channels(0.2);
  for (const Tensor& y : {each(x), channels(x)}) {
    EXPECT_NEAR(mean_of(y), 0, 0.01);
    EXPECT_NEAR(std_of(y), 1, 0.01);
  }
  Tensor y = each(zeros({300, 300})), z = channels(zeros({100, 100, 2}));
  EXPECT_NEAR(mean_of(eq(y, min(y))), 0.2, 0.01);
  EXPECT_NEAR(mean_of(eq(z, min(z))), 0.2, 0.02);
  EXPECT_TRUE(equal(z.select(2, 0), z.select(2, 1)));  // a channel is dropped whole
  each.eval();
  EXPECT_TRUE(equal(each(x), x));
  EXPECT_EQ(sum(abs(alpha_dropout(x, 1, true))).item(), 0);
}

TEST(Layers, RReLUDrawsSlopes) {
  manual_seed(5);
  nn::RReLU r(0.1, 0.3);
  Tensor x = full({200, 300}, -1);
  Tensor slopes = neg(r(x));
  EXPECT_NEAR(mean_of(slopes), 0.2, 0.001);
  EXPECT_NEAR(std_of(slopes), 0.2 / std::sqrt(12.0), 0.001);
  EXPECT_GE(min(slopes).item(), 0.1F);
  EXPECT_LE(max(slopes).item(), 0.3F);
  EXPECT_TRUE(equal(r(ones({5})), ones({5})));
  r.eval();
  EXPECT_NEAR(mean_of(r(x)), -0.2, 1e-6);
}

TEST(Layers, BatchNormModes) {
  manual_seed(6);
  nn::BatchNorm1d bn(3);
  Tensor x = randn({64, 3}) * 2 + 5;
  Tensor y = bn(x);  // by the batch
  EXPECT_NEAR(mean_of(y), 0, 1e-6);
  EXPECT_NEAR(std_of(y), 1, 0.01);
  bn.eval();
  Tensor before = bn.running_mean.clone(), z = bn(x);  // by a running mean a tenth of the way
  EXPECT_NEAR(mean_of(z), mean_of(x - before) / std::sqrt(0.9 + 0.1 * 4), 0.3);
  EXPECT_TRUE(equal(bn.running_mean, before));
  bn.train();
  bn(x);
  EXPECT_FALSE(equal(bn.running_mean, before));
  EXPECT_EQ(bn.num_batches_tracked.item_int(), 2);
}

// Without momentum the statistics are plain averages of all batches.
// The last batch of a filtered data set may be empty: NaN would stay in the statistics for good.
TEST(Layers, AnEmptyBatchLeavesRunningStatisticsAsTheyAre) {
  nn::BatchNorm2d batch(3), averaging(3, 1e-5, std::nullopt);
  nn::InstanceNorm2d instance(3, 1e-5, 0.1, false, true);
  const Tensor x = randn({4, 3, 2, 2}), none = zeros({0, 3, 2, 2});
  for (nn::Module* m : {static_cast<nn::Module*>(&batch), static_cast<nn::Module*>(&averaging),
                        static_cast<nn::Module*>(&instance)}) {
    (*m)(x);
    const Tensor mean = m->get_buffer("running_mean").clone(),
                 var = m->get_buffer("running_var").clone();
    EXPECT_EQ((*m)(none).raw_shape(), none.raw_shape());
    EXPECT_TRUE(equal(m->get_buffer("running_mean"), mean)) << m->kind();
    EXPECT_TRUE(equal(m->get_buffer("running_var"), var)) << m->kind();
  }
}

TEST(Layers, BatchNormWithoutMomentumAverages) {
  nn::BatchNorm1d bn(1, 1e-5, std::nullopt);
  double mean_sum = 0;
  for (int i = 0; i < 5; ++i) {
    Tensor x = number({4, 1}, i).to(DType::kF32);
    bn(x);
    mean_sum += mean_of(x);
    EXPECT_NEAR(bn.running_mean.item(), mean_sum / (i + 1), 1e-6);
  }
}

int64_t parameters_of(const nn::Module& m) {
  int64_t count = 0;
  for (const Tensor& p : m.parameters()) count += p.numel();
  return count;
}

// The parameters that weight sharing saves on a 32x32 image of three channels.
TEST(Layers, ConvolutionsShareWeights) {
  EXPECT_EQ(parameters_of(nn::Conv2d(3, 32, 3)), 896);
  EXPECT_EQ(parameters_of(nn::Linear(3 * 32 * 32, 32)), 98336);
  EXPECT_EQ(parameters_of(nn::Conv2d(32, 32, 3, {.groups = 32, .bias = false})), 32 * 9);
  EXPECT_EQ(parameters_of(nn::BatchNorm2d(32)), 64);
  EXPECT_EQ(parameters_of(nn::MaxPool2d(2)), 0);
}

TEST(Layers, ReprOfNumbers) {
  EXPECT_EQ(nn::repr_float(1), "1.0");
  EXPECT_EQ(nn::repr_float(1e-5), "1e-05");
  EXPECT_EQ(nn::repr_float(0.0001), "0.0001");
  EXPECT_EQ(nn::repr_float(1e16), "1e+16");
  EXPECT_EQ(nn::repr_float(-2.5e-7), "-2.5e-07");
  EXPECT_EQ(nn::repr_float(123456789), "123456789.0");
  EXPECT_EQ(nn::repr_float(HUGE_VAL), "inf");
  EXPECT_EQ(nn::repr_number(20), "20");
}

template <class F>
void refused(const F& f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "no error: " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Layers, BadArgumentsAreRefused) {
  refused([] { nn::Linear(-1, 2); }, "[Linear] in_features must be >= 0, got -1");
  refused([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }, "channels 3 -> 4 do not divide into 2");
  refused([] { nn::Conv2d(2, 4, {3, 0}); }, "[Conv2d] kernel_size must be >= 1, got 0");
  refused([] { nn::Conv2d(2, 4, 3, {.padding = -1}); }, "padding must be >= 0");
  refused([] { nn::Conv2d(2, 4, 3, {.stride = 2, .padding = "same"}); }, "needs stride 1, got 2");
  refused([] { nn::Conv1d(2, 4, 3, {.padding = "full"}); }, "got \"full\"");
  refused([] { nn::Conv1d(2, 4, 3, {.padding_mode = "mirror"}); }, "got \"mirror\"");
  refused([] { nn::Dropout(1.5); }, "[Dropout] p must be in [0, 1], got 1.5");
  refused([] { nn::Dropout(std::nan("")); }, "got nan");
  refused([] { nn::Hardtanh(2, 1); }, "min_val 2.0 must be below max_val 1.0");
  refused([] { nn::GELU("erf"); }, "got \"erf\"");
  refused([] { nn::GroupNorm(3, 4); }, "4 channels do not divide into 3 groups");
  refused([] { nn::GroupNorm(3, 0); }, "num_channels must be >= 1, got 0");
  refused([] { nn::BatchNorm2d(0); }, "num_features must be >= 1");
  refused([] { nn::BatchNorm2d(3, -1e-5); }, "[BatchNorm2d] eps must not be negative");
  refused([] { nn::InstanceNorm1d(3, std::nan("")); }, "[InstanceNorm1d] eps must not be");
  refused([] { nn::MaxPool2d(2, std::nullopt, 2); }, "at most half the kernel, got 2");
  refused([] { nn::AdaptiveAvgPool1d(0); }, "output_size must be >= 1");
  refused([] { nn::ReflectionPad2d({1, 2, 3}); }, "one number or 4, got 3");
  refused([] { nn::BatchNorm2d(3)(ones({2, 3})); }, "[BatchNorm2d] takes 4 dimensions, got [2,3]");
  refused([] { nn::BatchNorm1d(3)(ones({2, 4})); }, "has 3 channels, dimension 1 of the input");
  refused([] { nn::BatchNorm1d(3)(ones({1, 3})); }, "more than one value a channel");
  refused([] { nn::ConstantPad1d(1, 0)(ones({2, 3, 4, 5})); }, "takes 2 or 3 dimensions");
  refused([] { nn::ReflectionPad1d(4)(ones({1, 1, 4})); }, "a reflect pad of 4 does not fit");
  refused([] { nn::LPPool1d(0, 2)(ones({1, 1, 4})); }, "norm_type must not be 0");
  refused(
      [] {
        nn::Upsample({.scale_factor = {2}, .mode = "bicubic"})(ones({1, 1, 4}));
      },
      "got \"bicubic\"");
  refused(
      [] {
        nn::MaxUnpool1d(2)(ones({1, 1, 2}), tensor<int64_t>({0, 9}).reshape({1, 1, 2}));
      },
      "index 9 of element 1 is not in the output's 4 places");
  refused([] { nn::Unflatten(1, {2, 2})(ones({2, 6})); }, "[unflatten]");
  refused([] { rrelu(ones({2}), 1, 0.5, true); }, "needs finite lower <= upper");
}

}  // namespace
}  // namespace wick
