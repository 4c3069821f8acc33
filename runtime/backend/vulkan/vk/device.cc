#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

Device::~Device() {
  if (device_ == VK_NULL_HANDLE || api_.DestroyDevice == nullptr || abandoned()) return;
  if (api_.DeviceWaitIdle != nullptr) api_.DeviceWaitIdle(device_);
  api_.DestroyDevice(device_, nullptr);
}

bool Device::settle() {
  // After a loss the queue counts as done; another error may be of the call and not of the queue.
  for (int attempt = 0; attempt < 2 && !abandoned(); ++attempt) {
    VkResult r = api_.DeviceWaitIdle(device_);
    if (r == VK_SUCCESS || r == VK_ERROR_DEVICE_LOST) return true;
  }
  abandon();
  return false;
}

Status Device::open(const Instance& instance, const DeviceInfo& info) {
  api_ = instance.api();
  info_ = info;
  float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = info.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const char* extensions[] = {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  timeline.timelineSemaphore = VK_TRUE;
  VkDeviceCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  if (info.timeline) {
    create.pNext = &timeline;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = extensions;
  }
  VkDevice made = VK_NULL_HANDLE;  // undefined when it fails
  WICK_TRY(check(api_.CreateDevice(info.handle, &create, nullptr, &made), "vkCreateDevice"));
  device_ = made;
  WICK_TRY(load_device_functions(device_, api_));
  if (instance.intercept() != nullptr) instance.intercept()(api_);
  info_.timeline = info.timeline && api_.WaitSemaphoresKHR != nullptr;
  api_.GetDeviceQueue(device_, info.queue_family, 0, &queue_);
  return {};
}

}  // namespace wick::vulkan
