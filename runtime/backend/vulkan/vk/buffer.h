// Buffer: a storage buffer with its own memory, which stays mapped if the host can access it.
#pragma once

#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

enum class MemoryKind : uint8_t {
  kDevice,    // device local; not mapped
  kUnified,   // device local and host visible; kUnsupported when the device has no such memory
  kUpload,    // host visible, written by the host
  kReadback,  // host visible, cached if possible, read by the host
};

class Buffer {
 public:
  // Host-visible kinds are coherent: no flush is needed.
  Status create(const Device& device, uint64_t bytes, MemoryKind kind);

  VkBuffer handle() const { return buffer_.get(); }
  uint64_t bytes() const { return bytes_; }
  // Returns null for kDevice.
  std::byte* mapped() const { return mapped_; }

 private:
  // The buffer is destroyed before its memory.
  UniqueMemory memory_;
  UniqueBuffer buffer_;
  std::byte* mapped_ = nullptr;
  uint64_t bytes_ = 0;
};

struct Place {
  const Buffer* buffer = nullptr;
  uint64_t offset = 0;
};

// One address space over as many buffers as necessary: each ends at a multiple of `limit`, which
// nothing may cross.
class Buffers {
 public:
  explicit Buffers(Allocator& allocator) : buffers_(allocator) {}
  // There is a first buffer even for 0 bytes.
  Status create(const Device& device, uint64_t bytes, MemoryKind kind, uint64_t limit);
  Place at(uint64_t offset) const { return {&buffers_[offset / limit_], offset % limit_}; }
  uint64_t bytes() const;
  size_t count() const { return buffers_.size(); }
  const Buffer* begin() const { return buffers_.data(); }
  const Buffer* end() const { return buffers_.data() + buffers_.size(); }

 private:
  Array<Buffer> buffers_;
  uint64_t limit_ = 1;
};

// Returns whether the device has memory that is device local, host visible and coherent (integrated
// GPUs, CPU devices, resizable BAR).
bool has_unified_memory(const DeviceInfo& info);

}  // namespace wick::vulkan
