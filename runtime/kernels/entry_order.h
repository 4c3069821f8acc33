#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Returns whether the entries of a set are ordered by op id, as find_kernel()'s search by halves
// needs them.
template <size_t N>
constexpr bool in_order(const KernelEntry (&entries)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (!(entries[i - 1].op < entries[i].op)) return false;
  }
  return true;
}

}  // namespace wick
