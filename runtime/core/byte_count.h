// Counts bytes in 64 bits also where addresses have 32: the scratch size of a kernel is computed
// from several tensors' sizes, threads and paddings, and can exceed the address space although each
// tensor fits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Clamps a size beyond the address space to its last page: every allocation refuses that size, and
// it can still be rounded up without overflow.
constexpr size_t byte_count(uint64_t bytes) {
  constexpr size_t kMost = SIZE_MAX - 4095;
  return bytes < kMost ? static_cast<size_t>(bytes) : kMost;
}

}  // namespace wick
