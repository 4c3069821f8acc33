// The cost of whole models on a device: a change of these numbers is intended, or it is a
// regression.
#include <gtest/gtest.h>

#include "runtime/backend/explain.h"
#include "tests/vulkan/models.h"

namespace wick::test {
namespace {

struct Cost final : ExplainHook {
  void on_step(const PlacedStep& s) override {
    if (s.index >= 0) ++(std::string(s.backend) == "cpu" ? on_cpu : on_device);
  }
  void on_copy(const PlacedCopy& c) override {
    ++copies;
    if (c.op[0] != '\0') ++copies_inside;
  }
  void on_part(const PlacedPart& p) override {
    ++parts;
    dispatches += p.kernels;
    barriers += p.barriers;
  }
  size_t on_cpu = 0, on_device = 0, parts = 0, dispatches = 0, barriers = 0, copies = 0,
         copies_inside = 0;
};

Cost cost_of(const TestModel& m) {
  Cost cost;
  VulkanOptions options;
  options.cache_folder = "";
  options.check_kernels = false;
  auto backend = open_device(options);
  auto session = open_session(m, *backend);
  Status s = session->bind({&m.input.shape, 1});
  EXPECT_TRUE(s.ok()) << s.message();
  s = session->explain(cost);
  EXPECT_TRUE(s.ok()) << s.message();
  return cost;
}

// All of it on the device at once, and nothing crosses in between.
void expect_whole(const Cost& c, size_t steps, size_t dispatches, size_t barriers) {
  EXPECT_EQ(c.on_cpu, 0u);
  EXPECT_EQ(c.on_device, steps);
  EXPECT_EQ(c.parts, 1u);
  EXPECT_EQ(c.dispatches, dispatches);
  EXPECT_EQ(c.barriers, barriers);
  EXPECT_EQ(c.copies, 2u);
  EXPECT_EQ(c.copies_inside, 0u);
}

TEST(VulkanCost, LeNet) {
  WICK_NEED_MODEL(m, lenet_model());
  expect_whole(cost_of(*m), 7, 6, 5);
}

// Positions and the mask, which are int64 and bool, are the device's too.
TEST(VulkanCost, SmallGpt) {
  WICK_NEED_MODEL(m, gpt_model());
  expect_whole(cost_of(*m), 43, 72, 65);
}

}  // namespace
}  // namespace wick::test
