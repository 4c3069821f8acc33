// The Vulkan functions that Wick calls, in one table filled at run time: nothing links to
// libvulkan, and the table can be wrapped (fault injection, tracing) in one place.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include "runtime/core/status.h"

namespace wick::vulkan {

#define WICK_VK_GLOBAL_FUNCTIONS(X) \
  X(CreateInstance)                 \
  X(EnumerateInstanceVersion)

#define WICK_VK_INSTANCE_FUNCTIONS(X)       \
  X(DestroyInstance)                        \
  X(EnumeratePhysicalDevices)               \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(EnumerateDeviceExtensionProperties)     \
  X(GetPhysicalDeviceMemoryProperties)      \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)

#define WICK_VK_DEVICE_FUNCTIONS(X) \
  X(DestroyDevice)                  \
  X(GetDeviceQueue)                 \
  X(CreateBuffer)                   \
  X(DestroyBuffer)                  \
  X(GetBufferMemoryRequirements)    \
  X(AllocateMemory)                 \
  X(FreeMemory)                     \
  X(BindBufferMemory)               \
  X(MapMemory)                      \
  X(CreateShaderModule)             \
  X(DestroyShaderModule)            \
  X(CreatePipelineCache)            \
  X(DestroyPipelineCache)           \
  X(GetPipelineCacheData)           \
  X(MergePipelineCaches)            \
  X(CreateDescriptorSetLayout)      \
  X(DestroyDescriptorSetLayout)     \
  X(CreatePipelineLayout)           \
  X(DestroyPipelineLayout)          \
  X(CreateComputePipelines)         \
  X(DestroyPipeline)                \
  X(CreateDescriptorPool)           \
  X(DestroyDescriptorPool)          \
  X(AllocateDescriptorSets)         \
  X(UpdateDescriptorSets)           \
  X(CreateCommandPool)              \
  X(DestroyCommandPool)             \
  X(AllocateCommandBuffers)         \
  X(ResetCommandPool)               \
  X(BeginCommandBuffer)             \
  X(EndCommandBuffer)               \
  X(CmdBindPipeline)                \
  X(CmdBindDescriptorSets)          \
  X(CmdPushConstants)               \
  X(CmdDispatch)                    \
  X(CmdPipelineBarrier)             \
  X(CmdCopyBuffer)                  \
  X(CmdFillBuffer)                  \
  X(CreateQueryPool)                \
  X(DestroyQueryPool)               \
  X(GetQueryPoolResults)            \
  X(CmdResetQueryPool)              \
  X(CmdWriteTimestamp)              \
  X(CreateFence)                    \
  X(DestroyFence)                   \
  X(ResetFences)                    \
  X(WaitForFences)                  \
  X(CreateSemaphore)                \
  X(DestroySemaphore)               \
  X(QueueSubmit)                    \
  X(DeviceWaitIdle)

// Extension functions: null if the device lacks them.
#define WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X) X(WaitSemaphoresKHR)

struct Api {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define X(name) PFN_vk##name name = nullptr;
  WICK_VK_GLOBAL_FUNCTIONS(X)
  WICK_VK_INSTANCE_FUNCTIONS(X)
  WICK_VK_DEVICE_FUNCTIONS(X)
  WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
};

// Replaces entries of a table that was just filled; for tests that make Vulkan fail.
using Intercept = void (*)(Api&);

// The loader library, kept open as long as any of its functions may be called.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();
  // Never closes it: a driver's threads may still run in it.
  void abandon() { handle_ = nullptr; }
  // Fails with kDevice when there is no loader on this machine. `name` null: the platform's usual
  // name.
  Status open(const char* name, Api& api);

 private:
  void* handle_ = nullptr;
};

Status load_instance_functions(VkInstance instance, Api& api);
Status load_device_functions(VkDevice device, Api& api);

// Returns "VK_ERROR_DEVICE_LOST" and the like, for messages.
const char* result_name(VkResult result);

// Returns kOutOfMemory for Vulkan's memory errors, kDevice for every other failure.
Status check(VkResult result, const char* what);
// Returns whether the status comes from check(VK_ERROR_DEVICE_LOST), not from an error of a single
// call.
bool is_device_lost(const Status& status);

}  // namespace wick::vulkan
