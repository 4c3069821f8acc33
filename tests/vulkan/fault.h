// A Vulkan that fails: every n-th call that can report an error returns one instead of being made.
#pragma once

#include "runtime/backend/vulkan/vk/api.h"

namespace wick::test {

struct FaultPlan {
  int64_t every = 0;  // 0: none fails
  VkResult error = VK_ERROR_DEVICE_LOST;
  // The only function that fails ("WaitForFences"); null: any.
  const char* only = nullptr;
};

// VulkanOptions::intercept. One device at a time, from one thread.
void inject_faults(vulkan::Api& api);

// Starts to count anew.
void set_faults(const FaultPlan& plan);
int64_t fallible_calls();  // made since then
int64_t failed_calls();

}  // namespace wick::test
