// What commands do by themselves is held to limits of memory and time.
#include "tools/lib/limits.h"

#include <gtest/gtest.h>

#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// A file of a hundred bytes fixes any size.
TEST(QuickLimits, InputsAreMadeUpWithinTheLimits) {
  for (const auto& [dtype, bytes] : {std::pair{DType::kF32, uint64_t{1} << 18},
                                     std::pair{DType::kString, 112 * (uint64_t{1} << 16)}}) {
    ir::Graph g;
    g.add_output("y", g.emit(OpId::kIdentity, {g.add_input("x", dtype, {1 << 16})}, "same"));
    const Model model = Model::from_graph(g, false);
    Runner runner(model, {});
    const QuickLimits limits(uint64_t{1} << 16, 0);
    try {
      sample_inputs(runner.session(), model.program(), {});
      ADD_FAILURE() << dtype_name(dtype);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kBudgetExceeded);
      EXPECT_EQ(std::string(e.what()), "the inputs take " + std::to_string(bytes) +
                                           " bytes, more than the 65536 that may be made up here");
    }
  }
}

// What a command does by itself ends, and the limits are gone with their block.
TEST(QuickLimits, HoldForRunsOfTheirBlock) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n")});
  HostTensor size(DType::kI64, {2});
  size.as<int64_t>()[0] = 1 << 20, size.as<int64_t>()[1] = 64;
  g.add_output("y", g.emit(OpId::kExpand, {x, g.add_constant(size, "size")}, "expand"));
  const Model model = Model::from_graph(g, false);
  HostTensor one(DType::kF32, {1});
  {
    const QuickLimits limits(uint64_t{1} << 20, 1e-9);
    EXPECT_EQ(within_memory(uint64_t{1} << 33), uint64_t{1} << 20);
    EXPECT_EQ(time_left_ns(), 1u);
    Runner runner(model, {});
    EXPECT_THROW(runner.run({&one, 1}), Error);
  }
  EXPECT_EQ(within_memory(uint64_t{1} << 33), uint64_t{1} << 33);
  EXPECT_EQ(time_left_ns(), 0u);
}

}  // namespace
}  // namespace wick::tool
