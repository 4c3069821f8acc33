// Device: a logical device with one compute queue, and the handles that belong to it.
#pragma once

#include <atomic>

#include "runtime/backend/vulkan/vk/instance.h"

namespace wick::vulkan {

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  // The instance must outlive the device.
  Status open(const Instance& instance, const DeviceInfo& info);

  // For errors while the queue may have been working: waits until it is idle. Returns false if that
  // cannot be known; from then on nothing of the device is freed, because it may still be in use.
  bool settle();
  void abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

  const Api& api() const { return api_; }
  VkDevice handle() const { return device_; }
  VkQueue queue() const { return queue_; }
  const DeviceInfo& info() const { return info_; }

 private:
  Api api_;
  DeviceInfo info_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::atomic<bool> abandoned_{false};
};

// Sole owner of a child object of a device; `Destroy` is the member of Api that frees it. The
// device must outlive it, and the queue must have finished with it.
template <class Handle, auto Destroy>
class Unique {
 public:
  Unique() = default;
  Unique(Unique&& o) noexcept : device_(o.device_), handle_(std::exchange(o.handle_, Handle())) {}
  Unique& operator=(Unique&& o) noexcept {
    if (this != &o) {
      reset();
      device_ = o.device_;
      handle_ = std::exchange(o.handle_, Handle());
    }
    return *this;
  }
  Unique(const Unique&) = delete;
  Unique& operator=(const Unique&) = delete;
  ~Unique() { reset(); }

  Handle get() const { return handle_; }
  // Calls a vkCreate-like function of the table; the old handle is freed first. Vulkan leaves the
  // output undefined on failure, so nothing is kept then.
  template <class Function, class Info>
  Status create(const Device& device, Function Api::*function, const Info& info, const char* what) {
    Handle handle = Handle();
    WICK_TRY(check((device.api().*function)(device.handle(), &info, nullptr, &handle), what));
    adopt(device, handle);
    return {};
  }
  void adopt(const Device& device, Handle handle) {
    reset();
    device_ = &device;
    handle_ = handle;
  }
  void reset() {
    if (handle_ != Handle() && !device_->abandoned())
      (device_->api().*Destroy)(device_->handle(), handle_, nullptr);
    handle_ = Handle();
  }

 private:
  const Device* device_ = nullptr;
  Handle handle_ = Handle();
};

using UniqueBuffer = Unique<VkBuffer, &Api::DestroyBuffer>;
using UniqueMemory = Unique<VkDeviceMemory, &Api::FreeMemory>;
using UniqueShaderModule = Unique<VkShaderModule, &Api::DestroyShaderModule>;
using UniqueSetLayout = Unique<VkDescriptorSetLayout, &Api::DestroyDescriptorSetLayout>;
using UniquePipelineLayout = Unique<VkPipelineLayout, &Api::DestroyPipelineLayout>;
using UniquePipeline = Unique<VkPipeline, &Api::DestroyPipeline>;
using UniquePipelineCache = Unique<VkPipelineCache, &Api::DestroyPipelineCache>;
using UniqueDescriptorPool = Unique<VkDescriptorPool, &Api::DestroyDescriptorPool>;
using UniqueCommandPool = Unique<VkCommandPool, &Api::DestroyCommandPool>;
using UniqueQueryPool = Unique<VkQueryPool, &Api::DestroyQueryPool>;
using UniqueFence = Unique<VkFence, &Api::DestroyFence>;
using UniqueSemaphore = Unique<VkSemaphore, &Api::DestroySemaphore>;

}  // namespace wick::vulkan
