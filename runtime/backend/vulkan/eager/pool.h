// Device memory for tensors that come and go: small ones from slabs, large ones kept for the next
// of their size. The queue works in order, so what was freed is given out again at once.
#pragma once

#include "runtime/backend/vulkan/ctx/context.h"

namespace wick {

class VulkanMemory {
 public:
  const vulkan::Buffer* buffer = nullptr;  // a slab's, or own
  uint64_t offset = 0;                     // in the buffer
  uint64_t bytes = 0;                      // there are
  uint64_t last_use = 0;                   // the number of the last batch that names it; 0: none
  VulkanMemory* next = nullptr;            // where it is kept
  vulkan::Buffer own;
  int small = -1;  // of a slab: its size class
  // Null where the host does not reach it.
  std::byte* mapped() const {
    return buffer->mapped() == nullptr ? nullptr : buffer->mapped() + offset;
  }
};

namespace vulkan {

class Pool {
 public:
  explicit Pool(Context& context) : context_(context) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();  // the queue is done with all of it, or nothing of the device is freed

  Result<VulkanMemory*> take(uint64_t bytes);
  void give(VulkanMemory* memory);
  // Gives back to the device what was let go and last used by a batch up to `finished`; with `all`
  // also what is kept for reuse. Slabs stay.
  void collect(uint64_t finished, bool all);

  uint64_t live_bytes() const { return live_; }
  uint64_t kept_bytes() const { return kept_; }

 private:
  static constexpr int kSmallClasses = 9;  // 256 bytes to 64 KiB, doubling
  struct Slab {
    Buffer buffer;
    Slab* next = nullptr;
  };
  Result<VulkanMemory*> make();
  void destroy(VulkanMemory* memory);
  Status add_slab(int small);

  Context& context_;
  VulkanMemory* small_[kSmallClasses] = {};
  VulkanMemory *large_ = nullptr, *dying_ = nullptr;
  Slab* slabs_ = nullptr;
  uint64_t live_ = 0, kept_ = 0;
};

}  // namespace vulkan
}  // namespace wick
