// A program of the runtime alone whose ops are selected: it knows these, those that a chain may
// have as steps, and the names of all others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/session.h"
#include "runtime/ops/chain.h"
#include "tests/program/program_builder.h"

#define WICK_SELECTED_OPS(X) X(Relu, kReference) X(FusedElementwise, kAny)
#define WICK_SELECTED_ACTIVATIONS(X)

#include "runtime/kernels/selected_ops.h"

namespace wick {
namespace {

using test::ProgramBuilder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StrEq;

Status load(const std::vector<uint8_t>& bytes) { return Program::load(bytes).status(); }

TEST(SelectedOps, ArePartOfTheTableWithTheStepsOfChains) {
  ASSERT_NE(find_op(OpId::kRelu), nullptr);
  EXPECT_THAT(find_op(OpId::kRelu)->name, StrEq("Relu"));
  EXPECT_THAT(signature_of(OpId::kRelu), StrEq("x -> 0"));
  EXPECT_EQ(find_op("Relu"), find_op(OpId::kRelu));
  EXPECT_EQ(find_op(OpId::kConv), nullptr);
  EXPECT_EQ(find_op("Conv"), nullptr);
  EXPECT_THAT(name_in_list(OpId::kConv), StrEq("Conv"));
  EXPECT_THAT(name_in_list(OpId::kIdentity), StrEq("Identity"));
  EXPECT_EQ(name_in_list(static_cast<OpId>(30000)), nullptr);
  for (const OpInfo& op : all_ops()) {
    EXPECT_TRUE(op.id == OpId::kRelu || op.id == OpId::kFusedElementwise ||
                (op.flags & kChainStep) != 0)
        << op.name;
  }
}

TEST(SelectedOps, OthersAreNamedWhereAFileIsLoaded) {
  ProgramBuilder b;
  const uint32_t x = b.value("x", DType::kF32, {2}), y = b.value("y", DType::kF32, {2});
  b.node(OpId::kSoftmax, {x}, {y}, AxisAttrs());
  b.node_raw(30000, {x}, {y}, {});
  b.entry("main", {x}, {y});
  const Status s = load(b.finish());
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("2 ops of the file cannot run in this build"),
                                 HasSubstr("(Softmax: not selected by wick_selected_ops())"),
                                 HasSubstr("30000 (unknown)")));
}

// A step has a row and no rule: a node of it is not selected.
TEST(SelectedOps, AStepOfAChainIsNoNode) {
  ProgramBuilder b;
  const uint32_t x = b.value("x", DType::kF32, {2}), y = b.value("y", DType::kF32, {2});
  b.node(OpId::kNeg, {x}, {y});
  b.entry("main", {x}, {y});
  auto program = Program::load(b.finish());
  const Status s = program.ok() ? Session::create(**program).status() : program.status();
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("Neg"), HasSubstr("not selected")));
}

TEST(SelectedOps, AChainRuns) {
  ProgramBuilder b;
  const uint32_t x = b.value("x", DType::kF32, {4}), y = b.value("y", DType::kF32, {4});
  ChainAttrs chain;  // x * -x + x
  chain.steps = {chain_word(OpId::kNeg, 0), chain_word(OpId::kMul, 0, kChainFirstStep),
                 chain_word(OpId::kAdd, kChainFirstStep + 1, 0)};
  b.node(OpId::kFusedElementwise, {x}, {y}, chain);
  b.entry("main", {x}, {y});
  auto program = Program::load(b.finish());
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok()) << session.status().message();
  float numbers[] = {0, 1, -3, 5};
  const TensorView in(numbers, DType::kF32, {4});
  TensorView out;
  const Status s = (*session)->run({&in, 1}, {&out, 1});
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(std::vector<float>(out.as<float>(), out.as<float>() + 4),
              testing::ElementsAre(0, 0, -12, -20));
}

}  // namespace
}  // namespace wick
