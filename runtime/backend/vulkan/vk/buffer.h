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

struct Place {
  const Buffer* buffer = nullptr;
  uint64_t offset = 0;
};

// One address space in as many buffers as it takes: each ends at a multiple of `limit`, and nothing
// may lie across one.
class Buffers {
 public:
  explicit Buffers(Allocator& allocator) : buffers_(allocator) {}
  // A first buffer is there also for 0 bytes.
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

// True iff the device has memory that is device local, host visible and coherent (integrated GPUs,
// CPU devices, resizable BAR).
bool has_unified_memory(const DeviceInfo& info);

}  // namespace wick::vulkan
