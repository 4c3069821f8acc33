// The insertion of Q/DQ: which op gets integers, which values share a scale, which ops stay float
// and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes/lower_qdq.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::ValueId;
using testing::HasSubstr;

Recipe last_recipe;  // that quantized() used

QuantizeResult quantized(const Graph& g, const Recipe& r = {}, int batches = 3) {
  last_recipe = r;
  const Batches b = batches_of(noise_batches(g, batches));
  return quantize_static(g, calibrate(g, b, r), r, b);
}

const Node& named(const Graph& g, const std::string& name) {
  for (const Node& n : g.nodes()) {
    if (!n.removed() && n.name == name) return n;
  }
  throw Error("no node " + name);
}
const Node& made_by(const Graph& g, ValueId v) { return g.node(g.value(v).producer); }
// Returns whether the value comes through QuantizeLinear and DequantizeLinear.
bool is_dequantized(const Graph& g, ValueId v) {
  return g.value(v).origin == ir::ValueOrigin::kNode && made_by(g, v).op == OpId::kDequantizeLinear;
}
float scale_of(const Graph& g, ValueId dequantized) {
  return g.value(made_by(g, dequantized).inputs[1]).constant.as<float>()[0];
}
// The scale of the integers that the node's result becomes, an activation's included.
float scale_behind(const Graph& g, ValueId v) {
  for (const Node& n : g.nodes()) {
    if (!n.removed() && n.op == OpId::kQuantizeLinear && n.inputs[0] == v)
      return g.value(n.inputs[1]).constant.as<float>()[0];
  }
  return 0;
}
std::string reason(const QuantizeResult& r, const std::string& node) {
  for (const Unquantized& u : r.stayed) {
    if (u.node == node) return u.op + ": " + u.reason;
  }
  return "quantized";
}
// The quantized graph computes nearly the same, and as much of it with integers as the plan says:
// what the plan leaves float may read reals, nothing else.
void expect_close(const Graph& g, const Graph& q, double least_db = 25) {
  ir::LowerReport report;
  const Graph integers = ir::lowered(q, &report);
  const std::vector<Unquantized> planned = plan_quantization(g, last_recipe).stayed(g);
  for (const ir::StayedFloat& s : report.stayed) {
    const bool known = std::any_of(planned.begin(), planned.end(),
                                   [&](const Unquantized& u) { return u.node == s.name; });
    EXPECT_TRUE(known) << s.op << " " << s.name << ": " << s.reason;
  }
  for (const Batch& b : noise_batches(g, 2)) {
    const auto want = run_batch(q, b), got = run_batch(integers, b);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_GT(sqnr(want[i], got[i]), 30);
  }
  for (const Batch& b : noise_batches(g, 2)) {
    const auto want = run_batch(g, b), got = run_batch(q, b);
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(want[i].shape(), got[i].shape());
      EXPECT_GT(sqnr(want[i], got[i]), least_db) << g.outputs()[i].name;
    }
  }
}

TEST(Static, ConvWithReluBecomesOnePattern) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 8, 8});
  const ValueId y = b.op(OpId::kRelu, {b.conv(x, 4, 3, 3, "conv")}, "relu");
  b.g.add_output("y", y);
  const QuantizeResult r = quantized(b.g);
  const Graph& g = r.graph;
  EXPECT_TRUE(r.stayed.empty());
  // x and relu's result: one pair each; weight and bias: DequantizeLinear alone.
  EXPECT_EQ(count(g, OpId::kQuantizeLinear), 2);
  EXPECT_EQ(count(g, OpId::kDequantizeLinear), 4);
  const Node& conv = named(g, "conv");
  for (ValueId v : conv.inputs) EXPECT_TRUE(is_dequantized(g, v));
  EXPECT_EQ(named(g, "relu").inputs[0], conv.outputs[0]);  // nothing between
  EXPECT_EQ(g.value(g.inputs()[0]).dtype, DType::kF32);
  EXPECT_EQ(g.outputs()[0].name, "y");
  EXPECT_TRUE(is_dequantized(g, g.outputs()[0].value));
  // The weight: int8 [M, ...] with M scales and zeros of axis 0; the bias: int32 in units of both.
  const Node& w = made_by(g, conv.inputs[1]);
  const Node& bias = made_by(g, conv.inputs[2]);
  EXPECT_EQ(g.value(w.inputs[0]).dtype, DType::kI8);
  EXPECT_EQ(w.attrs.as<DequantizeAttrs>().axis, 0);
  EXPECT_EQ(g.value(w.inputs[1]).constant.shape(), Shape{4});
  EXPECT_EQ(g.value(w.inputs[2]).constant.shape(), Shape{4});
  EXPECT_EQ(g.value(bias.inputs[0]).dtype, DType::kI32);
  EXPECT_EQ(bias.inputs.size(), 2U);
  const float in = scale_of(g, conv.inputs[0]);
  for (int c = 0; c < 4; ++c) {
    EXPECT_EQ(g.value(bias.inputs[1]).constant.as<float>()[c],
              in * g.value(w.inputs[1]).constant.as<float>()[c]);
  }
  // Relu's result starts at 0: its integers are all above.
  const Node& q = named(g, "relu.quantize");
  EXPECT_EQ(g.value(q.inputs[2]).constant.as<uint8_t>()[0], 0);
  expect_close(b.g, g, 35);
}

TEST(Static, WeightsAndBiasesAreTheNearestIntegers) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 8, 8});
  b.g.add_output("y", b.conv(x, 4, 3, 3, "conv"));
  const Graph g = quantized(b.g).graph;
  const Node& conv = named(g, "conv");
  for (size_t input : {size_t{1}, size_t{2}}) {
    const Node& dq = made_by(g, conv.inputs[input]);
    const HostTensor want = b.g.value(b.g.node(0).inputs[input]).constant,
                     scale = g.value(dq.inputs[1]).constant, q = g.value(dq.inputs[0]).constant;
    const int64_t each = want.numel() / 4;
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double s = scale.as<float>()[i / each];
      const double v = q.dtype() == DType::kI8 ? q.as<int8_t>()[i] : q.as<int32_t>()[i];
      EXPECT_NEAR(v * s, want.as<float>()[i], s * 0.5001);
    }
  }
}

TEST(Static, DepthwiseHasAScaleForEachChannel) {
  Builder b;
  const ValueId x = b.input("x", {2, 6, 8, 8});
  const ValueId h = b.g.emit(OpId::kClip, ClipAttrs{0, 6}, {b.conv(x, 6, 6, 3, "dw", 6)}, "relu6");
  b.g.add_output("y", b.conv(h, 4, 6, 1, "pw"));
  const QuantizeResult r = quantized(b.g);
  const Node& dw = named(r.graph, "dw");
  EXPECT_EQ(r.graph.value(made_by(r.graph, dw.inputs[1]).inputs[1]).constant.shape(), Shape{6});
  EXPECT_EQ(named(r.graph, "relu6").inputs[0], dw.outputs[0]);
  EXPECT_TRUE(r.stayed.empty());
  expect_close(b.g, r.graph);
  Recipe one;
  one.per_channel = false;
  const Graph whole = quantized(b.g, one).graph;
  EXPECT_EQ(whole.value(made_by(whole, named(whole, "dw").inputs[1]).inputs[1]).constant.shape(),
            Shape{});
  expect_close(b.g, whole, 20);
}

TEST(Static, AResidualKeepsEachSidesScale) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 6, 6});
  const ValueId stem = b.op(OpId::kRelu, {b.conv(x, 4, 4, 3, "stem")}, "stem_relu");
  const ValueId branch = b.conv(stem, 4, 4, 3, "branch");
  const ValueId sum = b.op(OpId::kAdd, {branch, stem}, "sum");
  b.g.add_output("y", b.op(OpId::kRelu, {sum}, "out"));
  const QuantizeResult r = quantized(b.g);
  const Graph& g = r.graph;
  const Node& add = named(g, "sum");
  EXPECT_TRUE(is_dequantized(g, add.inputs[0]) && is_dequantized(g, add.inputs[1]));
  EXPECT_NE(scale_of(g, add.inputs[0]), scale_of(g, add.inputs[1]));
  EXPECT_EQ(add.inputs[1], named(g, "branch").inputs[0]);  // the stem's integers, once
  EXPECT_EQ(named(g, "out").inputs[0], add.outputs[0]);    // absorbed
  expect_close(b.g, g);
}

TEST(Static, ConcatAndWhatMovesElementsShareAScale) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  const ValueId left = b.op(OpId::kRelu, {b.conv(x, 4, 4, 1, "left")}, "l"),
                right = b.conv(x, 4, 4, 3, "right");
  const ValueId both = b.g.emit(OpId::kConcat, AxisAttrs{1}, {left, right}, "both");
  PoolAttrs pool;
  pool.kernel_shape = {2, 2}, pool.strides = {2, 2};
  const ValueId small = b.g.emit(OpId::kMaxPool, pool, {both}, "pool");
  const ValueId flat = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {small}, "flat");
  b.g.add_output("y", b.linear(flat, 5, 128, "head"));
  const QuantizeResult r = quantized(b.g);
  const Graph& g = r.graph;
  const float scale = scale_behind(g, named(g, "both").outputs[0]);
  EXPECT_GT(scale, 0);
  for (const char* same : {"l", "right", "pool", "flat"})
    EXPECT_EQ(scale_behind(g, named(g, same).outputs[0]), scale) << same;
  expect_close(b.g, g);
}

TEST(Static, AConcatInputThatOthersReadKeepsItsScale) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  const ValueId first = b.conv(x, 4, 4, 1, "first");
  const ValueId second = b.conv(first, 4, 4, 3, "second");
  const ValueId both = b.g.emit(OpId::kConcat, AxisAttrs{1}, {first, second}, "both");
  b.g.add_output("y", b.conv(both, 2, 8, 1, "last"));
  const Graph g = quantized(b.g).graph;
  const float whole = scale_behind(g, named(g, "both").outputs[0]);
  EXPECT_EQ(scale_behind(g, named(g, "second").outputs[0]), whole);
  EXPECT_NE(scale_behind(g, named(g, "first").outputs[0]), whole);
  expect_close(b.g, g);
}

TEST(Static, PoolsTablesMeansAndProducts) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  PoolAttrs pool;
  pool.kernel_shape = {2, 2}, pool.strides = {2, 2};
  ValueId h = b.g.emit(OpId::kAveragePool, pool, {b.conv(x, 4, 4, 3, "conv")}, "average");
  h = b.op(OpId::kSilu, {h}, "silu");
  ReduceAttrs mean;
  mean.axes = {2, 3};
  const ValueId gate =
      b.op(OpId::kSigmoid,
           {b.conv(b.g.emit(OpId::kReduceMean, mean, {h}, "mean"), 4, 4, 1, "squeeze")}, "gate");
  h = b.op(OpId::kMul, {h, gate}, "scaled");
  h = b.op(OpId::kGelu, {h}, "gelu");
  ResizeAttrs twice;
  const ValueId scales = b.g.add_constant(HostTensor::of(Shape{4}, std::vector<float>{1, 1, 2, 2}));
  h = b.g.emit(OpId::kResize, twice, {h, kNoValue, scales}, "resize");
  h = b.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {h}, "transpose");
  h = b.g.emit(OpId::kSoftmax, AxisAttrs{-1}, {h}, "softmax");
  b.g.add_output("y", h);
  const QuantizeResult r = quantized(b.g);
  for (const Unquantized& u : r.stayed) ADD_FAILURE() << u.node << ": " << u.reason;
  const Graph& g = r.graph;
  for (const char* op : {"conv", "average", "silu", "mean", "squeeze", "gate", "scaled", "gelu",
                         "resize", "transpose", "softmax"}) {
    const Node& n = named(g, op);
    EXPECT_TRUE(is_dequantized(g, n.inputs[0])) << op;
    EXPECT_GT(scale_behind(g, n.outputs[0]), 0) << op;
  }
  EXPECT_EQ(scale_behind(g, named(g, "resize").outputs[0]),
            scale_behind(g, named(g, "gelu").outputs[0]));
  EXPECT_NE(scale_behind(g, named(g, "average").outputs[0]),
            scale_behind(g, named(g, "conv").outputs[0]));
  // inputs that are no data stay
  EXPECT_EQ(g.value(named(g, "resize").inputs[2]).dtype, DType::kF32);
  expect_close(b.g, g, 20);
}

// A net that finds landmarks in faces: a PRelu behind every layer, with a slope for each channel,
// one for all, and one for each of a vector.
TEST(Static, PReluStaysBytesFromImageToPoints) {
  Builder b;
  ValueId h = b.input("face", {2, 3, 16, 16});
  h = b.op(OpId::kPRelu, {b.conv(h, 8, 3, 3, "c1"), b.weight({8, 1, 1}, "s1")}, "p1");
  PoolAttrs pool;
  pool.kernel_shape = {2, 2}, pool.strides = {2, 2};
  h = b.g.emit(OpId::kMaxPool, pool, {h}, "pool");
  const ValueId stem = h;
  h = b.op(OpId::kPRelu, {b.conv(h, 8, 8, 3, "c2", 8), b.weight({1, 8, 1, 1}, "s2")}, "p2");
  h = b.op(OpId::kAdd, {b.conv(h, 8, 8, 1, "c3"), stem}, "sum");
  h = b.op(OpId::kPRelu, {h, b.weight({1}, "s3")}, "p3");
  h = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {h}, "flat");
  h = b.op(OpId::kPRelu, {b.linear(h, 12, 512, "fc"), b.weight({12}, "s4")}, "p4");
  b.g.add_output("points", b.linear(h, 10, 12, "points"));
  const QuantizeResult r = quantized(b.g);
  for (const Unquantized& u : r.stayed) ADD_FAILURE() << u.node << ": " << u.reason;
  ir::LowerReport report;
  const Graph integers = ir::lowered(r.graph, &report);
  EXPECT_TRUE(report.stayed.empty()) << report.text();
  EXPECT_EQ(report.integer["QLinearPRelu"], 3);
  EXPECT_EQ(report.integer["ByteTable"], 1);
  // floats are the image and the points alone
  for (const Node& n : integers.nodes()) {
    const bool real = !n.removed() && integers.value(n.outputs[0]).dtype == DType::kF32;
    EXPECT_TRUE(!real || n.name.starts_with("points")) << n.name;
  }
  expect_close(b.g, r.graph);
}

TEST(Static, MatMulOfActivationsAndByAConstant) {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 8});
  const ValueId q = b.linear(x, 8, 8, "q"), k = b.linear(x, 8, 8, "k");
  const ValueId kt = b.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 1}}, {k}, "kt");
  const ValueId scores = b.op(OpId::kMatMul, {q, kt}, "scores");
  const ValueId half = b.g.add_constant(HostTensor::of(Shape{}, std::vector<float>{0.35F}), "half");
  const ValueId scaled = b.op(OpId::kMul, {scores, half}, "scaled");
  const ValueId batched = b.weight({2, 5, 3}, "batched");
  b.g.add_output("y", b.op(OpId::kMatMul, {scaled, batched}, "last"));
  const QuantizeResult r = quantized(b.g);
  const Graph& g = r.graph;
  EXPECT_TRUE(r.stayed.empty());
  const Node& last = named(g, "last");
  EXPECT_EQ(g.value(made_by(g, last.inputs[1]).inputs[0]).dtype, DType::kI8);
  EXPECT_EQ(g.value(made_by(g, named(g, "scaled").inputs[1]).inputs[0]).dtype, DType::kU8);
  expect_close(b.g, g);
}

TEST(Static, SaysWhatStaysAndWhy) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  PoolAttrs pool;
  pool.kernel_shape = {2, 2}, pool.strides = {2, 2};
  const ValueId early = b.g.emit(OpId::kMaxPool, pool, {x}, "early");
  const ValueId a = b.conv(early, 4, 4, 3, "a"), skipped = b.conv(a, 4, 4, 3, "block.skipped");
  const ValueId s = b.op(OpId::kSin, {skipped}, "sin");
  const ValueId dynamic = b.g.emit(OpId::kConv, ConvAttrs{},
                                   {s, b.op(OpId::kExp, {b.weight({4, 4, 1, 1})}, "w")}, "dynamic");
  ReduceAttrs mean;
  mean.axes = {1};
  const ValueId m = b.g.emit(OpId::kReduceMean, mean, {b.conv(dynamic, 4, 4, 1, "b")}, "mean");
  const ValueId n = b.g.emit(OpId::kSoftmax, AxisAttrs{1}, {b.conv(a, 4, 4, 1, "c")}, "softmax");
  const ValueId p = b.op(OpId::kPRelu, {b.conv(a, 4, 4, 1, "d"), a}, "prelu");
  const ValueId volume =
      b.g.emit(OpId::kConv, ConvAttrs{}, {b.input("v", {2, 4, 3, 3, 3}), b.weight({4, 4, 2, 2, 2})},
               "volume");
  b.g.add_output("y", m);
  b.g.add_output("z", n);
  b.g.add_output("p", p);
  b.g.add_output("v3", volume);
  Recipe recipe;
  recipe.skip = {"block.*"};
  const QuantizeResult r = quantized(b.g, recipe);
  EXPECT_EQ(reason(r, "early"), "MaxPool: its input comes from float ops");
  EXPECT_EQ(reason(r, "a"), "quantized");
  EXPECT_EQ(reason(r, "block.skipped"), "Conv: skipped by \"block.*\"");
  EXPECT_EQ(reason(r, "sin"), "Sin: it has no integer form");
  EXPECT_EQ(reason(r, "dynamic"), "Conv: its weight is not a constant");
  EXPECT_EQ(reason(r, "mean"), "ReduceMean: integers have a mean over all spatial axes only");
  EXPECT_EQ(reason(r, "softmax"), "Softmax: integers have a softmax over the last axis only");
  EXPECT_EQ(reason(r, "prelu"), "PRelu: its slope is not a constant");
  EXPECT_EQ(reason(r, "volume"), "Conv: integers are slower than floats over three spatial dims");
  EXPECT_EQ(r.stayed.size(), 9U);  // and Exp
  // A skipped layer has the floats of its integers in front.
  EXPECT_TRUE(is_dequantized(r.graph, named(r.graph, "block.skipped").inputs[0]));
  EXPECT_FALSE(is_dequantized(r.graph, named(r.graph, "sin").inputs[0]));
  expect_close(b.g, r.graph, 20);
  recipe.skip = {"nothing"};
  EXPECT_THAT(error_of([&] { quantized(b.g, recipe); }),
              HasSubstr("no node fits the skip pattern \"nothing\""));
}

// A float op beside a quantized one reads the original where there is one.
TEST(Static, FloatReadersOfAFloatValueKeepIt) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  b.g.add_output("sin", b.op(OpId::kSin, {x}, "sin"));
  const ValueId c = b.conv(x, 4, 4, 1, "conv");
  b.g.add_output("c", c);  // an output that others read too
  b.g.add_output("cos", b.op(OpId::kCos, {c}, "cos"));
  b.g.add_output("r", b.op(OpId::kRelu, {c}, "relu"));
  const Graph g = quantized(b.g).graph;
  EXPECT_EQ(named(g, "sin").inputs[0], g.inputs()[0]);
  EXPECT_TRUE(is_dequantized(g, named(g, "cos").inputs[0]));
  EXPECT_TRUE(is_dequantized(g, g.outputs()[1].value));
  // not absorbed: others see the convolution
  EXPECT_TRUE(is_dequantized(g, named(g, "relu").inputs[0]));
  EXPECT_EQ(named(g, "cos").inputs[0], named(g, "relu").inputs[0]);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(g.outputs()[i].name, b.g.outputs()[i].name);
  expect_close(b.g, g);
}

TEST(Static, FirstAndLastLayersFollowTheRecipe) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 8, 8, "first")}, "r1");
  const ValueId m = b.op(OpId::kRelu, {b.linear(h, 8, 8, "middle")}, "r2");
  b.g.add_output("y", b.linear(m, 4, 8, "last"));
  Recipe r;
  r.quantize_first = r.quantize_last = false;
  const QuantizeResult q = quantized(b.g, r);
  EXPECT_EQ(reason(q, "first"), "Linear: a first layer, as the recipe says");
  EXPECT_EQ(reason(q, "last"), "Linear: a last layer, as the recipe says");
  EXPECT_EQ(reason(q, "middle"), "quantized");
  EXPECT_EQ(reason(q, "r1"), "Relu: its input comes from float ops");
  r = {};
  r.float_output = true;
  const Graph g = quantized(b.g, r).graph;
  EXPECT_EQ(made_by(g, g.outputs()[0].value).op, OpId::kLinear);
  EXPECT_TRUE(is_dequantized(g, made_by(g, g.outputs()[0].value).inputs[0]));
  const Batch batch = noise_batches(b.g, 1)[0];
  EXPECT_GT(sqnr(run_batch(b.g, batch)[0], run_batch(g, batch)[0]),
            sqnr(run_batch(b.g, batch)[0], run_batch(quantized(b.g).graph, batch)[0]));
}

// Linear whose integers nobody reads gives floats at once.
TEST(Static, ALinearInFrontOfFloatsHasNoScaleBehind) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  b.g.add_output("y", b.op(OpId::kSin, {b.linear(x, 8, 8, "fc")}, "sin"));
  const Graph g = quantized(b.g).graph;
  EXPECT_EQ(named(g, "sin").inputs[0], named(g, "fc").outputs[0]);
}

TEST(Static, EveryDtypeAndSymmetry) {
  Builder b;
  const ValueId x = b.input("x", {4, 16});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 16, 16, "a")}, "r");
  b.g.add_output("y", b.linear(h, 4, 16, "b"));
  for (const DType activation : {DType::kU8, DType::kI8}) {
    for (const bool symmetric : {false, true}) {
      for (const DType weight : {DType::kI8, DType::kI4, DType::kU4}) {
        Recipe r;
        r.activation = activation, r.activation_symmetric = symmetric;
        r.weight = weight, r.weight_symmetric = weight != DType::kU4;
        const Graph g = quantized(b.g, r).graph;
        expect_close(b.g, g, weight == DType::kI8 ? 28 : 12);
        const Node& q = named(g, "x.quantize");
        EXPECT_EQ(g.value(q.outputs[0]).dtype, activation);
        EXPECT_EQ(g.value(made_by(g, named(g, "a").inputs[1]).inputs[0]).dtype, weight);
      }
    }
  }
}

// 32 bits do not hold a bias that is far larger than its weights: the weights get coarser. Where
// all weights are 0 the scale serves the bias alone.
TEST(Static, RefusesOtherGraphs) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  b.g.add_output("y", b.op(OpId::kRelu, {b.linear(x, 8, 8, "fc")}, "relu"));
  const QuantizeResult r = quantized(b.g);
  EXPECT_THAT(error_of([&] { quantized(r.graph); }), HasSubstr("the graph is quantized already"));
  EXPECT_THAT(error_of([&] { quantize_static(b.g, Calibration{}, Recipe{}); }),
              HasSubstr("[quantize_static] the calibration has no scale for value 0 \"x\""));
  Calibration bad = calibrate(b.g, batches_of(noise_batches(b.g, 1)), {});
  for (auto& [v, q] : bad.params) q.scale[0] = 0;
  EXPECT_THAT(error_of([&] { quantize_static(b.g, bad, Recipe{}); }),
              HasSubstr("x: scale 0 is 0.000000, it must be finite and > 0"));
  Graph fused = b.g;
  ir::optimize(fused);
  const std::vector<Unquantized> stayed = plan_quantization(fused, {}).stayed(fused);
  ASSERT_EQ(stayed.size(), 1U);
  EXPECT_EQ(stayed[0].reason, "several ops in one: quantize the graph before it is optimized");
}

TEST(Static, RegionsStayFloat) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  const ValueId h = b.linear(x, 8, 8, "fc");
  const ValueId yes = b.g.add_input("yes", DType::kBool, {});
  std::vector<Graph> branches;
  for (const OpId op : {OpId::kSin, OpId::kRelu}) {
    Graph region = b.g.region("branch");
    const ValueId in = region.add_input("h", b.g.value(h));
    region.add_output("out", region.emit(op, {in}));
    branches.push_back(std::move(region));
  }
  const ir::NodeId id =
      b.g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {yes, h}, std::move(branches), "choice");
  b.g.add_output("y", b.g.node(id).outputs[0]);
  Batch batch = {{"x", noise({2, 8}, 3)}, {"yes", HostTensor(DType::kBool, Shape{})}};
  const Batches batches = batches_of({batch});
  const QuantizeResult r = quantize_static(b.g, calibrate(b.g, batches, {}), {});
  EXPECT_EQ(reason(r, "choice"), "If: what its regions hold stays float");
  EXPECT_GT(sqnr(run_batch(b.g, batch)[0], run_batch(r.graph, batch)[0]), 30);
}

}  // namespace
}  // namespace wick::quantize
