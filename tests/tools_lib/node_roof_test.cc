// What a node reaches of a machine's peaks, and the costs that it is reckoned from.
#include "tools/lib/node_roof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ops/attrs/pool.h"
#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"

namespace wick::tool {
namespace {

using ::testing::HasSubstr;

// 100 GFLOP/s and 10 GB/s: a ridge of 10 FLOPs a byte.
Roofline made_up_machine() {
  Roofline machine;
  machine.flops_per_second = 100e9;
  machine.bytes_per_second = 10e9;
  return machine;
}

TEST(NodeRoof, ProductsBesideThePeakOfMultiplyAdds) {
  const OpCost cost = {.macs = 5e8, .other = 0, .bytes_read = 6e5, .bytes_written = 4e5};
  const NodeRoof r = node_roof(cost, 20, made_up_machine());
  EXPECT_DOUBLE_EQ(r.gflops, 50);
  EXPECT_DOUBLE_EQ(r.of_flops, 0.5);
  EXPECT_DOUBLE_EQ(r.gbytes, 0.05);
  EXPECT_DOUBLE_EQ(r.of_bytes, 0.005);
  EXPECT_EQ(r.bound, Bound::kCompute);
}

TEST(NodeRoof, BytesBesideThePeakOfReading) {
  const OpCost cost = {.macs = 0, .other = 1e6, .bytes_read = 5e7, .bytes_written = 3e7};
  const NodeRoof r = node_roof(cost, 10, made_up_machine());
  EXPECT_DOUBLE_EQ(r.gflops, 0.1);
  EXPECT_DOUBLE_EQ(r.gbytes, 8);
  EXPECT_DOUBLE_EQ(r.of_bytes, 0.8);
  EXPECT_EQ(r.bound, Bound::kMemory);
  // From a cache: above what memory gives.
  EXPECT_DOUBLE_EQ(node_roof(cost, 2, made_up_machine()).of_bytes, 4);
}

TEST(NodeRoof, WhatNeitherPeakExplainsIsOverhead) {
  const OpCost small = {.macs = 5e5, .other = 0, .bytes_read = 4e5, .bytes_written = 1e5};
  const NodeRoof r = node_roof(small, 1, made_up_machine());
  EXPECT_DOUBLE_EQ(r.of_flops, 0.01);
  EXPECT_DOUBLE_EQ(r.of_bytes, 0.05);
  EXPECT_EQ(r.bound, Bound::kOverhead);
  // A tenth of a peak is enough.
  const OpCost tenth = {.macs = 0, .other = 1e7, .bytes_read = 0, .bytes_written = 0};
  EXPECT_EQ(node_roof(tenth, 1, made_up_machine()).bound, Bound::kCompute);
  EXPECT_EQ(node_roof(tenth, 1.01, made_up_machine()).bound, Bound::kOverhead);
  // Nothing is divided by nothing.
  const NodeRoof none = node_roof(tenth, 0, Roofline());
  EXPECT_EQ(none.gflops, 0);
  EXPECT_EQ(none.of_flops, 0);
  EXPECT_EQ(node_roof(tenth, 1, Roofline()).of_flops, 0);
}

TEST(NodeRoof, TheTableSumsTheTimeOfEachVerdict) {
  std::vector<NodeRow> rows(3);
  rows[0] = {"Conv", "a", "conv", 3, {}};
  rows[0].roof.bound = Bound::kCompute;
  rows[1] = {"Add", "b", "add", 1, {}};
  rows[1].roof.bound = Bound::kMemory;
  rows[2] = {"Conv", "c", "conv", 4, {}};
  rows[2].roof.bound = Bound::kCompute;
  const BoundTimes t = bound_times(rows);
  EXPECT_EQ(t.compute, 7);
  EXPECT_EQ(t.memory, 1);
  EXPECT_EQ(t.overhead, 0);
  EXPECT_THAT(roof_table(rows), HasSubstr("8.0000 ms in nodes: 88 % compute-bound, 12 % "
                                          "memory-bound, 0 % overhead\n"));
  EXPECT_THAT(roof_table({}), HasSubstr("0.0000 ms in nodes: 0 %"));
}

// A net whose costs can be counted by hand: x[batch,1,4,6] is pooled by 3 x 3 to
// [batch,1,2,4], which a product with w[4,5] makes [batch,1,2,5].
ir::Graph pooled_product() {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), 1, 4, 6});
  PoolAttrs pool;
  pool.kernel_shape = {3, 3};
  const ir::ValueId h = g.emit(OpId::kMaxPool, pool, {x}, "pool");
  HostTensor w(DType::kF32, Shape{4, 5});
  for (int64_t i = 0; i < w.numel(); ++i) w.as<float>()[i] = static_cast<float>(i);
  g.add_output("y", g.emit(OpId::kMatMul, {h, g.add_constant(std::move(w), "w", true)}, "product"));
  return g;
}

TEST(NodeRoof, CostsAreThoseOfTheOneModelWithTheNodesAttributes) {
  const Model model = Model::from_graph(pooled_product(), false);
  NodeTimes times, without;
  times.count_costs(model.program());
  for (NodeTimes* trace : {&times, &without}) {
    Runner runner(model, {.threads = 1, .trace = trace});
    const Sample made = sample_inputs(runner.session(), model.program(), {.batch = 3});
    for (int run = 0; run < 2; ++run) runner.run(made.inputs);
  }
  const auto steps = times.in_order();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]->op, "MaxPool");
  EXPECT_EQ(steps[0]->cost.other, 2.0 * 3 * 8 * 9);  // two runs, nine taps an output
  EXPECT_EQ(steps[0]->cost.bytes_read, 2.0 * 4 * 3 * 24);
  EXPECT_EQ(steps[0]->cost.bytes_written, 2.0 * 4 * 3 * 8);
  EXPECT_EQ(steps[1]->op, "MatMul");
  EXPECT_EQ(steps[1]->cost.macs, 2.0 * 3 * 2 * 4 * 5);
  EXPECT_EQ(steps[1]->cost.bytes_read, 2.0 * 4 * (3 * 8 + 20));
  for (const NodeTimes::Step* s : without.in_order()) EXPECT_EQ(s->cost.bytes(), 0);

  const std::vector<NodeRow> rows = node_rows(times, 2, made_up_machine());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].node, "product");
  EXPECT_GT(rows[1].ms, 0);
  // A run's work in a run's time: 240 operations, 296 bytes.
  EXPECT_NEAR(rows[1].roof.gflops * rows[1].ms, 240e-6, 1e-12);
  EXPECT_NEAR(rows[1].roof.gbytes * rows[1].ms, 296e-6, 1e-12);
  times.clear();
  EXPECT_TRUE(times.in_order().empty());
}

}  // namespace
}  // namespace wick::tool
