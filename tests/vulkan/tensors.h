// Vulkan tensors of the trainer: every test runs on mapped memory and through staging buffers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/backend/vulkan/backend.h"
#include "tests/support/error_of.h"
#include "tests/vulkan/fault.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "wick/trainer.h"

namespace wick::test {

class VulkanTensors : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    set_faults({});
    VulkanOptions options;
    options.force_staging = GetParam();
    options.intercept = inject_faults;
    options.timeline = false;  // tests count waits for fences
    set_vulkan_options(options);
    if (!vulkan_is_available()) GTEST_SKIP() << "no Vulkan device: " << why_no_vulkan();
    manual_seed(7);
  }
  void TearDown() override {
    set_faults({});
    set_vulkan_options({});
  }
};

inline VulkanEager& eager_of(const Tensor& t) { return *spot_of(t.layout().data).place->eager; }

// The bound is relative to the largest of `want`, as for exported models (numerics.md's 1e-5): nets
// are long sums, whose small results have the error of their terms. Every op's elements have bounds
// of their own in rows_test.cc.
inline void expect_close(const Tensor& want, const Tensor& got, double bound = 1e-5) {
  ASSERT_TRUE(got.is_vulkan());
  ASSERT_EQ(want.raw_shape(), got.raw_shape());
  const std::vector<float> a = want.to_vector<float>(), b = got.to_vector<float>();
  float most = 0;
  for (float v : a) most = std::max(most, std::fabs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - b[i]), bound * static_cast<double>(most))
        << "element " << i << ": " << b[i] << ", the CPU's " << a[i];
  }
}

}  // namespace wick::test
