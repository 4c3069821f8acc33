// Buffer: a storage buffer with its own memory, mapped for its whole life where the host may see
// it.
#pragma once

#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

enum class MemoryKind : uint8_t {
  kDevice,    // device local; not mapped
  kUnified,   // device local and host visible; kUnsupported when the device has no such memory
  kUpload,    // host visible, written by the host
  kReadback,  // host visible, cached where there is such, read by the host
};

class Buffer {
 public:
  // Host-visible kinds are coherent: no flush is ever needed.
  Status create(const Device& device, uint64_t bytes, MemoryKind kind);

  VkBuffer handle() const { return buffer_.get(); }
  uint64_t bytes() const { return bytes_; }
  // Null for kDevice.
  std::byte* mapped() const { return mapped_; }

 private:
  // The buffer goes before its memory.
  UniqueMemory memory_;
  UniqueBuffer buffer_;
  std::byte* mapped_ = nullptr;
  uint64_t bytes_ = 0;
};

// True iff the device has memory that is device local, host visible and coherent (integrated GPUs,
// CPU devices, resizable BAR).
bool has_unified_memory(const DeviceInfo& info);

}  // namespace wick::vulkan
