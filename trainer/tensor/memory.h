// Memory statistics of tensors with PyTorch's names: exact bytes as requested, for all threads and
// every live storage (a view has none of its own). Kernels' packing buffers are not included:
// scratch_bytes().
#pragma once

#include "trainer/tensor/storage.h"

namespace wick {

// The bytes of live tensors, and the largest number of them so far: torch.cuda.memory_allocated,
// max_memory_allocated and reset_peak_memory_stats.
inline size_t memory_allocated() { return live_bytes(); }
inline size_t max_memory_allocated() { return peak_bytes(); }  // since the last reset
// Makes the present number the largest one.
inline void reset_peak_memory_stats() { reset_peak_bytes(); }

}  // namespace wick
