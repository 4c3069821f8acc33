// Bytes counted in 64 bits where addresses have 32: a kernel's scratch is made of several tensors'
// sizes, threads and paddings, and may be more than there are addresses though each tensor fits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// More than there are addresses is the last page of them: every allocation refuses that, and it may
// still be rounded up.
constexpr size_t byte_count(uint64_t bytes) {
  constexpr size_t kMost = SIZE_MAX - 4095;
  return bytes < kMost ? static_cast<size_t>(bytes) : kMost;
}

}  // namespace wick
