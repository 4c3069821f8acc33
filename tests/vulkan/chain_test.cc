// A chain in one dispatch has the bits of its steps one by one, which have bounds of their own.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/ops/chain.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using vulkan::TensorId;
using vulkan::VulkanGraph;

// Takes the parts of a chain, and the whole only where told to.
class Into final : public vulkan::Builder {
 public:
  Into(VulkanGraph& graph, bool whole) : graph_(graph), whole_(whole) {}
  Result<TensorId> temporary(DType dtype, const Shape& shape) override {
    return graph_.add_temporary(dtype, shape);
  }
  Result<TensorId> constant(DType dtype, double value) override {
    EXPECT_EQ(dtype, DType::kF32);
    kept_.push_back(std::make_unique<float>(static_cast<float>(value)));
    return graph_.add_constant(dtype, Shape{}, kept_.back().get());
  }
  Status call(OpId op, const void* attrs, Span<const TensorId> in,
              Span<const TensorId> out) override {
    if (op == OpId::kFusedElementwise && !whole_) return Status(Code::kUnsupported, "in parts");
    return graph_.add_call(op, attrs, in, out);
  }

 private:
  VulkanGraph& graph_;
  bool whole_;
  std::vector<std::unique_ptr<float>> kept_;
};

// Returns how many dispatches it took; 0 if the device has no shaders for it.
size_t run(const Sample& s, const std::vector<Value>& in, bool whole, Value& out) {
  VulkanGraph graph(*shared_context(false), default_allocator());
  std::vector<TensorId> ids;
  std::vector<TensorView> views;
  std::vector<const void*> from;
  for (const Value& v : in) {
    ids.push_back(graph.add_input(v.view().dtype, v.view().shape).value());
    views.push_back(v.view());
    from.push_back(v.view().data);
  }
  const TensorId y = graph.add_temporary(DType::kF32, out.view().shape).value();
  Into parts(graph, whole);
  const TensorView made = out.view();
  const Status status = vulkan::expand(
      {OpId::kFusedElementwise, s.attrs.get(), views, ids, {&made, 1}, {&y, 1}}, parts);
  if (status.code() == Code::kUnsupported) return 0;
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(graph.add_output(y).ok());
  EXPECT_TRUE(graph.finish().ok());
  void* to = out.view().data;
  EXPECT_TRUE(graph.run(from, {&to, 1}).ok());
  return graph.dispatches();
}

TEST(VulkanChains, HaveTheBitsOfTheirSteps) {
  WICK_NEED_DEVICE();
  int in_one = 0;
  for (const Sample& s : kTest_FusedElementwise.samples()) {
    SCOPED_TRACE(s.name);
    const auto in = make_inputs(s);
    std::vector<Value> want;
    if (!run_op(OpId::kFusedElementwise, s.attrs.get(), in, 1, cpu_sets(), nullptr, &want).ok() ||
        want[0].view().numel() == 0)
      continue;
    Value whole(DType::kF32, want[0].view().shape), parts(DType::kF32, want[0].view().shape);
    const size_t dispatches = run(s, in, true, whole);
    if (dispatches == 0 || run(s, in, false, parts) == 0) continue;
    in_one += dispatches == 1;
    EXPECT_EQ(bits_differ(whole.view(), parts.view()), "");
  }
  EXPECT_GE(in_one, 5);
}

// Five inputs, every way of broadcasting, constants, conditions, parameters.
TEST(VulkanChains, BroadcastAndChoose) {
  WICK_NEED_DEVICE();
  ChainAttrs a;
  const auto constant = [&](double v) {
    memcpy(&a.constants.values[a.constants.count], &v, sizeof(v));
    return kChainFirstConstant + static_cast<int>(a.constants.count++);
  };
  const auto step = [&](OpId op, int p, int q = 0, int r = 0) {
    a.steps.values[a.steps.count] = chain_word(op, p, q, r);
    return kChainFirstStep + static_cast<int>(a.steps.count++);
  };
  const int sum = step(OpId::kAdd, 0, 1), scaled = step(OpId::kMul, sum, constant(1.7));
  const int less = step(OpId::kLess, scaled, 2),
            clipped = step(OpId::kClip, scaled, constant(-1), constant(1.5));
  const int soft = step(OpId::kTanh, 3), other = step(OpId::kSub, soft, 4);
  step(OpId::kWhere, less, clipped, other);
  const Sample s =
      sample("broadcast",
             {f32({3, 1, 17, 5}), f32({65, 1, 1}), f32({}), f32({5}), f32({3, 65, 17, 5})}, a);
  const auto in = make_inputs(s);
  Value whole(DType::kF32, Shape{3, 65, 17, 5}), parts(DType::kF32, Shape{3, 65, 17, 5});
  EXPECT_EQ(run(s, in, true, whole), 1u);
  EXPECT_EQ(run(s, in, false, parts), 7u);
  EXPECT_EQ(bits_differ(whole.view(), parts.view()), "");
}

}  // namespace
}  // namespace wick::test
