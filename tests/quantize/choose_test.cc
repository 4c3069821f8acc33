// The ways to choose ranges that are tried, and layers of several widths under a budget.
#include "quantize/choose/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "exporter/include/wick/compile.h"
#include "quantize/choose/mixed.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

// Three convolutions and a classifier that do not look at the third channel of their input, where
// one number is far from all others: ranges of all that was seen are bad ones.
Builder net() {
  Builder b;
  const ValueId x = b.input("x", {4, 3, 24, 24});
  ValueId h = b.op(OpId::kRelu, {b.conv(x, 8, 3, 3, "c1")}, "r1");
  h = b.op(OpId::kRelu, {b.conv(h, 8, 8, 3, "c2")}, "r2");
  h = b.op(OpId::kRelu, {b.conv(h, 8, 8, 3, "c3")}, "r3");
  h = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {h}, "flat");
  b.g.add_output("y", b.linear(h, 10, 8 * 24 * 24, "fc"));
  for (size_t v = 0; v < b.g.value_count(); ++v) {
    ir::Value& value = b.g.value(static_cast<ValueId>(v));
    if (value.name != "c1.weight") continue;
    for (int i = 0; i < 8 * 3 * 9; ++i) value.constant.as<float>()[i] *= i / 9 % 3 == 2 ? 0.F : 1.F;
  }
  return b;
}
std::vector<Batch> outliers(const Graph& g, int count) {
  std::vector<Batch> all = noise_batches(g, count);
  all[0]["x"].as<float>()[2 * 24 * 24 + 77] = 40;
  return all;
}
double mean_db(const Graph& g, const Graph& q, const std::vector<Batch>& all) {
  std::vector<HostTensor> want, got;
  double signal = 0, error = 0;
  for (const Batch& b : all) {
    const HostTensor w = run_batch(g, b)[0], r = run_batch(q, b)[0];
    for (int64_t i = 0; i < w.numel(); ++i) {
      const double e = static_cast<double>(w.as<float>()[i]) - r.as<float>()[i];
      signal += static_cast<double>(w.as<float>()[i]) * w.as<float>()[i], error += e * e;
    }
  }
  return 10 * std::log10(signal / error);
}

TEST(Choose, IsAsGoodAsEveryFixedRecipe) {
  const Builder b = net();
  const std::vector<Batch> all = outliers(b.g, 4);
  const Graph g = prepare(b.g, Recipe());
  const Choice c = choose(g, Recipe(), batches_of(all));
  EXPECT_GE(c.tried.size(), 11U);
  const double chosen = c.tried[c.best].sqnr_db;
  EXPECT_NEAR(mean_db(g, c.result.graph, all), chosen, 1e-6);
  std::set<std::string> texts;
  for (const Trial& t : c.tried) {
    EXPECT_LE(t.sqnr_db, chosen);
    texts.insert(t.text());
  }
  EXPECT_EQ(texts.size(), c.tried.size());
  double plain = 0;
  for (const ObserverKind kind :
       {ObserverKind::kMinMax, ObserverKind::kMovingAverage, ObserverKind::kPercentile,
        ObserverKind::kEntropy, ObserverKind::kMse}) {
    for (const bool correct : {false, true}) {
      for (const bool equal : {false, true}) {
        Recipe r;
        r.activation_observer.kind = kind;
        r.bias_correction = correct, r.equalize = equal;
        const double fixed = mean_db(g, quantize(b.g, r, batches_of(all)).graph, all);
        EXPECT_GE(chosen, fixed - 0.3) << observer_name(kind) << correct << equal;
        if (kind == ObserverKind::kMinMax && !correct && !equal) plain = fixed;
      }
    }
  }
  EXPECT_GT(chosen, plain + 3);
}

// One run over the data gives each observer what a run of its own does.
TEST(Choose, ObserversShareARunOverTheData) {
  const Builder b = net();
  const Batches all = batches_of(outliers(b.g, 3));
  const Graph g = prepare(b.g, Recipe());
  std::vector<ObserverSpec> specs(3);
  specs[0].kind = ObserverKind::kMovingAverage;
  specs[1].kind = ObserverKind::kPercentile;
  specs[2].kind = ObserverKind::kMse;
  const std::vector<Calibration> together = calibrate_all(g, all, Recipe(), specs);
  for (size_t i = 0; i < specs.size(); ++i) {
    Recipe r;
    r.activation_observer = specs[i];
    const Calibration alone = calibrate(g, all, r);
    ASSERT_EQ(alone.params.size(), together[i].params.size());
    for (const auto& [v, q] : alone.params) {
      EXPECT_EQ(q.scale, together[i].params.at(v).scale);
      EXPECT_EQ(q.zero_point, together[i].params.at(v).zero_point);
    }
  }
}

TEST(Choose, TheScoreDecides) {
  const Builder b = net();
  const Graph g = prepare(b.g, Recipe());
  ChooseOptions o;
  int asked = 0;
  o.score = [&](const Graph&) { return ++asked == 3 ? 1.0 : 0.0; };
  const Choice c = choose(g, Recipe(), batches_of(outliers(b.g, 2)), o);
  EXPECT_EQ(c.best, 2U);
  EXPECT_EQ(c.tried[2].score, 1.0);
  EXPECT_EQ(c.recipe.activation_observer.kind, c.tried[2].activations.kind);
}

TEST(Choose, KeepsWhatTheRecipeAsksFor) {
  const Builder b = net();
  Recipe r;
  r.bias_correction = r.equalize = true;
  const Choice c = choose(prepare(b.g, r), r, batches_of(outliers(b.g, 2)));
  for (const Trial& t : c.tried) EXPECT_TRUE(t.bias_correction && t.equalize) << t.text();
  r.mode = Mode::kDynamic;
  EXPECT_THAT(error_of([&] { choose(b.g, r, batches_of({})); }),
              HasSubstr("\"dynamic\" has no ranges of activations"));
}

// The second of four layers has a large weight in each row, which multiplies a number that is
// always 0: with integers little is left of the others.
Builder planted() {
  Builder b;
  const ValueId x = b.input("x", {64, 16});
  const ValueId h1 = b.op(OpId::kRelu, {b.linear(x, 32, 16, "fc1")}, "r1");
  const ValueId h2 = b.op(OpId::kRelu, {b.linear(h1, 32, 32, "fc2")}, "r2");
  const ValueId h3 = b.op(OpId::kRelu, {b.linear(h2, 32, 32, "fc3")}, "r3");
  b.g.add_output("y", b.linear(h3, 10, 32, "fc4"));
  for (size_t v = 0; v < b.g.value_count(); ++v) {
    ir::Value& value = b.g.value(static_cast<ValueId>(v));
    if (value.name == "fc1.weight") {
      for (int i = 0; i < 16; ++i) value.constant.as<float>()[i] = 0;
    } else if (value.name == "fc1.bias") {
      value.constant.as<float>()[0] = -1;
    } else if (value.name == "fc2.weight") {
      for (int row = 0; row < 32; ++row) value.constant.as<float>()[32 * row] = 512;
    }
  }
  return b;
}

// GPTQ is asked for, and takes a run over the data and a factorization of each layer: the way is
// found without it.
TEST(Choose, GptqIsTheLastWayAndIsKept) {
  const Builder b = planted();
  Recipe r;
  r.gptq = true;
  const Graph g = prepare(b.g, r);
  const std::vector<Batch> all = noise_batches(b.g, 2);
  const Choice c = choose(g, r, batches_of(all));
  ASSERT_EQ(c.best, c.tried.size() - 1);
  for (size_t i = 0; i < c.tried.size(); ++i) EXPECT_EQ(c.tried[i].gptq, i == c.best);
  EXPECT_TRUE(c.recipe.gptq);
  EXPECT_THAT(c.tried[c.best].text(), HasSubstr(", GPTQ"));
  double best = -1e9;
  for (size_t i = 0; i + 1 < c.tried.size(); ++i) best = std::max(best, c.tried[i].sqnr_db);
  for (size_t i = 0; i + 1 < c.tried.size(); ++i) {
    const Trial &t = c.tried[i], &kept = c.tried[c.best];
    if (t.sqnr_db < best) continue;
    EXPECT_EQ(kept.text(), t.text() + ", GPTQ");
    break;
  }
  const QuantizeResult again = quantize_static(c.graph, c.calibration, c.recipe, batches_of(all));
  EXPECT_EQ(ir::print(again.graph), ir::print(c.result.graph));
  EXPECT_NEAR(mean_db(g, c.result.graph, all), c.tried[c.best].sqnr_db, 1e-6);
}

// The share of rows whose largest output is the float graph's.
std::function<double(const Graph&)> agreement(const Graph& g, const std::vector<Batch>& all) {
  return [&g, &all](const Graph& q) {
    int64_t same = 0, rows = 0;
    for (const Batch& b : all) {
      const HostTensor want = run_batch(g, b)[0], got = run_batch(q, b)[0];
      for (int64_t r = 0; r < want.shape()[0]; ++r, ++rows) {
        const float *w = want.as<float>() + 10 * r, *y = got.as<float>() + 10 * r;
        same += std::max_element(w, w + 10) - w == std::max_element(y, y + 10) - y ? 1 : 0;
      }
    }
    return static_cast<double>(same) / static_cast<double>(rows);
  };
}

bool wide(Width w) { return w == Width::kF16 || w == Width::kF32; }

TEST(Mixed, KeepsASensitiveLayerWide) {
  const Builder b = planted();
  const std::vector<Batch> all = noise_batches(b.g, 3);
  for (const Mode mode : {Mode::kStatic, Mode::kDynamic}) {
    Recipe r;
    r.mode = mode;
    r.float_output = true;
    const Graph g = prepare(b.g, r);
    EXPECT_LT(mean_db(g, quantize(b.g, r, batches_of(all)).graph, all), 15) << mode_name(mode);
    Budget budget;
    budget.max_bytes = 6000;  // of 11,944 as floats
    const Mixed m = quantize_within(g, r, batches_of(all), budget);
    EXPECT_TRUE(m.met);
    EXPECT_LE(m.points[m.best].bytes, 6000);
    EXPECT_TRUE(wide(m.recipe.widths.at("fc2"))) << mode_name(mode);
    EXPECT_FALSE(wide(m.recipe.widths.at("fc3"))) << mode_name(mode);
    EXPECT_GT(m.points[m.best].sqnr_db, 25) << mode_name(mode);
    EXPECT_NEAR(mean_db(g, m.result.graph, all), m.points[m.best].sqnr_db, 1e-6);
    ASSERT_EQ(m.layers.size(), 4U);
    EXPECT_EQ(m.layers[1].node, "fc2");
    EXPECT_LT(m.layers[1].alone.at(Width::kInt8), m.layers[2].alone.at(Width::kInt8));
    EXPECT_GT(m.layers[1].alone.at(Width::kF16), 50);
  }
}

TEST(Mixed, KeepsTheDropWithFewBytes) {
  const Builder b = planted();
  const std::vector<Batch> all = noise_batches(b.g, 3);
  const Graph g = prepare(b.g, Recipe());
  MixedOptions o;
  o.score = agreement(b.g, all);
  o.float_score = 1;
  Budget budget;
  budget.max_drop = 0.05;
  const Mixed m = quantize_within(g, Recipe(), batches_of(all), budget, o);
  EXPECT_TRUE(m.met);
  EXPECT_LE(*m.points[m.best].drop, 0.05);
  EXPECT_TRUE(wide(m.recipe.widths.at("fc2")));
  for (const MixedPoint& p : m.points) {
    EXPECT_TRUE(!p.fits || p.bytes >= m.points[m.best].bytes) << p.bytes;
  }
  EXPECT_LT(m.points[m.best].bytes, m.points[0].bytes / 2);
}

// A .wick of a static recipe holds int4 weights as int8: they lose accuracy and save nothing.
// Blocks of weights alone do save.
TEST(Mixed, NoWidthIsChosenThatSavesNothing) {
  Builder b;  // of weights over 4 KB, which a compact file does not compress
  const ValueId x = b.input("x", {8, 64});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 128, 64, "fc1")}, "relu");
  b.g.add_output("y", b.linear(h, 64, 128, "fc2"));
  const std::vector<Batch> all = noise_batches(b.g, 2);
  for (const Mode mode : {Mode::kStatic, Mode::kWeightOnly}) {
    Recipe r;
    r.mode = mode;
    r.float_output = true;
    const Graph g = prepare(b.g, r);
    MixedOptions o;
    o.bytes = [&](const QuantizeResult& made) {
      return static_cast<int64_t>(
          compile_program(mode == Mode::kStatic ? ir::lowered(made.graph) : made.graph, {},
                          {.form = {.compact = true}})
              .size());
    };
    Budget budget;
    budget.max_bytes = 1;  // down to the narrowest
    const Mixed m = quantize_within(g, r, batches_of(all), budget, o);
    EXPECT_FALSE(m.met);
    size_t int4 = 0;
    for (const auto& [node, width] : m.recipe.widths) int4 += width == Width::kInt4 ? 1 : 0;
    EXPECT_EQ(int4 > 0, mode == Mode::kWeightOnly) << mode_name(mode);
    for (const LayerCost& layer : m.layers) EXPECT_EQ(layer.alone.count(Width::kInt4), 1U);
  }
}

// A small layer's int4 weights, held as int8, are compressed better: luck of one layer that changes
// next to nothing of the file.
TEST(Mixed, ASmallLayersLuckIsNoSaving) {
  Builder b;
  const ValueId x = b.input("x", {8, 64});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 512, 64, "fc1")}, "relu");
  b.g.add_output("y", b.linear(h, 2, 512, "fc2"));
  const std::vector<Batch> all = noise_batches(b.g, 2);
  Recipe r;
  r.float_output = true;
  const Graph g = prepare(b.g, r);
  MixedOptions o;
  bool lucky = false;
  o.bytes = [&](const QuantizeResult& made) {
    int64_t bytes = 40000;
    for (size_t v = 0; v < made.graph.value_count(); ++v) {
      const HostTensor& t = made.graph.value(static_cast<ValueId>(v)).constant;
      if (!t.present() || t.numel() < 1024) continue;
      const bool small = t.numel() == 1024, int4 = t.dtype() == DType::kI4;
      lucky = lucky || (small && int4);
      bytes += t.dtype() == DType::kF32 ? 4 * t.numel() : small && int4 ? 300 : t.numel();
    }
    return bytes;
  };
  Budget budget;
  budget.max_bytes = 1;  // down to the narrowest
  const Mixed m = quantize_within(g, r, batches_of(all), budget, o);
  EXPECT_TRUE(lucky);
  for (const auto& [node, width] : m.recipe.widths) EXPECT_EQ(width, Width::kInt8) << node;
}

TEST(Mixed, ADropOfTheBudgetIsWithinIt) {
  const Builder b = planted();
  const Graph g = prepare(b.g, Recipe());
  const Batches all = batches_of(noise_batches(b.g, 1));
  MixedOptions o;
  o.score = [](const Graph&) { return 0.8531; };
  o.float_score = 0.8581;  // 0.0050000000000000044 more
  Budget budget;
  budget.max_drop = 0.005;
  EXPECT_TRUE(quantize_within(g, Recipe(), all, budget, o).met);
  budget.max_drop = 0.0049999;
  EXPECT_FALSE(quantize_within(g, Recipe(), all, budget, o).met);
}

// The nodes of one name have widths that each of them can have.
TEST(Mixed, NodesOfOneNameHaveOneWidth) {
  Builder b;
  const ValueId x = b.input("x", {4, 16});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 16, 16, "fc")}, "relu");
  b.g.add_output("y", b.linear(h, 16, 16, "fc"));
  b.g.value(b.g.node(2).inputs[1]).constant.as<float>()[5] = 70000;  // beyond float16
  Recipe r;
  r.float_output = true;
  const Graph g = prepare(b.g, r);
  Budget budget;
  budget.max_bytes = 1;
  const Mixed m = quantize_within(g, r, batches_of(noise_batches(b.g, 1)), budget);
  ASSERT_EQ(m.layers.size(), 1U);
  EXPECT_EQ(m.layers[0].elements, 2 * 16 * 16);
  EXPECT_EQ(m.layers[0].alone.count(Width::kF16), 0U);
  EXPECT_EQ(m.layers[0].alone.count(Width::kInt8), 1U);
}

TEST(Mixed, NamesTheBestWhereNoneFits) {
  const Builder b = planted();
  const std::vector<Batch> all = noise_batches(b.g, 2);
  const Graph g = prepare(b.g, Recipe());
  MixedOptions o;
  o.score = agreement(b.g, all);
  o.float_score = 1;
  Budget budget;
  budget.max_bytes = 1000;
  Mixed m = quantize_within(g, Recipe(), batches_of(all), budget, o);
  EXPECT_FALSE(m.met);
  for (const MixedPoint& p : m.points) EXPECT_GE(p.bytes, m.points[m.best].bytes);
  budget.max_drop = 0.05;
  m = quantize_within(g, Recipe(), batches_of(all), budget, o);
  EXPECT_FALSE(m.met);
  EXPECT_LE(*m.points[m.best].drop, 0.05);
  EXPECT_TRUE(wide(m.recipe.widths.at("fc2")));
}

TEST(Mixed, WeightsAloneAndTables) {
  Builder b;
  const ValueId ids = b.g.add_input("ids", DType::kI64, to_symbolic(Shape{2, 3}));
  const ValueId h =
      b.g.emit(OpId::kGather, AxisAttrs{0}, {b.weight({20, 64}, "table"), ids}, "embed");
  b.g.add_output("y",
                 b.linear(b.op(OpId::kRelu, {b.linear(h, 64, 64, "fc1")}, "relu"), 9, 64, "fc2"));
  Batch batch;
  batch["ids"] = HostTensor::of(Shape{2, 3}, std::vector<int64_t>{0, 5, 19, 3, 3, 1});
  Recipe r;
  r.mode = Mode::kWeightOnly;
  const Graph g = prepare(b.g, r);
  Budget budget;
  budget.max_bytes = 5000;
  const Mixed m = quantize_within(g, r, batches_of({batch}), budget);
  EXPECT_TRUE(m.met);
  EXPECT_EQ(m.layers.size(), 3U);
  EXPECT_EQ(m.layers[0].alone.count(Width::kInt4), 0U);
  EXPECT_EQ(m.layers[1].alone.count(Width::kInt4), 1U);
  EXPECT_EQ(m.recipe.widths.at("fc1"), Width::kInt4);
}

TEST(Mixed, WidthsAreOfNodesAndModes) {
  const Builder b = planted();
  const Batches all = batches_of(noise_batches(b.g, 1));
  Recipe r;
  r.widths["fc9"] = Width::kF32;
  EXPECT_THAT(error_of([&] { quantize(b.g, r, all); }), HasSubstr("\"fc9\", which is no node"));
  r.widths = {{"fc2", Width::kF16}, {"fc3", Width::kInt4}};
  const QuantizeResult q = quantize(b.g, r, all);
  ASSERT_FALSE(q.stayed.empty());
  EXPECT_EQ(q.stayed[0].node, "fc2");
  EXPECT_EQ(q.stayed[0].reason, "the recipe keeps it f16");
  r.mode = Mode::kDynamic;
  EXPECT_THAT(error_of([&] { quantize(b.g, r, all); }), HasSubstr("int8 weights, not int4"));
  for (const Mode mode : {Mode::kQat, Mode::kF16, Mode::kBF16}) {
    r.mode = mode;
    EXPECT_THAT(error_of([&] { check(r); }), HasSubstr("widths of layers are for static"));
  }
  Budget budget;
  budget.max_drop = 1;
  EXPECT_THAT(error_of([&] { quantize_within(b.g, Recipe(), all, budget); }),
              HasSubstr("max_drop needs a score"));
}

}  // namespace
}  // namespace wick::quantize
