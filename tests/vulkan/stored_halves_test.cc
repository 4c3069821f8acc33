// Tensors stored as 16-bit floats, computed in 32 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/backend/vulkan/graph/graph.h"
#include "tests/ops/values.h"
#include "tests/vulkan/against_oracle.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

Input f16(Shape s, double lo = -1, double hi = 1) { return of(DType::kF16, s, lo, hi); }

bool stores_halves() { return shared_context(false)->device().info().f16_storage; }

TEST(VulkanHalves, WithinBoundsOfTheDoubleOracle) {
  WICK_NEED_DEVICE();
  if (!stores_halves()) GTEST_SKIP() << "the device stores no 16-bit floats";
  ConvAttrs same, depthwise;
  same.pads = {1, 1, 1, 1};
  depthwise = same;
  depthwise.group = 9;
  EpilogueAttrs silu;
  silu.activation = static_cast<int64_t>(Activation::kSilu);
  PoolAttrs half;
  half.kernel_shape = {3, 2};
  ReduceAttrs last;
  const struct {
    OpId op;
    Sample sample;
  } cases[] = {
      {OpId::kMatMul, sample("large", {f16({48, 65, 17}), f16({48, 17, 129})})},
      {OpId::kMatMul, sample("small", {f16({17, 33, 63}), f16({17, 63, 65})})},
      {OpId::kMatMul, sample("thin", {f16({3, 65}), f16({65, 63})})},
      {OpId::kMatMul, sample("tiles of few rows", {f16({129, 65}), f16({65, 63})})},
      {OpId::kFusedLinear,
       sample("linear",
              {f16({65, 63}), f16({17, 63}), f16({17}), f16({17}), f16({17}), f16({65, 17})},
              silu)},
      {OpId::kConv, sample("conv", {f16({5, 3, 31, 33}), f16({65, 3, 3, 3}), f16({65})}, same)},
      {OpId::kConv, sample("few", {f16({1, 3, 7, 7}), f16({17, 3, 3, 3}), f16({17})}, same)},
      {OpId::kConv, sample("depthwise", {f16({3, 9, 7, 9}), f16({9, 1, 3, 3})}, depthwise)},
      {OpId::kAdd, sample("add", {f16({3, 1, 65}), f16({17, 1})})},
      {OpId::kDiv, sample("div", {f16({129}), f16({129}, 0.5, 2)})},
      {OpId::kTanh, sample("tanh", {f16({63}, -4, 4)})},
      {OpId::kExp, sample("exp", {f16({65}, -12, 4)})},
      {OpId::kSoftmax, sample("softmax", {f16({3, 129}, -8, 8)}, AxisAttrs{1})},
      {OpId::kAveragePool, sample("pool", {f16({1, 3, 17, 9})}, half)},
      {OpId::kReduceMean, sample("mean", {f16({17, 65})}, last)},
      {OpId::kBatchNorm,
       sample("norm", {f16({2, 17, 3, 3}), f16({17}), f16({17}), f16({17}), f16({17}, 0.5, 2)},
              BatchNormAttrs{})},
  };
  double worst = 0;
  for (const auto& c : cases)
    worst = std::max(worst, expect_halves_within_bounds(*shared_context(false), c.op, c.sample));
  EXPECT_GE(worst, 1.0 / 50) << "the bounds are too loose to mean anything";
}

// Without 16-bit storage such a call has no shader, and says so.
TEST(VulkanHalves, AreLeftWhereTheDeviceStoresNone) {
  TensorView views[] = {TensorView(nullptr, DType::kF16, Shape{8}),
                        TensorView(nullptr, DType::kF16, Shape{8})};
  OpCall call;
  call.op = OpId::kSoftmax;
  const AxisAttrs axis{0};
  call.attrs = &axis;
  call.in = {views, 1};
  call.out = {views + 1, 1};
  vulkan::Lowered plain(default_allocator());
  EXPECT_EQ(vulkan::lower(call, plain).code(), Code::kUnsupported);
  vulkan::Capabilities can;
  can.f16_storage = true;
  vulkan::Lowered able(default_allocator(), can);
  EXPECT_TRUE(vulkan::lower(call, able).ok());
  views[0] = TensorView(nullptr, DType::kF32, Shape{8});  // a call is of one kind
  EXPECT_EQ(vulkan::lower(call, able).code(), Code::kUnsupported);
}

}  // namespace
}  // namespace wick::test
