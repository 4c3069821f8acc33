// Statistics, the Pareto frontier, suites, and the figures of measure.h against hand calculation.
#include "trainer/profile/benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/profile/models.h"
#include "tests/support/error_of.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/nn/summary.h"
#include "trainer/profile/measure.h"
#include "trainer/profile/profiler.h"

namespace wick {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(BenchmarkResult, FixtureOfFive) {
  const BenchmarkResult r("latency", {2, 4, 4, 5, 10}, "ms");
  EXPECT_EQ(r.mean, 5);
  EXPECT_EQ(r.median, 4);
  EXPECT_EQ(r.std, 3);
  EXPECT_EQ(r.min, 2);
  EXPECT_EQ(r.max, 10);
  EXPECT_EQ(r.count, 5);
  EXPECT_EQ(r.cv(), 0.6);
  // t(4) = 2.776: 5 -+ 2.776 * 3 / sqrt(5)
  EXPECT_NEAR(r.ci_low, 5 - 2.776 * 3 / std::sqrt(5.), 1e-12);
  EXPECT_NEAR(r.ci_high, 8.7244, 1e-3);
  const auto j = nlohmann::json::parse(r.to_dict());
  EXPECT_EQ(j.at("mean"), 5);
  EXPECT_EQ(j.at("std"), 3);
  EXPECT_EQ(j.at("median"), 4);
  EXPECT_EQ(j.at("min"), 2);
  EXPECT_EQ(j.at("max"), 10);
  EXPECT_EQ(j.at("count"), 5);
  EXPECT_EQ(j.at("unit"), "ms");
  EXPECT_EQ(j.at("ci95").size(), 2u);
}

TEST(BenchmarkResult, EvenCountsOnesAndBadValues) {
  EXPECT_EQ(BenchmarkResult("x", {4, 1, 3, 2}).median, 2.5);
  const BenchmarkResult one("x", {7});
  EXPECT_EQ(one.std, 0);
  EXPECT_EQ(one.ci_low, 7);
  EXPECT_EQ(one.ci_high, 7);
  EXPECT_THAT(error_of([] { BenchmarkResult("x", {}); }), HasSubstr("no values"));
  EXPECT_THAT(error_of([] { BenchmarkResult("x", {1, kNaN}); }), HasSubstr("a value is nan"));
  EXPECT_NEAR(student_t95(1000), 1.962, 1e-3);
  EXPECT_NEAR(student_t95(31), 2.040, 1e-3);
  EXPECT_NEAR(student_t95(60), 2.000, 1e-3);
}

TEST(Timing, TimersMeasureWhatRan) {
  Timer around;
  const double s = precise_timer([] {
    Timer t;
    while (t.milliseconds() < 5) {
    }
  });
  EXPECT_GE(s, 0.005);
  EXPECT_LE(s, around.seconds());
}

const std::vector<Better> kLatencyAccuracy = {Better::kLower, Better::kHigher};

TEST(Pareto, DominatedOnesFall) {
  // b is slower and worse than a; c is slower and better
  EXPECT_THAT(
      pareto_frontier({{"a", {10, .90}}, {"b", {12, .85}}, {"c", {20, .95}}}, kLatencyAccuracy),
      ElementsAre(0, 2));
}
TEST(Pareto, OneThatIsBestInAllStandsAlone) {
  EXPECT_THAT(
      pareto_frontier({{"a", {10, .90}}, {"b", {5, .99}}, {"c", {7, .99}}}, kLatencyAccuracy),
      ElementsAre(1));
}
TEST(Pareto, EqualOnesAndTradesStay) {
  EXPECT_THAT(pareto_frontier({{"a", {1, .5, 3}},
                               {"b", {1, .5, 3}},
                               {"c", {2, .6, 3}},
                               {"d", {3, .7, 3}},
                               {"e", {3, .7, 4}}},
                              {Better::kLower, Better::kHigher, Better::kLower}),
              ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(pareto_frontier({}, kLatencyAccuracy).empty());
}
TEST(Pareto, BadScoresAreRefused) {
  EXPECT_THAT(error_of([] {
                pareto_frontier({{"a", {1}}}, kLatencyAccuracy);
              }),
              HasSubstr("'a' has 1 scores for 2 directions"));
  EXPECT_THAT(error_of([] {
                pareto_frontier({{"a", {1, kNaN}}}, kLatencyAccuracy);
              }),
              HasSubstr("a score of nan"));
  EXPECT_THAT(error_of([] { pareto_frontier({{"a", {}}}, {}); }), HasSubstr("no directions"));
}

struct Wide : nn::Module {
  nn::Child<nn::Linear> a{this, "a", 64, 2048}, b{this, "b", 2048, 10};
  Tensor forward(const Arg& x) override { return b(relu(a(x))); }
};

TEST(Suite, ReportsAndMarksTheFrontier) {
  manual_seed(0);
  test::Mlp small;
  Wide wide;
  Tensor x = randn({32, 64}), y = argmax(small(x).detach(), 1);  // the small one is right
  BenchmarkSuite suite(x, y, {.warmup = 1, .runs = 5});
  EXPECT_THAT(error_of([&] { suite.run(); }), HasSubstr("no models"));
  suite.add("small", small);
  suite.add("wide", wide);
  const auto& rows = suite.run();
  EXPECT_EQ(rows[0].accuracy.mean, 1);
  EXPECT_LT(rows[1].accuracy.mean, 1);
  EXPECT_EQ(rows[0].latency.count, 5);
  // 64*32+32 + 32*10+10 floats, and beside them two activations of 32 rows
  EXPECT_GE(rows[0].memory.mean, 4. * (2410 + 32 * 32));
  EXPECT_LT(rows[0].memory.mean, rows[1].memory.mean);
  EXPECT_THAT(suite.pareto(), ElementsAre("small"));
  EXPECT_THAT(suite.report(), HasSubstr("100.00%"));
  EXPECT_EQ(nlohmann::json::parse(suite.to_dict()).at(0).at("on_frontier"), true);
  EXPECT_THAT(error_of([&] { Benchmark("x", small, x, {.warmup = 0, .runs = 0}); }),
              HasSubstr("runs 0"));
}

TEST(Suite, TinyMLPerfHoldsItsTargets) {
  manual_seed(0);
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc{this, "fc", 640, 2};
    Tensor forward(const Arg& x) override { return fc(x); }
  } net;
  Tensor x = randn({16, 640}), y = argmax(net(x).detach(), 1);
  const auto good = TinyMLPerf::run("anomaly_detection", net, x, y, {.warmup = 1, .runs = 3});
  EXPECT_TRUE(good.accuracy_met);
  const auto bad = TinyMLPerf::run("anomaly_detection", net, x, 1 - y, {.warmup = 1, .runs = 3});
  EXPECT_FALSE(bad.accuracy_met);
  EXPECT_FALSE(bad.compliant());
  EXPECT_THAT(TinyMLPerf::report({good, bad}), HasSubstr("FAIL"));
  EXPECT_THAT(error_of([&] { TinyMLPerf::run("poker", net, x, y); }),
              HasSubstr("there are keyword_spotting"));
  EXPECT_THAT(error_of([&] { TinyMLPerf::run("image_classification", net, x, y); }),
              HasSubstr("takes items of [3,32,32], got [16,640]"));
}

// DigitMLP 64-32-10.
TEST(Measure, DigitMlpByHand) {
  manual_seed(0);
  test::Mlp model;
  const Tensor one = randn({1, 64});
  EXPECT_EQ(nn::count_parameters(model), 2410);
  EXPECT_EQ(count_flops(model, one), 4736);  // 2 (64 * 32 + 32 * 10)
  EXPECT_EQ(count_flops(model, randn({7, 64})), 7 * 4736);
  model.requires_grad_("fc1.", false);
  EXPECT_EQ(nn::count_parameters(model, true), 330);
  model.requires_grad_("fc1.", true);
  const MemoryUse use = measure_memory(model, one);
  EXPECT_EQ(use.parameters, 4 * 2410);
  EXPECT_GE(use.activations, 4 * (32 + 10));
  EXPECT_LE(use.activations, 4 * (32 + 32 + 10));
  const LayerProfile l = profile_layer(*model.fc1, one, {.warmup = 1, .runs = 3});
  EXPECT_EQ(l.parameters, 2080);
  EXPECT_EQ(l.layer, "fc1");
  EXPECT_GE(l.flops, 4096);
  EXPECT_GT(l.milliseconds, 0);
#if !defined(__SANITIZE_ADDRESS__)  // which slows what measures the processor
  EXPECT_EQ(l.bound, "memory");     // one row of a matrix product
#endif
}

TEST(Measure, PassesByLayer) {
  manual_seed(0);
  test::Mlp model;
  const Tensor x = randn({16, 64});
  const std::string before = state_sha256(model.state_dict());
  const BenchmarkOptions quick{.warmup = 1, .runs = 2};
  const PassProfile f = profile_forward_pass(model, x, quick);
  // products and biases, and the relu, which no module of its own has
  EXPECT_EQ(f.flops, 16 * (4736 + 32 + 10 + 32));
  ASSERT_EQ(f.layers.size(), 3u);
  const PassProfile b = profile_backward_pass(model, x, quick);
  // fc1 needs no gradient towards x: one product for it, two for fc2
  double products = 0;
  for (const LayerProfile& l : b.layers) products += l.layer.starts_with("fc") ? l.flops : 0;
  EXPECT_GE(products, 16 * (4096 + 2 * 640));
  EXPECT_LT(products, 16 * (4096 + 2 * 640) * 1.1);
  EXPECT_EQ(state_sha256(model.state_dict()), before);
  for (const Tensor& p : model.parameters()) EXPECT_FALSE(p.grad().defined());
  const std::string page = quick_profile(model, x, quick);
  EXPECT_THAT(page, HasSubstr("parameters 2410"));
  EXPECT_THAT(page, HasSubstr("backward: "));
  model.requires_grad_(false);
  EXPECT_THAT(error_of([&] { profile_backward_pass(model, x, quick); }),
              HasSubstr("nothing requires a gradient"));
}

TEST(Measure, Amdahl) {
  EXPECT_NEAR(amdahl_speedup(0.7, 2), 1.538, 1e-3);
  EXPECT_EQ(amdahl_speedup(1, 4), 4);
  EXPECT_EQ(amdahl_speedup(0, 4), 1);
  EXPECT_THAT(error_of([] { amdahl_speedup(1.5, 2); }), HasSubstr("in [0, 1]"));
  EXPECT_THAT(error_of([] { amdahl_speedup(kNaN, 2); }), HasSubstr("in [0, 1]"));
}

// P5-04: gelu(x W + b) in one pass moves what three ops move less four times the result.
TEST(Measure, FusedBiasGeluMovesFewerBytes) {
  const int64_t n = 64, in = 32, out = 128;
  const Tensor x = randn({n, in}), w = randn({out, in}), b = randn({out});
  const double result = 4. * n * out, product = 4. * (n * in + out * in) + result;
  Profiler profiler;
  {
    ProfileRange r("unfused");
    gelu(matmul(x, w.t()) + b);
  }
  {
    ProfileRange r("fused");
    EpilogueAttrs attrs;
    attrs.activation = static_cast<int64_t>(Activation::kGeluErf);
    call(OpId::kFusedLinear, attrs, {x, w, b});
  }
  double bytes[2] = {}, flops[2] = {};
  for (const ProfileSlice& s : profiler.stop().slices) {
    if (s.kind != SliceKind::kKernel) continue;
    const bool fused = s.name == "fused_linear";
    bytes[fused] += s.cost.bytes();
    flops[fused] += 2 * s.cost.macs;
  }
  EXPECT_EQ(bytes[0], product + (2 * result + 4. * out) + 2 * result);
  EXPECT_EQ(bytes[1], product + 4. * out);
  EXPECT_EQ(bytes[0] - bytes[1], 4 * result);
  EXPECT_EQ(flops[0], flops[1]);
}

}  // namespace
}  // namespace wick
