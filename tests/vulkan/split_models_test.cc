// Whole models on a device that shows its shaders little of a tensor: the same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/session.h"
#include "tests/vulkan/models.h"

namespace wick::test {
namespace {

class Counts final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override {
    ++(std::strcmp(event.backend, "cpu") == 0 ? cpu : device);
  }
  int device = 0, cpu = 0;
};

std::vector<float> run(const TestModel& m, const VulkanOptions& vulkan, Counts* counts) {
  std::vector<float> y;
  auto backend = VulkanBackend::create(default_allocator(), vulkan);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  SessionOptions options;
  options.backend = backend->get();
  options.trace = counts;
  auto session = Session::create(*m.program, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  TensorView in = m.input, out;
  Status s = (*session)->run({&in, 1}, {&out, 1});
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ((*session)->left_backend(), "");
  if (s.ok()) y.assign(out.as<float>(), out.as<float>() + out.numel());
  return y;
}

void expect_same(const TestModel& m, uint64_t range, uint64_t allocation) {
  Counts whole, parts;
  const std::vector<float> want = run(m, {}, &whole);
  for (bool staging : {false, true}) {
    VulkanOptions vulkan;
    vulkan.force_staging = staging;
    vulkan.max_range = range;
    vulkan.max_allocation = allocation;
    parts = Counts();
    const std::vector<float> got = run(m, vulkan, &parts);
    EXPECT_EQ(got, want) << m.name;
    EXPECT_EQ(parts.cpu, whole.cpu) << "the device runs what it runs otherwise";
    EXPECT_EQ(parts.device, whole.device);
  }
}

// The largest weight is 1.6 MB, an image's activations 100 KB.
TEST(VulkanSplit, LeNetInParts) {
  WICK_NEED_MODEL(m, lenet_model());
  expect_same(*m, 26624, 1 << 21);
}

TEST(VulkanSplit, GptInParts) {
  WICK_NEED_MODEL(m, gpt_model());
  expect_same(*m, 5120, 1 << 15);
}

}  // namespace
}  // namespace wick::test
