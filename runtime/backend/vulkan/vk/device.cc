#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

Device::~Device() {
  if (device_ == VK_NULL_HANDLE || api_.DestroyDevice == nullptr || abandoned()) return;
  if (api_.DeviceWaitIdle != nullptr) api_.DeviceWaitIdle(device_);
  api_.DestroyDevice(device_, nullptr);
}

bool Device::settle() {
  // After a loss the queue counts as idle; another error may concern the call and not the queue.
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
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  timeline.timelineSemaphore = VK_TRUE;
  VkDeviceCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  // The features that our shaders may use, as far as the info says that the device has them.
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  storage16.storageBuffer16BitAccess = VK_TRUE;
  VkPhysicalDeviceShaderFloat16Int8Features small = {};
  small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  small.shaderFloat16 = VK_TRUE;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {};
  dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  dot.shaderIntegerDotProduct = VK_TRUE;
  VkPhysicalDeviceVulkanMemoryModelFeatures model = {};
  model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
  model.vulkanMemoryModel = VK_TRUE;
  model.vulkanMemoryModelDeviceScope = VK_TRUE;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix = {};
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
  matrix.cooperativeMatrix = VK_TRUE;
  const char* extensions[6] = {};
  const void** next = &create.pNext;
  auto enable = [&](bool offered, auto& features, const char* extension) {
    if (!offered) return;
    *next = &features;
    next = const_cast<const void**>(&features.pNext);
    if (extension != nullptr) extensions[create.enabledExtensionCount++] = extension;
  };
  enable(info.f16_storage, storage16, nullptr);
  enable(info.f16_arithmetic, small, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  if (info.f16_ieee)
    extensions[create.enabledExtensionCount++] = VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME;
  enable(info.integer_dot, dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  enable(info.matrix_units, model, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
  enable(info.matrix_units, matrix, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
  enable(info.timeline, timeline, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  create.ppEnabledExtensionNames = extensions;
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
