// How much memory tensors take, under PyTorch's names: bytes as they were asked for, of all threads
// and of every live storage (a view has none of its own); exact. What kernels pack is not in it:
// scratch_bytes().
#pragma once

#include "trainer/tensor/storage.h"

namespace wick {

inline size_t memory_allocated() { return live_bytes(); }
inline size_t max_memory_allocated() { return peak_bytes(); }  // since the last reset
inline void reset_peak_memory_stats() { reset_peak_bytes(); }

}  // namespace wick
