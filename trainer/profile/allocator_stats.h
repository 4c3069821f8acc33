// Statistics of the caching allocator of tensors' bytes (trainer/tensor/storage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wick {

// Says what the memory of tensors amounts to in this process.
struct AllocatorStats {
  size_t allocated = 0, peak_allocated = 0;  // bytes of live tensors, as requested
  // Bytes that the allocator has from the system: live blocks, rounded up to their size class, and
  // cached ones. They include the kernels' scratch memory, which uses the same allocator.
  size_t reserved = 0, peak_reserved = 0;
  size_t cached = 0;         // freed, and kept for the next block of the size class
  size_t scratch = 0;        // memory that the threads' kernels pack data into
  uint64_t allocations = 0;  // since the process started
  uint64_t cache_hits = 0;   // allocations that reused a freed block
  uint64_t system_allocations = 0, system_frees = 0;  // blocks taken from it and given back
  // The blocks of one size.
  struct SizeClass {
    size_t bytes = 0;              // of a block; 0: larger than any class, never cached
    int64_t live = 0, cached = 0;  // blocks
  };
  std::vector<SizeClass> classes;  // those with blocks, in ascending order
  // Returns the part of the allocations that reused a freed block, 0 to 1.
  double hit_rate() const {
    return allocations > 0 ? static_cast<double>(cache_hits) / static_cast<double>(allocations) : 0;
  }
  // Returns two lines with all numbers, and one for each size class.
  std::string text() const;
};

// Returns the present numbers.
AllocatorStats allocator_stats();
// Sets both peaks to the present values, like torch.cuda.reset_peak_memory_stats().
void reset_allocator_peaks();

}  // namespace wick
