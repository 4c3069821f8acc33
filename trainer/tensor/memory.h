// Memory statistics of tensors with PyTorch's names: exact bytes as requested, for all threads and
// every live storage (a view has none of its own). Kernels' packing buffers are not included:
// scratch_bytes().
#pragma once

#include "trainer/tensor/storage.h"

namespace wick {

inline size_t memory_allocated() { return live_bytes(); }
inline size_t max_memory_allocated() { return peak_bytes(); }  // since the last reset
inline void reset_peak_memory_stats() { reset_peak_bytes(); }

}  // namespace wick
