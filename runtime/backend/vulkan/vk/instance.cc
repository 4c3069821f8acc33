#include "runtime/backend/vulkan/vk/instance.h"

#include <cstdlib>
#include <cstring>

namespace wick::vulkan {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains_ignoring_case(const char* text, const char* part) {
  for (; *text != '\0'; ++text) {
    size_t i = 0;
    while (part[i] != '\0' && lower(text[i]) == lower(part[i])) ++i;
    if (part[i] == '\0') return true;
  }
  return false;
}

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
    default: return 0;
  }
}

Status choose_queue_family(const Api& api, Allocator& allocator, DeviceInfo& info) {
  uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(info.handle, &count, nullptr);
  Array<VkQueueFamilyProperties> families(allocator);
  WICK_TRY(families.resize(count));
  api.GetPhysicalDeviceQueueFamilyProperties(info.handle, &count, families.data());
  bool dedicated = false;
  for (uint32_t i = 0; i < count; ++i) {
    VkQueueFlags flags = families[i].queueFlags;
    if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    bool alone = (flags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (info.has_compute && (dedicated || !alone)) continue;
    info.has_compute = true;
    info.queue_family = i;
    info.timestamp_bits = families[i].timestampValidBits;
    dedicated = alone;
  }
  return {};
}

void read_properties(const Api& api, DeviceInfo& info) {
  VkPhysicalDeviceMaintenance3Properties maintenance = {};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  VkPhysicalDeviceIDProperties ids = {};
  ids.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceSubgroupProperties subgroup = {};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroup.pNext = &maintenance;
  ids.pNext = &subgroup;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &ids;
  api.GetPhysicalDeviceProperties2(info.handle, &properties);
  info.type = properties.properties.deviceType;
  info.api_version = properties.properties.apiVersion;
  info.subgroup_size = subgroup.subgroupSize;
  info.subgroup_arithmetic =
      (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
      (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  info.driver_version = properties.properties.driverVersion;
  info.vendor_id = properties.properties.vendorID;
  info.device_id = properties.properties.deviceID;
  memcpy(info.cache_uuid, properties.properties.pipelineCacheUUID, VK_UUID_SIZE);
  memcpy(info.device_uuid, ids.deviceUUID, VK_UUID_SIZE);
  info.limits = properties.properties.limits;
  info.max_allocation_bytes = maintenance.maxMemoryAllocationSize;
  memcpy(info.name, properties.properties.deviceName, sizeof(info.name));
  info.name[sizeof(info.name) - 1] = '\0';
  api.GetPhysicalDeviceMemoryProperties(info.handle, &info.memory);
  for (uint32_t i = 0; i < info.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = info.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap.size > info.local_bytes) {
      info.local_bytes = heap.size;
    }
  }
}

void read_float_controls(const Api& api, DeviceInfo& info) {
  VkPhysicalDeviceFloatControlsProperties controls = {};
  controls.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &controls;
  api.GetPhysicalDeviceProperties2(info.handle, &properties);
  info.f16_rounds_to_even = controls.shaderRoundingModeRTEFloat16 == VK_TRUE;
  info.f16_keeps_subnormals = controls.shaderDenormPreserveFloat16 == VK_TRUE;
  info.f16_keeps_specials = controls.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE;
  info.f16_ieee = info.f16_arithmetic && info.f16_rounds_to_even && info.f16_keeps_subnormals &&
                  info.f16_keeps_specials;
}

// Reads the features beyond Vulkan 1.1 that the driver reports.
Status read_features(const Api& api, VkInstance instance, Allocator& allocator, DeviceInfo& info) {
  uint32_t count = 0;
  Array<VkExtensionProperties> extensions(allocator);
  WICK_TRY(check(api.EnumerateDeviceExtensionProperties(info.handle, nullptr, &count, nullptr),
                 "vkEnumerateDeviceExtensionProperties"));
  WICK_TRY(extensions.resize(count));
  VkResult r =
      api.EnumerateDeviceExtensionProperties(info.handle, nullptr, &count, extensions.data());
  if (r != VK_INCOMPLETE) WICK_TRY(check(r, "vkEnumerateDeviceExtensionProperties"));
  // We use Vulkan 1.1, so later features count only if their extension is offered by name.
  auto has = [&](const char* name, bool core) {
    if (core) return true;
    for (const VkExtensionProperties& e : extensions) {
      if (strcmp(e.extensionName, name) == 0) return true;
    }
    return false;
  };
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  VkPhysicalDevice8BitStorageFeatures storage8 = {};
  storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  VkPhysicalDeviceShaderFloat16Int8Features small = {};
  small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {};
  dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix = {};
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  VkPhysicalDeviceFeatures2 features = {};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  void** next = &features.pNext;
  VkPhysicalDeviceVulkanMemoryModelFeatures model = {};
  model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
  auto ask = [&](auto& structure, const char* name, bool core = false) {
    if (!has(name, core)) return;
    *next = &structure;
    next = &structure.pNext;
  };
  ask(storage16, VK_KHR_16BIT_STORAGE_EXTENSION_NAME, true);
  ask(storage8, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  ask(small, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  ask(dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  ask(timeline, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  ask(matrix, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
  ask(model, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
  api.GetPhysicalDeviceFeatures2(info.handle, &features);
  info.f16_storage = storage16.storageBuffer16BitAccess == VK_TRUE;
  info.f16_arithmetic = small.shaderFloat16 == VK_TRUE;
  info.i8_storage = storage8.storageBuffer8BitAccess == VK_TRUE;
  if (has(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, false)) read_float_controls(api, info);
  info.integer_dot = dot.shaderIntegerDotProduct == VK_TRUE;
  info.timeline = timeline.timelineSemaphore == VK_TRUE;
  // With the memory model enabled, buffer atomics (in every shader) need its device scope, too.
  info.matrix_units = matrix.cooperativeMatrix == VK_TRUE && model.vulkanMemoryModel == VK_TRUE &&
                      model.vulkanMemoryModelDeviceScope == VK_TRUE && info.f16_storage &&
                      info.f16_arithmetic && info.subgroup_size == 32 &&
                      info.limits.maxComputeWorkGroupInvocations >= 256 &&
                      info.limits.maxComputeSharedMemorySize >= 32768;
  if (!info.matrix_units) return {};
  info.matrix_units = false;
  auto* properties = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV>(
      api.GetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV"));
  if (properties == nullptr || properties(info.handle, &count, nullptr) != VK_SUCCESS) return {};
  Array<VkCooperativeMatrixPropertiesNV> kinds(allocator);
  WICK_TRY(kinds.resize(count));
  for (VkCooperativeMatrixPropertiesNV& kind : kinds) {
    kind = {};
    kind.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV;
  }
  if (properties(info.handle, &count, kinds.data()) != VK_SUCCESS) return {};
  for (const VkCooperativeMatrixPropertiesNV& kind : kinds) {
    const bool size = kind.MSize == 16 && kind.NSize == 16 && kind.KSize == 16;
    const bool half =
        kind.AType == VK_COMPONENT_TYPE_FLOAT16_NV && kind.BType == VK_COMPONENT_TYPE_FLOAT16_NV;
    const bool sums =
        kind.CType == VK_COMPONENT_TYPE_FLOAT32_NV && kind.DType == VK_COMPONENT_TYPE_FLOAT32_NV;
    if (size && half && sums && kind.scope == VK_SCOPE_SUBGROUP_NV) info.matrix_units = true;
  }
  return {};
}

}  // namespace

const char* why_unusable(const DeviceInfo& device) {
  if (device.api_version < VK_API_VERSION_1_1) return "it is older than Vulkan 1.1";
  if (!device.has_compute) return "it has no compute queue";
  if (device.limits.maxPerStageDescriptorStorageBuffers < 7)
    return "a shader sees fewer than 7 buffers";
  if (device.limits.maxComputeWorkGroupInvocations < 128)
    return "its work groups are smaller than 128";
  if (device.limits.maxPushConstantsSize < 128)
    return "it has less than 128 bytes of push constants";
  return "";
}

void forget_options(DeviceInfo& device) {
  device.subgroup_arithmetic = false;
  device.f16_storage = device.f16_arithmetic = device.i8_storage = false;
  device.f16_rounds_to_even = device.f16_keeps_subnormals = device.f16_keeps_specials = false;
  device.f16_ieee = device.integer_dot = device.matrix_units = false;
}

const char* device_type_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete gpu";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated gpu";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual gpu";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
  }
}

Result<size_t> choose_device(Span<const DeviceInfo> devices, const char* selector) {
  if (devices.empty()) return Status(Code::kDevice, "no Vulkan device");
  if (selector != nullptr && selector[0] != '\0') {
    size_t index = devices.size();
    char* end = nullptr;
    unsigned long number = strtoul(selector, &end, 10);
    bool is_number = selector[0] >= '0' && selector[0] <= '9' && *end == '\0';
    if (is_number) {
      if (number < devices.size()) index = number;
    } else {
      for (size_t i = devices.size(); i-- > 0;) {
        if (contains_ignoring_case(devices[i].name, selector)) index = i;
      }
    }
    if (index == devices.size()) {
      return error(Code::kNotFound, "no Vulkan device \"%s\" among %zu (device 0 is \"%s\")",
                   selector, devices.size(), devices[0].name);
    }
    const char* reason = why_unusable(devices[index]);
    if (reason[0] != '\0') {
      return error(Code::kDevice, "Vulkan device \"%s\" cannot be used: %s", devices[index].name,
                   reason);
    }
    return index;
  }
  size_t best = devices.size();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (why_unusable(devices[i])[0] != '\0') continue;
    if (best == devices.size()) {
      best = i;
      continue;
    }
    int a = rank_of(devices[i].type);
    int b = rank_of(devices[best].type);
    if (a > b || (a == b && devices[i].local_bytes > devices[best].local_bytes)) best = i;
  }
  if (best == devices.size()) {
    return error(Code::kDevice, "no usable Vulkan device (\"%s\": %s)", devices[0].name,
                 why_unusable(devices[0]));
  }
  return best;
}

Instance::~Instance() {
  if (instance_ != VK_NULL_HANDLE && api_.DestroyInstance != nullptr) {
    api_.DestroyInstance(instance_, nullptr);
  }
}

void Instance::abandon() {
  instance_ = VK_NULL_HANDLE;
  library_.abandon();
}

Status Instance::open(const char* library, Intercept intercept) {
  WICK_TRY(library_.open(library, api_));
  intercept_ = intercept;
  if (intercept_ != nullptr) intercept_(api_);
  uint32_t version = 0;
  WICK_TRY(check(api_.EnumerateInstanceVersion(&version), "vkEnumerateInstanceVersion"));
  if (version < VK_API_VERSION_1_1)
    return Status(Code::kDevice, "the Vulkan loader is older than 1.1");
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "wick";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance made = VK_NULL_HANDLE;  // undefined when it fails
  const VkResult r = api_.CreateInstance(&info, nullptr, &made);
  if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
    return Status(Code::kDevice, "the Vulkan loader finds no driver");
  WICK_TRY(check(r, "vkCreateInstance"));
  instance_ = made;
  WICK_TRY(load_instance_functions(instance_, api_));
  if (intercept_ != nullptr) intercept_(api_);
  return {};
}

Status Instance::devices(Array<DeviceInfo>& out) const {
  uint32_t count = 0;
  WICK_TRY(check(api_.EnumeratePhysicalDevices(instance_, &count, nullptr),
                 "vkEnumeratePhysicalDevices"));
  Array<VkPhysicalDevice> handles(out.allocator());
  WICK_TRY(handles.resize(count));
  if (count > 0) {
    // VK_INCOMPLETE means that a device appeared in between: the ones listed are enough.
    VkResult r = api_.EnumeratePhysicalDevices(instance_, &count, handles.data());
    if (r != VK_INCOMPLETE) WICK_TRY(check(r, "vkEnumeratePhysicalDevices"));
  }
  out.clear();
  for (uint32_t i = 0; i < count; ++i) {
    DeviceInfo info;
    info.handle = handles[i];
    read_properties(api_, info);
    WICK_TRY(read_features(api_, instance_, out.allocator(), info));
    WICK_TRY(choose_queue_family(api_, out.allocator(), info));
    WICK_TRY(out.push_back(info));
  }
  return {};
}

}  // namespace wick::vulkan
