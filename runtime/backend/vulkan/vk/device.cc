#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

Device::~Device() {
  if (device_ == VK_NULL_HANDLE || api_.DestroyDevice == nullptr) return;
  if (api_.DeviceWaitIdle != nullptr) api_.DeviceWaitIdle(device_);
  api_.DestroyDevice(device_, nullptr);
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
  VkDeviceCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  WICK_TRY(check(api_.CreateDevice(info.handle, &create, nullptr, &device_), "vkCreateDevice"));
  WICK_TRY(load_device_functions(device_, api_));
  api_.GetDeviceQueue(device_, info.queue_family, 0, &queue_);
  return {};
}

}  // namespace wick::vulkan
