// A Vulkan that fails: every n-th call that can say so returns an error instead of being made.
#pragma once

#include "runtime/backend/vulkan/vk/api.h"

namespace wick::test {

struct FaultPlan {
  int64_t every = 0;  // 0: none fails
  VkResult error = VK_ERROR_DEVICE_LOST;
  // Of one kind only: fails when the function is called ("WaitForFences"); null: any.
  const char* only = nullptr;
};

// VulkanOptions::intercept. One device at a time, from one thread.
void inject_faults(vulkan::Api& api);

// Starts to count anew.
void set_faults(const FaultPlan& plan);
int64_t fallible_calls();  // made since then
int64_t failed_calls();

}  // namespace wick::test
