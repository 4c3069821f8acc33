// Rewrites before quantization, and bias correction after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "quantize/passes/insert_qdq.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

ValueId batch_norm(Builder& b, ValueId x, int64_t channels, const std::string& name) {
  HostTensor var = noise({channels}, 77);
  for (int64_t i = 0; i < channels; ++i) var.as<float>()[i] = std::fabs(var.as<float>()[i]) + 0.1F;
  return b.g.emit(OpId::kBatchNorm, BatchNormAttrs{1e-5},
                  {x, b.weight({channels}, name + ".weight"), b.weight({channels}, name + ".bias"),
                   b.weight({channels}, name + ".running_mean"), b.g.add_constant(var)},
                  name);
}

void expect_near(const Graph& want, const Graph& got, double relative) {
  for (const Batch& batch : noise_batches(want, 2)) {
    const auto a = run_batch(want, batch), b = run_batch(got, batch);
    for (size_t k = 0; k < a.size(); ++k) {
      double most = 0, apart = 0;
      for (int64_t i = 0; i < a[k].numel(); ++i) {
        most = std::max(most, std::fabs(static_cast<double>(a[k].as<float>()[i])));
        apart = std::max(apart,
                         std::fabs(static_cast<double>(a[k].as<float>()[i]) - b[k].as<float>()[i]));
      }
      EXPECT_LE(apart, relative * most);
    }
  }
}
void expect_same_bits(const Graph& want, const Graph& got) {
  for (const Batch& batch : noise_batches(want, 2)) {
    const auto a = run_batch(want, batch), b = run_batch(got, batch);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(a[k], b[k]));
  }
}

TEST(FoldBatchNorm, GoesIntoConvAndLinear) {
  Builder b;
  ValueId h = b.input("x", {2, 4, 6, 6});
  h = b.op(OpId::kRelu, {batch_norm(b, b.conv(h, 6, 4, 3, "c1", 1, false), 6, "bn1")}, "r1");
  h = batch_norm(b, b.conv(h, 6, 6, 3, "dw", 6), 6, "bn2");
  h = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {h});
  b.g.add_output("y", batch_norm(b, b.linear(h, 5, 216, "fc"), 5, "bn3"));
  ir::PassReport report;
  const Graph g = prepare(b.g, Recipe{}, &report);
  EXPECT_EQ(count(g, OpId::kBatchNorm), 0);
  EXPECT_EQ(report.numerics, ir::Numerics::kReassociates);
  EXPECT_THAT(report.changed, ElementsAre("fold_batch_norm"));
  expect_near(b.g, g, 1e-5);
  Recipe off;
  off.fold_batch_norm = false;
  EXPECT_EQ(count(prepare(b.g, off, &report), OpId::kBatchNorm), 3);
  EXPECT_EQ(report.numerics, ir::Numerics::kExact);
}

TEST(FoldBatchNorm, StaysWhereOthersSeeTheLayer) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 6, 6});
  const ValueId c = b.conv(x, 4, 4, 1, "c");
  b.g.add_output("y", batch_norm(b, c, 4, "bn"));
  b.g.add_output("z", b.op(OpId::kRelu, {c}, "r"));
  b.g.add_output("w", batch_norm(b, b.op(OpId::kRelu, {x}, "r2"), 4, "alone"));
  Graph g = b.g;
  EXPECT_FALSE(fold_batch_norm(g));
  EXPECT_EQ(ir::print(g), ir::print(b.g));
}

TEST(FoldBatchNorm, LeavesLayersWithoutChannels) {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  b.g.add_output("y", batch_norm(b, b.linear(x, 0, 3, "fc"), 0, "bn"));
  Graph g = b.g;
  EXPECT_FALSE(fold_batch_norm(g));
  EXPECT_EQ(ir::print(g), ir::print(b.g));
}

TEST(MatMulToLinear, KeepsTheBits) {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 7});
  const ValueId m = b.op(OpId::kMatMul, {x, b.weight({7, 6}, "w")}, "m");
  const ValueId y = b.op(OpId::kAdd, {b.weight({6}, "bias"), m}, "add");
  b.g.add_output("y", y);
  b.g.add_output("z", b.op(OpId::kMatMul, {y, b.weight({6, 3}, "w2")}, "m2"));
  ir::PassReport report;
  const Graph g = prepare(b.g, Recipe{}, &report);
  EXPECT_EQ(count(g, OpId::kLinear), 2);
  EXPECT_EQ(count(g, OpId::kMatMul) + count(g, OpId::kAdd), 0);
  EXPECT_EQ(report.numerics, ir::Numerics::kExact);
  expect_same_bits(b.g, g);
}

TEST(MatMulToLinear, LeavesOtherAdds) {
  Builder b;
  const ValueId x = b.input("x", {6, 6});
  const ValueId m = b.op(OpId::kMatMul, {x, b.weight({6, 6}, "w")}, "m");
  b.g.add_output("y", b.op(OpId::kAdd, {m, b.weight({6, 1}, "column")}, "add"));
  Graph g = b.g;
  EXPECT_TRUE(matmul_to_linear(g));
  EXPECT_EQ(count(g, OpId::kAdd), 1);
  expect_same_bits(b.g, g);
}

// The pieces of each activation, in the forms that files have.
TEST(FuseActivations, FindsThePieces) {
  struct Form {
    OpId want;
    std::function<ValueId(Builder&, ValueId)> build;
  };
  const auto number = [](Builder& b, float v) {
    return b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{v}));
  };
  const auto erf1 = [&](Builder& b, ValueId x) {
    const ValueId e = b.op(OpId::kErf, {b.op(OpId::kDiv, {x, number(b, 1.41421356F)}, "")}, "");
    return b.op(OpId::kAdd, {e, number(b, 1)}, "");
  };
  const auto clip3 = [&](Builder& b, ValueId x) {
    return b.g.emit(OpId::kClip, ClipAttrs{0, 6}, {b.op(OpId::kAdd, {x, number(b, 3)}, "")});
  };
  const auto mul = [](Builder& b, ValueId x, ValueId y) { return b.op(OpId::kMul, {x, y}, ""); };
  const std::vector<Form> forms = {
      {OpId::kSilu,
       [&](Builder& b, ValueId x) { return mul(b, x, b.op(OpId::kSigmoid, {x}, "")); }},
      {OpId::kSilu,
       [&](Builder& b, ValueId x) { return mul(b, b.op(OpId::kSigmoid, {x}, ""), x); }},
      {OpId::kGelu,
       [&](Builder& b, ValueId x) { return mul(b, mul(b, x, erf1(b, x)), number(b, 0.5F)); }},
      {OpId::kGelu,
       [&](Builder& b, ValueId x) { return mul(b, mul(b, x, number(b, 0.5F)), erf1(b, x)); }},
      {OpId::kGelu,
       [&](Builder& b, ValueId x) { return mul(b, mul(b, number(b, 0.5F), erf1(b, x)), x); }},
      {OpId::kHardSwish,
       [&](Builder& b, ValueId x) {
         return b.op(OpId::kDiv, {mul(b, x, clip3(b, x)), number(b, 6)}, "");
       }},
      {OpId::kHardSwish,
       [&](Builder& b, ValueId x) {
         return mul(b, x, b.op(OpId::kDiv, {clip3(b, x), number(b, 6)}, ""));
       }},
      {OpId::kHardSigmoid,
       [&](Builder& b, ValueId x) {
         return b.op(OpId::kDiv, {clip3(b, x), number(b, 6)}, "");
       }},
  };
  for (size_t i = 0; i < forms.size(); ++i) {
    Builder b;
    const ValueId x = b.input("x", {4, 9});
    b.g.add_output("y", forms[i].build(b, x));
    const Graph g = prepare(b.g, Recipe{});
    EXPECT_EQ(count(g, forms[i].want), 1) << i;
    EXPECT_EQ(g.node_count(), 1U) << i;
    expect_near(b.g, g, 1e-6);
    Recipe dynamic;
    dynamic.mode = Mode::kDynamic;
    EXPECT_GT(prepare(b.g, dynamic).node_count(), 1U);
  }
}

// As trainers and readers of before wrote it: by either sign, the product in either order.
TEST(FuseActivations, FindsPRelu) {
  for (const OpId by : {OpId::kLess, OpId::kLessOrEqual, OpId::kGreater, OpId::kGreaterOrEqual}) {
    for (const bool slope_first : {false, true}) {
      Builder b;
      const ValueId x = b.input("x", {2, 4, 5, 5}), slope = b.weight({4, 1, 1}, "slope");
      const ValueId zero = b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{0}));
      const ValueId c = b.op(by, {x, zero}, "");
      const ValueId scaled =
          slope_first ? b.op(OpId::kMul, {slope, x}, "") : b.op(OpId::kMul, {x, slope}, "");
      const bool below = by == OpId::kLess || by == OpId::kLessOrEqual;
      b.g.add_output("y", b.op(OpId::kWhere, {c, below ? scaled : x, below ? x : scaled}, ""));
      const Graph g = prepare(b.g, Recipe{});
      EXPECT_EQ(count(g, OpId::kPRelu), 1);
      EXPECT_EQ(g.node_count(), 1U);
      expect_same_bits(b.g, g);
    }
  }
  Builder b;  // another value's sign, and a slope that is wider than x
  const ValueId x = b.input("x", {4, 1}), z = b.input("z", {4, 1}), slope = b.weight({3}, "slope");
  const ValueId zero = b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{0}));
  const ValueId wide = b.op(OpId::kMul, {x, slope}, ""), own = b.op(OpId::kMul, {x, zero}, "");
  b.g.add_output("wide", b.op(OpId::kWhere, {b.op(OpId::kLess, {x, zero}, ""), wide, x}, ""));
  b.g.add_output("z", b.op(OpId::kWhere, {b.op(OpId::kLess, {z, zero}, ""), own, x}, ""));
  Graph g = b.g;
  EXPECT_FALSE(fuse_activations(g));
}

TEST(FuseActivations, LeavesOtherFunctions) {
  Builder b;
  const ValueId x = b.input("x", {4, 9}), z = b.input("z", {4, 9});
  const ValueId s = b.op(OpId::kSigmoid, {x}, "s");
  b.g.add_output("gate", b.op(OpId::kMul, {z, s}, "gate"));  // gates another value
  const ValueId t = b.op(OpId::kSigmoid, {z}, "t");
  b.g.add_output("silu", b.op(OpId::kMul, {z, t}, "silu"));
  b.g.add_output("t", t);  // somebody sees the piece
  const ValueId four = b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{4}));
  const ValueId c = b.g.emit(OpId::kClip, ClipAttrs{0, 6}, {b.op(OpId::kAdd, {x, four}, "")});
  b.g.add_output(
      "c",
      b.op(OpId::kDiv, {c, b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{6}))}, ""));
  Graph g = b.g;
  EXPECT_FALSE(fuse_activations(g));
}

// A net whose channels have very different ranges, layer by layer.
Builder uneven() {
  Builder b;
  ValueId h = b.input("x", {2, 4, 8, 8});
  h = b.op(OpId::kRelu, {b.conv(h, 8, 4, 3, "first")}, "r1");
  h = b.g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.1}, {b.conv(h, 8, 8, 3, "depthwise", 8)}, "r2");
  PoolAttrs pool;
  pool.kernel_shape = {2, 2}, pool.strides = {2, 2};
  h = b.g.emit(OpId::kMaxPool, pool, {h}, "pool");
  h = b.op(OpId::kPRelu, {b.conv(h, 8, 8, 1, "grouped", 2), b.weight({8, 1, 1}, "slope")}, "r3");
  h = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {h}, "flat");
  h = b.op(OpId::kRelu, {b.linear(h, 6, 128, "fc1")}, "r4");
  b.g.add_output("y", b.linear(h, 5, 6, "fc2"));
  for (const ir::Node& n : b.g.nodes()) {
    if (n.op != OpId::kConv && n.name != "fc1") continue;
    HostTensor& w = b.g.value(n.inputs[1]).constant;
    HostTensor& bias = b.g.value(n.inputs[2]).constant;
    const int64_t channels = bias.numel(), each = w.numel() / channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float f = std::pow(3.0F, static_cast<float>(c % 5) - 2);
      for (int64_t i = 0; i < each; ++i) w.as<float>()[c * each + i] *= f;
      bias.as<float>()[c] *= f;
    }
  }
  return b;
}

TEST(Equalize, KeepsTheFunctionsBits) {
  const Builder b = uneven();
  Recipe r;
  r.equalize = true;
  ir::PassReport report;
  const Graph g = prepare(b.g, r, &report);
  EXPECT_THAT(report.changed, ElementsAre("equalize"));
  EXPECT_EQ(report.numerics, ir::Numerics::kExact);
  EXPECT_NE(ir::print(g, true), ir::print(b.g, true));
  expect_same_bits(b.g, g);
}

// A channel whose numbers would leave float32's range, or lose digits among the smallest, stays.
TEST(Equalize, LeavesNumbersAtTheEndsOfFloat32) {
  for (const float odd : {3e38F, 1.4e-45F, 1.5e-38F}) {
    Builder b;
    const ValueId x = b.input("x", {2, 4});
    const ValueId h = b.op(OpId::kRelu, {b.linear(x, 3, 4, "a")}, "relu");
    b.g.add_output("y", b.linear(h, 2, 3, "b"));
    HostTensor& w = b.g.value(b.g.node(0).inputs[1]).constant;
    HostTensor& bias = b.g.value(b.g.node(0).inputs[2]).constant;
    for (int i = 0; i < 8; ++i) w.as<float>()[i] *= odd > 1 ? 1e-3F : 1e3F;  // of 12
    (odd > 1 ? bias.as<float>()[1] : w.as<float>()[5]) = odd;
    Graph g = b.g;
    ASSERT_TRUE(equalize(g));  // the other one
    const HostTensor& moved = g.value(g.node(0).inputs[1]).constant;
    EXPECT_NE(moved.as<float>()[0], w.as<float>()[0]);
    for (int i = 4; i < 8; ++i) EXPECT_EQ(moved.as<float>()[i], w.as<float>()[i]) << odd;
    EXPECT_EQ(g.value(g.node(0).inputs[2]).constant.as<float>()[1], bias.as<float>()[1]) << odd;
    expect_same_bits(b.g, g);
  }
}

// The ratio of the largest to the smallest channel of what a node makes.
double unevenness(const Graph& g, const std::string& node) {
  std::vector<float> most;
  ir::InterpreterOptions o;
  o.after_node = [&](ir::NodeId id, Span<const HostTensor> out) {
    if (g.node(id).name != node) return;
    const Shape& s = out[0].shape();
    most.assign(static_cast<size_t>(s[1]), 0);
    const int64_t inner = s[2] * s[3];
    for (int64_t i = 0; i < out[0].numel(); ++i) {
      float& m = most[static_cast<size_t>(i / inner % s[1])];
      m = std::max(m, std::fabs(out[0].as<float>()[i]));
    }
  };
  ir::run(g, graph_inputs(g, noise_batches(g, 1)[0], 0), o);
  const auto [lo, hi] = std::minmax_element(most.begin(), most.end());
  return *hi / *lo;
}

TEST(Equalize, MakesChannelsAlike) {
  const Builder b = uneven();
  Graph g = b.g;
  ASSERT_TRUE(equalize(g));
  for (const char* node : {"first", "depthwise", "grouped"}) {
    EXPECT_GT(unevenness(b.g, node), 8) << node;
    EXPECT_LT(unevenness(g, node), unevenness(b.g, node) / 2) << node;
  }
  Graph again = g;
  EXPECT_FALSE(equalize(again));
  // Equalization's purpose: with one scale a tensor the result is nearer.
  Recipe r;
  r.per_channel = false;
  const auto error = [&](const Graph& from) {
    const Batches batches = batches_of(noise_batches(from, 4));
    const Graph q = quantize_static(from, calibrate(from, batches, r), r).graph;
    const Batch batch = noise_batches(from, 1)[0];
    return sqnr(run_batch(from, batch)[0], run_batch(q, batch)[0]);
  };
  EXPECT_GT(error(g), error(b.g) + 3);
}

TEST(Equalize, StopsAtWhatIsNotHomogeneous) {
  for (const OpId op : {OpId::kSigmoid, OpId::kClip, OpId::kGelu}) {
    Builder b;
    const ValueId x = b.input("x", {2, 4, 8, 8});
    const ValueId h = b.conv(x, 4, 4, 3, "a");
    const ValueId mid = op == OpId::kClip   ? b.g.emit(op, ClipAttrs{0, 6}, {h})
                        : op == OpId::kGelu ? b.g.emit(op, GeluAttrs{}, {h})
                                            : b.op(op, {h}, "mid");
    b.g.add_output("y", b.conv(mid, 4, 4, 1, "b"));
    Graph g = b.g;
    for (int i = 0; i < 36; ++i) g.value(g.node(0).inputs[1]).constant.as<float>()[i] *= 100;
    EXPECT_FALSE(equalize(g));
  }
  // a residual, a shared weight, an output of the graph
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  const ValueId h = b.conv(x, 4, 4, 1, "a"), r = b.op(OpId::kRelu, {h}, "r");
  b.g.add_output("y", b.op(OpId::kAdd, {b.conv(r, 4, 4, 1, "b"), r}, "sum"));
  for (int i = 0; i < 4; ++i) b.g.value(b.g.node(0).inputs[1]).constant.as<float>()[i] *= 100;
  EXPECT_FALSE(equalize(b.g));
}

// The mean of each channel of the first output over the batches.
std::vector<double> means(const Graph& g, const std::vector<Batch>& batches) {
  std::vector<double> sums;
  int64_t count = 0;
  for (const Batch& b : batches) add_channel_sums(run_batch(g, b)[0], 1, &sums, &count);
  for (double& s : sums) s /= static_cast<double>(count);
  return sums;
}

TEST(BiasCorrection, BringsTheMeansBack) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  const ValueId h = b.op(OpId::kRelu, {b.conv(x, 8, 4, 3, "a", 1, false)}, "r");
  b.g.add_output("y", b.conv(b.op(OpId::kRelu, {b.conv(h, 8, 8, 3, "b")}, "r2"), 6, 8, 3, "c"));
  Recipe r;
  r.weight = DType::kI4;  // coarse, so that there is something to correct
  const std::vector<Batch> batches = noise_batches(b.g, 4);
  const auto apart = [&](bool correct) {
    r.bias_correction = correct;
    const Batches source = batches_of(batches);
    const QuantizeResult q = quantize_static(b.g, calibrate(b.g, source, r), r, source);
    const std::vector<double> want = means(b.g, batches), got = means(q.graph, batches);
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::fabs(want[i] - got[i]));
    return worst;
  };
  const double before = apart(false), after = apart(true);
  EXPECT_GT(before, 0.02);
  EXPECT_LT(after, before / 8);  // the output's own rounding causes the rest
}

TEST(BiasCorrection, GivesABiasWhereThereIsNone) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  b.g.add_output("y", b.conv(x, 8, 4, 3, "a", 1, false));
  Recipe r;
  r.bias_correction = true, r.correction_batches = 2;
  const Batches source = batches_of(noise_batches(b.g, 3));
  const QuantizeResult q = quantize_static(b.g, calibrate(b.g, source, r), r, source);
  for (const ir::Node& n : q.graph.nodes()) {
    if (n.op != OpId::kConv) continue;
    EXPECT_EQ(n.inputs.size(), 3U);
  }
  EXPECT_THAT(error_of([&] { quantize_static(b.g, calibrate(b.g, source, r), r); }),
              HasSubstr("[bias_correction] it needs the calibration's batches"));
  EXPECT_THAT(error_of([&] { quantize_static(b.g, calibrate(b.g, source, Recipe{}), r, source); }),
              HasSubstr("made by a recipe without it"));
}

}  // namespace
}  // namespace wick::quantize
