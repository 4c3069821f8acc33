// The backend through the Backend interface, on partitions made by hand.
#include "runtime/backend/vulkan/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/ops/values.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

Result<Owned<VulkanBackend>> open_backend(bool force_staging, const char* device = nullptr) {
  VulkanOptions options;
  options.force_staging = force_staging;
  options.device = device;
  return VulkanBackend::create(default_allocator(), options);
}

KernelQuery query(OpId op, const void* attrs, const std::vector<TensorView>& in,
                  const std::vector<TensorView>& out) {
  return {op, attrs, in, out, 1};
}

TEST(VulkanBackendTest, TakesWhatItHasShadersFor) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false);
  ASSERT_TRUE(backend.ok()) << backend.status().message();
  EXPECT_STREQ(backend.value()->name(), "vulkan");
  EXPECT_STRNE(backend.value()->device_name(), "");
  NoAttrs none;
  TensorView f32(nullptr, DType::kF32, {2, 3}), f64(nullptr, DType::kF64, {2, 3}),
      empty(nullptr, DType::kF32, {0, 3});
  TensorView huge(nullptr, DType::kF32, {int64_t{1} << 31});
  Backend& b = **backend;
  EXPECT_TRUE(b.supports(query(OpId::kRelu, &none, {f32}, {f32})));
  EXPECT_FALSE(b.supports(query(OpId::kSinh, &none, {f64}, {f64})));
  EXPECT_TRUE(b.supports(query(OpId::kRelu, &none, {empty}, {empty})));  // nothing is run
  EXPECT_FALSE(b.supports(query(OpId::kRelu, &none, {huge}, {huge})));
  EXPECT_FALSE(b.supports(query(OpId::kTfIdfVectorizer, &none, {f32}, {f32})));
}

// Nothing to compute is the device's only where something would be.
TEST(VulkanBackendTest, AnEmptyCallIsItsOpsMatter) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false);
  ASSERT_TRUE(backend.ok()) << backend.status().message();
  Backend& b = **backend;
  NoAttrs none;
  for (int64_t rows : {0, 2}) {
    TensorView f32(nullptr, DType::kF32, {rows, 3}), f64(nullptr, DType::kF64, {rows, 3}),
        flags(nullptr, DType::kBool, {rows, 3}), integers(nullptr, DType::kI32, {rows, 3});
    EXPECT_TRUE(b.supports(query(OpId::kAdd, &none, {f32, f32}, {f32}))) << rows;
    EXPECT_TRUE(b.supports(query(OpId::kExp, &none, {f64}, {f64}))) << rows;
    EXPECT_FALSE(b.supports(query(OpId::kSinh, &none, {f64}, {f64}))) << rows;
    EXPECT_FALSE(b.supports(query(OpId::kTfIdfVectorizer, &none, {f32}, {f32}))) << rows;
    EXPECT_TRUE(b.supports(query(OpId::kIsNaN, &none, {f32}, {flags}))) << rows;
    const Status s = b.why_not(query(OpId::kSinh, &none, {integers}, {integers}));
    EXPECT_STREQ(s.message(), "no shader for this op of integers") << rows;
  }
}

// Temporary memory comes from the allocator that it was given.
TEST(VulkanBackendTest, LooksForShadersInTheAllocatorGiven) {
  class None final : public Allocator {
   public:
    void* allocate(size_t, size_t) override { return nullptr; }
    void deallocate(void*, size_t, size_t) override {}
  } none_left;
  NoAttrs none;
  TensorView f32(nullptr, DType::kF32, {2, 3});
  const std::vector<TensorView> x = {f32};
  const KernelQuery q = query(OpId::kRelu, &none, x, x);
  if (!VulkanBackend::has_shaders(q)) return;  // built without Vulkan
  EXPECT_FALSE(VulkanBackend::has_shaders(q, none_left));
}

TEST(VulkanBackendTest, UnknownDeviceSaysSo) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false, "no such device");
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.status().code(), Code::kNotFound);
  EXPECT_NE(std::strstr(backend.status().message(), "no Vulkan device \"no such device\""),
            nullptr);
}

// y = relu(reshape(x + k)), z = x + k: a constant, a shape that stays on the host, two outputs.
class HandMade {
 public:
  HandMade() {
    values_[kX] = {"x", DType::kF32, 0, {2, 6}, nullptr, {}, kNoIndex};
    values_[kK] = {"k", DType::kF32, 0, {6}, k, {}, 0};
    values_[kZ] = {"z", DType::kF32, 0, {2, 6}, nullptr, {}, kNoIndex};
    values_[kShape] = {"shape", DType::kI64, 0, {2}, shape, {}, 1};
    values_[kR] = {"r", DType::kF32, 0, {3, 4}, nullptr, {}, kNoIndex};
    values_[kY] = {"y", DType::kF32, 0, {3, 4}, nullptr, {}, kNoIndex};
    add_.op = OpId::kAdd;
    reshape_.op = OpId::kReshape;
    relu_.op = OpId::kRelu;
    add_.attrs = relu_.attrs = &none_;
    reshape_.attrs = &reshape_attrs_;
    steps_[0].node = &add_;
    steps_[0].in = add_in_;
    steps_[0].out = add_out_;
    steps_[1].node = &reshape_;
    steps_[1].in = reshape_in_;
    steps_[1].out = reshape_out_;
    steps_[2].node = &relu_;
    steps_[2].in = reshape_out_;
    steps_[2].out = relu_out_;
    spec.values = values_;
    spec.steps = steps_;
    spec.inputs = inputs_;
    spec.outputs = outputs_;
  }

  Status run(Partition& partition, uint64_t deadline_ns = 0) {
    TensorView views[kCount];
    views[kX] = TensorView(x, DType::kF32, {2, 6});
    views[kZ] = TensorView(z, DType::kF32, {2, 6});
    views[kY] = TensorView(y, DType::kF32, {3, 4});
    RunCtx ctx;
    ctx.values = views;
    Stop stop;
    stop.arm(deadline_ns, nullptr);
    ctx.stop = &stop;
    return partition.run(ctx);
  }

  float x[12] = {}, y[12] = {}, z[12] = {};
  float k[6] = {-3, -2, -1, 0, 1, 2};
  PartitionSpec spec;

 private:
  enum : uint32_t { kX, kK, kZ, kShape, kR, kY, kCount };
  int64_t shape[2] = {3, 4};
  PlanValue values_[kCount];
  NodeDef add_, reshape_, relu_;
  NoAttrs none_;
  ReshapeAttrs reshape_attrs_;
  uint32_t add_in_[2] = {kX, kK}, add_out_[1] = {kZ};
  uint32_t reshape_in_[2] = {kZ, kShape}, reshape_out_[1] = {kR};
  uint32_t relu_out_[1] = {kY};
  uint32_t inputs_[1] = {kX}, outputs_[2] = {kZ, kY};
  PlanStep steps_[3];
};

TEST(VulkanBackendTest, PartitionRunsAgainAndAgain) {
  WICK_NEED_DEVICE();
  for (bool staging : {false, true}) {
    auto backend = open_backend(staging);
    ASSERT_TRUE(backend.ok());
    HandMade made;
    auto partition = backend.value()->compile(made.spec, default_allocator());
    ASSERT_TRUE(partition.ok()) << partition.status().message();
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 12; ++i) made.x[i] = static_cast<float>(i % 5 - 2 * round);
      Status s = made.run(*partition.value());
      ASSERT_TRUE(s.ok()) << s.message();
      for (int i = 0; i < 12; ++i) {
        float sum = made.x[i] + made.k[i % 6];
        EXPECT_EQ(made.z[i], sum);
        EXPECT_EQ(made.y[i], sum > 0 ? sum : 0);
      }
    }
    // z and the sum behind y share bytes; x, the constant and y have their own 256-byte regions.
    EXPECT_GE(partition.value()->held_bytes(), 256u);
    EXPECT_LE(partition.value()->held_bytes(), 2048u);
  }
}

TEST(VulkanBackendTest, PastDeadlineLeavesOutputsAlone) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false);
  ASSERT_TRUE(backend.ok());
  HandMade made;
  auto partition = backend.value()->compile(made.spec, default_allocator());
  ASSERT_TRUE(partition.ok());
  made.y[0] = 42;
  EXPECT_EQ(made.run(*partition.value(), 1).code(), Code::kDeadline);
  EXPECT_EQ(made.y[0], 42);
}

TEST(VulkanBackendTest, AStepItCannotRunIsNamed) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false);
  ASSERT_TRUE(backend.ok());
  PlanValue values[2];
  values[0] = {"x", DType::kF32, 0, {4}, nullptr, {}, kNoIndex};
  values[1] = {"y", DType::kF32, 0, {4}, nullptr, {}, kNoIndex};
  NodeDef node;
  NoAttrs none;
  node.op = OpId::kTfIdfVectorizer;
  node.attrs = &none;
  node.name = "words_7";
  uint32_t in[] = {0}, out[] = {1};
  PlanStep step;
  step.node = &node;
  step.in = in;
  step.out = out;
  PartitionSpec spec;
  spec.values = values;
  spec.steps = {&step, 1};
  spec.inputs = in;
  spec.outputs = out;
  auto partition = backend.value()->compile(spec, default_allocator());
  ASSERT_FALSE(partition.ok());
  EXPECT_EQ(partition.status().code(), Code::kUnsupported);
  EXPECT_STREQ(partition.status().message(),
               "node words_7 (TfIdfVectorizer): no shader for this op");
}

}  // namespace
}  // namespace wick::test
