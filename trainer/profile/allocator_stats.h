// What the caching allocator of tensors' bytes (trainer/tensor/storage.h) holds and has done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wick {

struct AllocatorStats {
  size_t allocated = 0, peak_allocated = 0;  // bytes of live tensors, as they were asked for
  // Bytes the allocator has from the system: live ones rounded up to their size class, and cached
  // ones. Kernels' scratch, of the same allocator, is in it.
  size_t reserved = 0, peak_reserved = 0;
  size_t cached = 0;         // freed and kept for the next block of the class
  size_t scratch = 0;        // what threads' kernels pack into
  uint64_t allocations = 0;  // since the process began
  uint64_t cache_hits = 0;   // of those, served by a freed block
  uint64_t system_allocations = 0, system_frees = 0;
  struct SizeClass {
    size_t bytes = 0;              // of a block; 0: larger than any class, never kept
    int64_t live = 0, cached = 0;  // blocks
  };
  std::vector<SizeClass> classes;  // those with blocks, ascending
  double hit_rate() const {
    return allocations > 0 ? static_cast<double>(cache_hits) / static_cast<double>(allocations) : 0;
  }
  std::string text() const;
};

AllocatorStats allocator_stats();
// Both peaks become what there is now: torch.cuda.reset_peak_memory_stats().
void reset_allocator_peaks();

}  // namespace wick
