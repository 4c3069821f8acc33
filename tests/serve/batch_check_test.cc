// Which models may run several requests as one: where a value of the batch is not made of its rows'
// values alone, it is found, also behind an answer that hides it.
#include "tools/serve/batch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/models.h"
#include "tools/lib/model.h"

namespace wick::serve {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

Batching of(const ir::Graph& g, int64_t most = 8) {
  const tool::Model model = tool::Model::from_graph(g, true);
  return batching_of(model.program(), most, uint64_t{1} << 33);
}

// x f32[batch,4], and what `then` makes of it.
template <class F>
ir::Graph graph(F then, DType dtype = DType::kF32) {
  ir::Graph g;
  g.add_output("y", then(g, g.add_input("x", dtype, {g.symbol("batch"), 4})));
  return g;
}

TEST(BatchCheck, RowsThatStandForThemselvesMayRunTogether) {
  EXPECT_EQ(of(test::mlp()).rows, 8) << of(test::mlp()).why_not;
  EXPECT_EQ(of(test::mlp(), 6).rows, 6);
  EXPECT_EQ(of(test::mlp(), 1).rows, 1);
  // The batch is another dim within.
  const Batching turned = of(graph([](ir::Graph& g, ir::ValueId x) {
    const TransposeAttrs turn{.perm = {1, 0}};
    const ir::ValueId t = g.emit(OpId::kTranspose, turn, {x});
    const ir::ValueId s = g.emit(OpId::kSoftmax, AxisAttrs{0}, {t});
    return g.emit(OpId::kTranspose, turn, {s});
  }));
  EXPECT_EQ(turned.rows, 8) << turned.why_not;
  // Two inputs of one batch.
  ir::Graph two;
  const auto batch = two.symbol("batch", 1, 5);
  two.add_output("y", two.emit(OpId::kAdd, {two.add_input("a", DType::kI64, {batch, 3}),
                                            two.add_input("b", DType::kI64, {batch, 3})}));
  EXPECT_EQ(of(two).rows, 5) << of(two).why_not;
}

TEST(BatchCheck, ARowThatKnowsTheOthersIsFound) {
  EXPECT_THAT(of(graph([](ir::Graph& g, ir::ValueId x) {
                return g.emit(OpId::kSoftmax, AxisAttrs{0}, {x});
              })).why_not,
              HasSubstr("gives a row another value than it has alone"));
  EXPECT_THAT(of(graph([](ir::Graph& g, ir::ValueId x) {
                return g.emit(OpId::kCumSum, CumulateAttrs{.axis = 0}, {x});
              })).why_not,
              HasSubstr("gives a row another value than it has alone"));
}

// The class is the same whatever the scale: the answers alone would show nothing.
TEST(BatchCheck, AMaximumOverTheBatchIsFoundBehindItsAnswer) {
  const Batching b = of(graph([](ir::Graph& g, ir::ValueId x) {
    const ir::ValueId most = g.emit(OpId::kReduceMax, ReduceAttrs{}, {g.emit(OpId::kAbs, {x})});
    return g.emit(OpId::kArgMax, ArgAttrs{.axis = 1, .keepdims = 0},
                  {g.emit(OpId::kDiv, {x, most})});
  }));
  EXPECT_EQ(b.rows, 1);
  EXPECT_THAT(b.why_not, AnyOf(HasSubstr("has one value for the whole batch"),
                               HasSubstr("gives a row another value than it has alone")));
}

TEST(BatchCheck, WhatTheProgramForbidsIsSaid) {
  ir::Graph fixed;
  fixed.add_output("y", fixed.emit(OpId::kRelu, {fixed.add_input("x", DType::kF32, {1, 4})}));
  EXPECT_EQ(of(fixed).why_not, "dim 0 of input 'x' is no free size");
  ir::Graph apart;
  const ir::ValueId a = apart.add_input("a", DType::kF32, {apart.symbol("n"), 1});
  const ir::ValueId b = apart.add_input("b", DType::kF32, {apart.symbol("m"), 1});
  apart.add_output("c", apart.emit(OpId::kRelu, {a}));
  apart.add_output("d", apart.emit(OpId::kRelu, {b}));
  EXPECT_EQ(of(apart).why_not, "dim 0 of input 'b' is no free size that all inputs share");
  EXPECT_EQ(of(graph([](ir::Graph& g, ir::ValueId x) {
              return g.emit(OpId::kReduceSum, ReduceAttrs{.axes = {0}, .keepdims = 0}, {x});
            })).why_not,
            "dim 0 of output 'y' is not the batch");
  EXPECT_EQ(of(graph([](ir::Graph& g, ir::ValueId x) { return g.emit(OpId::kIdentity, {x}); },
                     DType::kString))
                .why_not,
            "input 'x' is no tensor of numbers");
  EXPECT_THAT(
      of(graph([](ir::Graph& g, ir::ValueId x) { return g.emit(OpId::kNonZero, {x}); })).why_not,
      HasSubstr("'y' is not the batch"));
}

// A load waits for the trial, and the end of the server for the load.
TEST(BatchCheck, ATrialThatNeverEndsIsGivenUp) {
  const tool::Model model = tool::Model::from_graph(test::gated(), true);
  constexpr uint64_t kRam = uint64_t{1} << 33, kHour = 3'600'000'000'000;
  const test::ClosedGate gate;
  const Batching late = batching_of(model.program(), 8, kRam, nullptr, 50'000'000);
  EXPECT_EQ(late.rows, 1);
  EXPECT_THAT(late.why_not, HasSubstr("the trial failed: "));
  CancelFlag cancel;
  cancel.request();
  EXPECT_THAT(batching_of(model.program(), 8, kRam, &cancel, kHour).why_not,
              HasSubstr("the trial failed: "));
}

}  // namespace
}  // namespace wick::serve
