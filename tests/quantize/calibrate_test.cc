// Calibration: which values get ranges, and the errors for bad data.
#include "quantize/observe/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

Builder net() {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 4, 3, "fc1")}, "relu");
  b.g.add_output("y", b.linear(h, 2, 4, "fc2"));
  return b;
}
HostTensor rows(std::vector<float> v) { return HostTensor::of(Shape{2, 3}, v); }

TEST(Calibrate, FindsTheRangesOfAllBatches) {
  const Graph g = net().g;
  Recipe r;
  int64_t last = 0;
  CalibrateOptions options;
  options.progress = [&](int64_t done) { EXPECT_EQ(done, ++last); };
  const std::vector<Batch> batches = noise_batches(g, 5);
  const Calibration c = calibrate(g, batches_of(batches), r, options);
  EXPECT_EQ(last, 5);
  EXPECT_EQ(c.batches, 5);
  EXPECT_EQ(c.params.size(), 3U);  // x, relu, y
  EXPECT_TRUE(c.notes.empty());
  const ValueId relu = g.node(1).outputs[0];
  float lo = 0, hi = 0;
  for (const Batch& b : batches) {
    ir::InterpreterOptions o;
    o.after_node = [&](ir::NodeId id, Span<const HostTensor> out) {
      if (id != 1) return;
      for (int i = 0; i < 8; ++i) {
        lo = std::min(lo, out[0].as<float>()[i]);
        hi = std::max(hi, out[0].as<float>()[i]);
      }
    };
    ir::run(g, graph_inputs(g, b, 0), o);
  }
  EXPECT_EQ(c.seen.at(relu).lo, lo);
  EXPECT_EQ(c.seen.at(relu).hi, hi);
  EXPECT_EQ(c.params.at(relu).scale[0], hi / 255);
  EXPECT_EQ(c.params.at(relu).zero_point[0], 0);
  EXPECT_EQ(c.params.count(g.node(0).outputs[0]), 0U);  // nobody's integers
}

// The fast kernels and the reference give the same ranges, to the bit.
TEST(Calibrate, KernelsDoNotMatter) {
  const Graph g = net().g;
  CalibrateOptions slow;
  slow.kernels = {&kReferenceKernels};
  Recipe r;
  r.activation_observer.kind = ObserverKind::kMse;
  const Batches batches = batches_of(noise_batches(g, 3));
  const Calibration a = calibrate(g, batches, r), b = calibrate(g, batches, r, slow);
  for (const auto& [v, q] : a.params) EXPECT_EQ(q.scale, b.params.at(v).scale);
}

TEST(Calibrate, RefusesBadData) {
  const Graph g = net().g;
  const auto error = [&](std::vector<Batch> batches) {
    return error_of([&] { calibrate(g, batches_of(std::move(batches)), Recipe{}); });
  };
  const HostTensor fine = rows({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error({}), HasSubstr("[calibrate] there is no batch to calibrate with"));
  EXPECT_THAT(error({{}}), HasSubstr("batch 0 has no input \"x\""));
  EXPECT_THAT(error({{{"x", fine}}, {{"x", fine}, {"z", fine}}}),
              HasSubstr("batch 1: the graph has no input \"z\", but x"));
  EXPECT_THAT(error({{{"x", HostTensor(DType::kF32, Shape{0, 3})}}}),
              HasSubstr("batch 0: input \"x\" is empty: [0,3]"));
  EXPECT_THAT(error({{{"x", fine}}, {{"x", HostTensor(DType::kF32, Shape{2, 4})}}}),
              HasSubstr("batch 1: input \"x\" takes float32[2,3], got float32[2,4]"));
  EXPECT_THAT(error({{{"x", HostTensor(DType::kU8, Shape{2, 3})}}}),
              HasSubstr("takes float32[2,3], got uint8[2,3]"));
  EXPECT_THAT(error({{{"x", fine}}, {{"x", rows({1, 2, NAN, 4, 5, 6})}}}),
              HasSubstr("batch 1, input \"x\": [observe] 1 of 6 numbers are NaN or infinite"));
  // The numbers overflow inside: the node is named.
  EXPECT_THAT(error({{{"x", rows({3e38F, 3e38F, 3e38F, -3e38F, 3e38F, 3e38F})}}}),
              HasSubstr("[calibrate] batch 0, "));
}

// The first call of a model with a past has an empty one.
TEST(Calibrate, TakesAnEmptyPast) {
  Builder b;
  const ValueId x = b.input("x", {1, 1, 3});
  const ValueId past = b.g.add_input("past", DType::kF32, {1, b.g.symbol("p", 0), 3});
  AxisAttrs along;
  along.axis = 1;
  const ValueId all = b.g.emit(OpId::kConcat, along, {past, x});
  b.g.add_output("y", b.linear(all, 2, 3, "fc"));
  const auto batch = [](int64_t length, float value) {
    std::vector<float> kept(static_cast<size_t>(length) * 3, value);
    return Batch{{"x", HostTensor::of(Shape{1, 1, 3}, std::vector<float>{1, 2, 3})},
                 {"past", HostTensor::of(Shape{1, length, 3}, kept)}};
  };
  const Calibration c = calibrate(b.g, batches_of({batch(0, 0), batch(2, 7)}), Recipe{});
  EXPECT_EQ(c.batches, 2);
  EXPECT_EQ(c.seen.at(all).hi, 7);
}

// A mask of -inf is meant: the nodes that would take it as integers are named, all of them at once.
TEST(Calibrate, NamesWhatReadsAMask) {
  Builder b;
  const ValueId x = b.input("x", {1, 2}), mask = b.input("mask", {1, 2});
  const ValueId w =
      b.g.add_constant(HostTensor::of(Shape{2, 2}, std::vector<float>{1, 0, 0, 1}), "w");
  const ValueId logs = b.op(OpId::kLog, {mask}, "logs");
  b.g.add_output("y", b.op(OpId::kAdd, {b.op(OpId::kLinear, {x, w}, "scores"), logs}, "masked"));
  b.g.add_output("z", b.op(OpId::kAdd, {b.op(OpId::kLinear, {x, w}, "others"), logs}, "again"));
  const auto row = [](float a, float c) {
    return HostTensor::of(Shape{1, 2}, std::vector<float>{a, c});
  };
  const Batches batches = batches_of({{{"x", row(1, 2)}, {"mask", row(1, 0)}}});
  EXPECT_THAT(
      error_of([&] { calibrate(b.g, batches, Recipe{}); }),
      HasSubstr(
          "[calibrate] batch 0, Log logs (if infinities are meant, as in a mask, keep what reads "
          "them float: skip again, masked): [observe] 1 of 2 numbers are NaN or infinite"));
  Recipe skips;
  skips.skip = {"again", "masked"};
  EXPECT_EQ(calibrate(b.g, batches, skips).batches, 1);
}

TEST(Calibrate, NamesTheNodeThatOverflows) {
  Builder b;
  const ValueId x = b.input("x", {1, 2});
  const ValueId w =
      b.g.add_constant(HostTensor::of(Shape{1, 2}, std::vector<float>{1e20F, 1}), "w");
  b.g.add_output("y", b.op(OpId::kLinear, {x, w}, "huge"));
  const Batch fine = {{"x", HostTensor::of(Shape{1, 2}, std::vector<float>{1, 1})}},
              bad = {{"x", HostTensor::of(Shape{1, 2}, std::vector<float>{1e20F, 1})}};
  EXPECT_THAT(error_of([&] {
                calibrate(b.g, batches_of({fine, fine, bad}), Recipe{});
              }),
              HasSubstr("[calibrate] batch 2, Linear huge: [observe] 1 of 1 numbers are NaN or "
                        "infinite, the first is inf"));
}

// Layers of doubles are not quantized: they have no bias that could be corrected, and their bytes
// are no float32 numbers.
TEST(Calibrate, MeansAreOfFloat32LayersAlone) {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 4, 3, "fc1")}, "relu");
  const CastAttrs wide{static_cast<int64_t>(DType::kF64)},
      narrow{static_cast<int64_t>(DType::kF32)};
  const ValueId d = b.g.emit(OpId::kCast, wide, {h}, "wide");
  const HostTensor w = HostTensor::of(Shape{2, 4}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  const ValueId l = b.g.emit(OpId::kLinear, {d, b.g.add_constant(w, "fc2.weight", true)}, "fc2");
  b.g.add_output("y", b.g.emit(OpId::kCast, narrow, {l}, "narrow"));
  Recipe r;
  r.bias_correction = true;
  const Batches batches = batches_of(noise_batches(b.g, 2));
  const Calibration c = calibrate(b.g, batches, r);
  ASSERT_EQ(c.means.size(), 1U);
  EXPECT_EQ(c.means.begin()->first, b.g.node(0).outputs[0]);
  const QuantizeResult q = quantize_static(b.g, c, r, batches);
  const Batch batch = noise_batches(b.g, 1)[0];
  EXPECT_GT(sqnr(run_batch(b.g, batch)[0], run_batch(q.graph, batch)[0]), 25);
}

TEST(Calibrate, SaysThatDataNeverChanges) {
  const Graph g = net().g;
  const Calibration c = calibrate(g, batches_of({{{"x", rows({1, 1, 1, 1, 1, 1})}}}), Recipe{});
  ASSERT_FALSE(c.notes.empty());
  EXPECT_THAT(c.notes[0], HasSubstr("\"x\" was 1.000000 everywhere in all batches"));
}

}  // namespace
}  // namespace wick::quantize
