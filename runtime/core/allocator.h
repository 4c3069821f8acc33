// Allocator: the source of all the runtime's memory. Allocation can fail: a null return becomes
// Code::kOutOfMemory.
#pragma once

#include <cstddef>

#include "runtime/core/status.h"

namespace wick {

// The alignment of every tensor, arena and packed weight, in bytes.
#if WICK_SMALL  // these machines have no vectors
constexpr size_t kAlignment = 16;
#else
constexpr size_t kAlignment = 64;  // bytes
#endif

// The memory of programs and sessions, for hosts that manage it themselves. It must outlive both,
// and may be called from any thread.
class Allocator {
 public:
  // Returns null when there is no memory. `align` is a power of two; bytes may be 0 (then any
  // non-null or null is fine).
  virtual void* allocate(size_t bytes, size_t align) = 0;
  // `bytes` and `align` are those of the allocate call; null is ignored. Must be callable from any
  // thread.
  virtual void deallocate(void* p, size_t bytes, size_t align) = 0;

 protected:
  ~Allocator() = default;  // not virtual: a virtual one would pull in operator delete
};

// Returns the allocator that uses aligned_alloc / free.
Allocator& default_allocator();

}  // namespace wick
