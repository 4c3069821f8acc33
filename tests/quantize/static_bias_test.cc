// Biases in units of the input's scale times the weight's: biases that are too large, of channels
// without weights and of channels with tiny ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/lower_qdq.h"
#include "quantize/passes/insert_qdq.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

QuantizeResult quantized(const Graph& g, const Recipe& r = {}) {
  const Batches b = batches_of(noise_batches(g, 3));
  return quantize_static(g, calibrate(g, b, r), r, b);
}

TEST(Static, BiasesBeyond32BitsAndOfDeadChannels) {
  Builder b;
  const ValueId x = b.input("x", {4, 8});
  HostTensor w = noise({4, 8}, 7);
  for (int k = 0; k < 8; ++k) w.as<float>()[k] *= 1e-9F, w.as<float>()[8 + k] = 0;
  const ValueId weight = b.g.add_constant(w, "w"),
                bias = b.g.add_constant(
                    HostTensor::of(Shape{4}, std::vector<float>{1, 0.37F, 0.5F, 0}), "b");
  b.g.add_output("y", b.g.emit(OpId::kLinear, {x, weight, bias}, "fc"));
  Recipe r;
  r.float_output = true;
  const QuantizeResult q = quantized(b.g, r);
  ASSERT_EQ(q.notes.size(), 1U);
  EXPECT_THAT(q.notes[0], HasSubstr("fc: 1 of 4 channels have coarser weights"));
  const Batch batch = noise_batches(b.g, 1)[0];
  const HostTensor want = run_batch(b.g, batch)[0], got = run_batch(q.graph, batch)[0];
  for (int64_t i = 0; i < 16; i += 4) {
    EXPECT_NEAR(got.as<float>()[i], want.as<float>()[i], 1e-7);
    EXPECT_NEAR(got.as<float>()[i + 1], 0.37F, 1e-6);
  }
}

// Training with weight decay leaves channels of 1e-37, whose scale times the input's is no normal
// number: bias and weight have to agree about their units all the same.
TEST(Static, ChannelsOfNextToNothingAreIntegers) {
  Builder b;
  const ValueId x = b.input("x", {4, 8});
  HostTensor w = noise({3, 8}, 7);
  for (int k = 0; k < 8; ++k) w.as<float>()[k] *= 1e-37F, w.as<float>()[8 + k] *= 1e-30F;
  const ValueId weight = b.g.add_constant(w, "w"),
                bias = b.g.add_constant(
                    HostTensor::of(Shape{3}, std::vector<float>{1e-38F, 1e-24F, 0.5F}), "b");
  b.g.add_output("y", b.g.emit(OpId::kLinear, {x, weight, bias}, "fc"));
  const QuantizeResult q = quantized(b.g, Recipe());
  ir::LowerReport report;
  const Graph integers = ir::lowered(q.graph, &report);
  EXPECT_EQ(report.text(), "");
  EXPECT_EQ(report.integer["QGemm"], 1);
  const Batch batch = noise_batches(b.g, 1)[0];
  const HostTensor want = run_batch(b.g, batch)[0], got = run_batch(integers, batch)[0];
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_NEAR(got.as<float>()[i], i % 3 == 2 ? want.as<float>()[i] : 0, 0.05) << i;
}

// A graph without layers has nothing to correct; one with layers needs their means.
TEST(BiasCorrection, NeedsMeansOnlyWhereThereAreLayers) {
  Recipe r;
  r.bias_correction = true;
  Builder none;
  none.g.add_output("y", none.op(OpId::kSigmoid, {none.input("x", {4, 8})}, "act"));
  const Batches batches = batches_of(noise_batches(none.g, 2));
  const QuantizeResult q = quantize(none.g, r, batches);
  EXPECT_EQ(count(q.graph, OpId::kSigmoid), 1);
  Graph g = none.g;
  Calibration seen;
  seen.batches = 2;
  EXPECT_EQ(correct_biases(g, seen, r, batches, {}), 0);
  Builder one;
  one.g.add_output("y", one.linear(one.input("x", {4, 8}), 3, 8, "fc"));
  g = one.g;
  EXPECT_THAT(error_of([&] { correct_biases(g, seen, r, batches, {}); }),
              HasSubstr("the calibration was made by a recipe without it"));
}

}  // namespace
}  // namespace wick::quantize
