// The elements of two values side by side. Whatever compares values goes through them: passes and
// files that are verified, outputs that are compared.
#pragma once

#include <functional>

#include "graph/ir/host_tensor.h"

namespace wick {

// Two elements that are not equal by bits.
struct ElementPair {
  int64_t element = 0;  // in a sequence counted over its tensors
  double a = 0, b = 0;  // 0 for texts; of a complex number the part that differs
  double off = 0;       // element_distance(): NaN where one is NaN; infinity between texts
  bool text = false;    // of strings
};

// Visits the pairs in order, every NaN counting as one value, until `visit` returns false. Returns
// false, and visits nothing, where dtype, shape or the number of a sequence's tensors differ.
bool each_unequal(const HostTensor& a, const HostTensor& b,
                  const std::function<bool(const ElementPair&)>& visit);

// Returns the dtype of a tensor, or of a sequence's tensors.
DType element_dtype(const HostTensor& t);

}  // namespace wick
