// Whole models on a device whose shaders see only a small part of a tensor: the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <cstring>

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
  auto backend = open_device(vulkan);
  auto session = open_session(m, *backend, counts);
  Status s = run_into(*session, m, y);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ(session->left_backend(), "");
  return y;
}

// `step`: how far apart, of the largest element; 0 for the same bits.
void expect_same(const TestModel& m, uint64_t range, uint64_t allocation, float step) {
  Counts whole, parts;
  const std::vector<float> want = run(m, {}, &whole);
  for (bool staging : {false, true}) {
    VulkanOptions vulkan;
    vulkan.force_staging = staging;
    vulkan.max_range = range;
    vulkan.max_allocation = allocation;
    parts = Counts();
    const std::vector<float> got = run(m, vulkan, &parts);
    ASSERT_EQ(got.size(), want.size());
    float most = 0, apart = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      most = std::max(most, std::fabs(want[i]));
      apart = std::max(apart, std::fabs(got[i] - want[i]));
    }
    EXPECT_LE(apart, step * most) << m.name;
    EXPECT_EQ(parts.cpu, whole.cpu) << "the device runs what it runs otherwise";
    EXPECT_GT(parts.device, whole.device) << "more dispatches";
  }
}

// The largest weight is 1.6 MB, an image's activations 100 KB.
TEST(VulkanSplit, LeNetInParts) {
  WICK_NEED_MODEL(m, lenet_model());
  expect_same(*m, 26624, 1 << 21, 0);
}

TEST(VulkanSplit, GptInParts) {
  WICK_NEED_MODEL(m, gpt_model());
  // Parts of few rows are gemv.comp's, which adds along k in lanes: 32 products at most 64 long,
  // two roundings apart each.
  expect_same(*m, 5120, 1 << 15, 0x1p-20f);
}

}  // namespace
}  // namespace wick::test
