// Storage: refcounted, 64-byte aligned bytes with a version that every in-place write raises.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/tensor/intrusive.h"

namespace wick {

class Storage final : public Counted {
 public:
  // Contents undefined. Throws Error (kOutOfMemory).
  static IntrusivePtr<Storage> create(size_t bytes);
  ~Storage();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Autograd compares it with the version a tensor had when it was saved.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Storage(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

  void* data_;
  size_t bytes_;
  std::atomic<uint32_t> version_{0};
};

// Freed blocks are kept for the next tensor of their size class. What is held beyond live tensors
// now:
size_t cached_bytes();
// Gives the held blocks back to the system.
void empty_cache();

}  // namespace wick
