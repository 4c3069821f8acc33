#include "runtime/backend/vulkan/vk/api.h"

#include <cstring>

#include "runtime/platform/library.h"

namespace wick::vulkan {
namespace {

#if defined(_WIN32)
constexpr const char* kLoaderNames[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
constexpr const char* kLoaderNames[] = {"libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kLoaderNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif

}  // namespace

Library::~Library() {
  if (handle_ != nullptr) platform::close_library(handle_);
}

Status Library::open(const char* name, Api& api) {
  if (name != nullptr) {
    handle_ = platform::open_library(name);
  } else {
    for (const char* candidate : kLoaderNames) {
      handle_ = platform::open_library(candidate);
      if (handle_ != nullptr) break;
    }
  }
  if (handle_ == nullptr) {
    return error(Code::kDevice, "no Vulkan loader (%s)", name != nullptr ? name : kLoaderNames[0]);
  }
  api.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      platform::find_symbol(handle_, "vkGetInstanceProcAddr"));
  if (api.GetInstanceProcAddr == nullptr) {
    return Status(Code::kDevice, "the Vulkan loader lacks vkGetInstanceProcAddr");
  }
#define X(name)                                                                                   \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (api.name == nullptr) {                                                                      \
    return Status(Code::kDevice, "the Vulkan loader lacks vk" #name);                             \
  }
  WICK_VK_GLOBAL_FUNCTIONS(X)
#undef X
  return {};
}

Status load_instance_functions(VkInstance instance, Api& api) {
#define X(name)                                                                             \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(instance, "vk" #name)); \
  if (api.name == nullptr) return Status(Code::kDevice, "the Vulkan instance lacks vk" #name);
  WICK_VK_INSTANCE_FUNCTIONS(X)
#undef X
  return {};
}

Status load_device_functions(VkDevice device, Api& api) {
#define X(name)                                                                         \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetDeviceProcAddr(device, "vk" #name)); \
  if (api.name == nullptr) return Status(Code::kDevice, "the Vulkan device lacks vk" #name);
  WICK_VK_DEVICE_FUNCTIONS(X)
#undef X
#define X(name) \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetDeviceProcAddr(device, "vk" #name));
  WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
  return {};
}

const char* result_name(VkResult result) {
  switch (result) {
#define X(name) \
  case name: return #name;
    X(VK_SUCCESS)
    X(VK_NOT_READY)
    X(VK_TIMEOUT)
    X(VK_INCOMPLETE)
    X(VK_ERROR_OUT_OF_HOST_MEMORY)
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    X(VK_ERROR_INITIALIZATION_FAILED)
    X(VK_ERROR_DEVICE_LOST)
    X(VK_ERROR_MEMORY_MAP_FAILED)
    X(VK_ERROR_LAYER_NOT_PRESENT)
    X(VK_ERROR_EXTENSION_NOT_PRESENT)
    X(VK_ERROR_FEATURE_NOT_PRESENT)
    X(VK_ERROR_INCOMPATIBLE_DRIVER)
    X(VK_ERROR_TOO_MANY_OBJECTS)
    X(VK_ERROR_FRAGMENTED_POOL)
    X(VK_ERROR_OUT_OF_POOL_MEMORY)
    X(VK_ERROR_UNKNOWN)
#undef X
    default: return "unknown VkResult";
  }
}

Status check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return {};
  bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL ||
                result == VK_ERROR_MEMORY_MAP_FAILED;
  return error(memory ? Code::kOutOfMemory : Code::kDevice, "%s: %s (%d)", what,
               result_name(result), static_cast<int>(result));
}

bool is_device_lost(const Status& status) {
  return status.code() == Code::kDevice &&
         strstr(status.message(), result_name(VK_ERROR_DEVICE_LOST)) != nullptr;
}

}  // namespace wick::vulkan
