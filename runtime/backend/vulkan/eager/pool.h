// Device memory for short-lived tensors: small ones come from slabs, large ones are kept for the
// next of their size. The queue works in order, so freed memory can be reused at once.
#pragma once

#include "runtime/backend/vulkan/ctx/context.h"

namespace wick {

class VulkanMemory {
 public:
  const vulkan::Buffer* buffer = nullptr;  // of a slab, or its own
  uint64_t offset = 0;                     // in the buffer
  uint64_t bytes = 0;                      // allocated
  uint64_t last_use = 0;                   // number of the last batch that uses it; 0: none
  VulkanMemory* next = nullptr;            // in the list of kept ones
  vulkan::Buffer own;
  int small = -1;  // for slabs: the size class
  // Null if the host cannot access it.
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
  ~Pool();  // the queue must have finished; else nothing is freed

  Result<VulkanMemory*> take(uint64_t bytes);
  void give(VulkanMemory* memory);
  // Releases to the device what was freed and last used by a batch up to `finished`; with `all`
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
