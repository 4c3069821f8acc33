// Instance: the loader, the Vulkan instance, and its devices, which choose_device() ranks.
#pragma once

#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/core/array.h"

namespace wick::vulkan {

struct DeviceInfo {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE] = {};
  uint32_t api_version = 0, driver_version = 0;
  uint32_t vendor_id = 0, device_id = 0;
  uint8_t device_uuid[VK_UUID_SIZE] = {};
  uint8_t cache_uuid[VK_UUID_SIZE] = {};  // identifies the driver's compiler
  uint32_t queue_family = 0;              // one with compute; without graphics if there is such
  bool has_compute = false;
  uint32_t timestamp_bits = 0;  // of that family; 0: no timestamps
  uint32_t subgroup_size = 0;
  bool subgroup_arithmetic = false;
  bool f16_storage = false, f16_arithmetic = false, i8_storage = false, integer_dot = false;
  // VK_KHR_shader_float_controls for 16-bit arithmetic: the modes that a module may request.
  // f16_ieee: all of them, and the arithmetic itself.
  bool f16_rounds_to_even = false, f16_keeps_subnormals = false, f16_keeps_specials = false;
  bool f16_ieee = false;
  bool timeline = false;  // VK_KHR_timeline_semaphore
  // VK_NV_cooperative_matrix with what our shader requires: tiles of 16 x 16 x 16 of 16-bit floats,
  // summed in 32 bits by a subgroup of 32, in work groups of 256.
  bool matrix_units = false;
  uint64_t local_bytes = 0;           // the largest device-local heap
  uint64_t max_allocation_bytes = 0;  // limit of one vkAllocateMemory
  VkPhysicalDeviceLimits limits = {};
  VkPhysicalDeviceMemoryProperties memory = {};
};

// Returns why the device lacks something that every shader of ours needs; empty if it is usable.
const char* why_unusable(const DeviceInfo& device);

// `selector`: null or "" for the best usable device (discrete, integrated, virtual, CPU; then
// memory), a decimal index into `devices`, or a part of a name (case-insensitive).
Result<size_t> choose_device(Span<const DeviceInfo> devices, const char* selector);

// Removes all features that a Vulkan 1.1 device need not have.
void forget_options(DeviceInfo& device);

// "gpu", "integrated gpu", "cpu" ...
const char* device_type_name(VkPhysicalDeviceType type);

class Instance {
 public:
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  // `library` null: the platform's loader. `intercept` may be null.
  Status open(const char* library = nullptr, Intercept intercept = nullptr);
  // From now on nothing of it is freed: one of its devices does not respond.
  void abandon();
  Status devices(Array<DeviceInfo>& out) const;
  const Api& api() const { return api_; }
  Intercept intercept() const { return intercept_; }

 private:
  Library library_;
  Intercept intercept_ = nullptr;
  Api api_;
  VkInstance instance_ = VK_NULL_HANDLE;
};

}  // namespace wick::vulkan
