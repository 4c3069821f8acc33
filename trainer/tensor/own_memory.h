// Results that are new tensors though a formula made them of views; not public.
#pragma once

#include "trainer/tensor/internal.h"

namespace wick {

// Returns y, or a copy of it where it shares x's memory: PyTorch's result is a new tensor, and ours
// is a view of x if some dims are 1. A graph has no memory of values, and its form must not depend
// on sizes.
inline Tensor own_memory(const Tensor& y, const Tensor& x, const Where& where) {
  const bool shares = active_tracer() == nullptr && &y.storage() == &x.storage();
  return shares ? y.clone(where) : y;
}

}  // namespace wick
