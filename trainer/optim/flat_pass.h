// One pass over many arrays as if they were one.
#pragma once

#include <vector>

#include "runtime/core/function_ref.h"

namespace wick::optim {

// f(array, begin, end) for ranges that together are every element of every array once, on the
// process's threads. The arrays are laid end to end and cut into equal work: a thousand biases cost
// one task, not a thousand, and a large matrix is shared. For work that is elementwise: the cuts
// depend on the sizes only, and change no bit.
void flat_pass(const std::vector<int64_t>& sizes,
               FunctionRef<void(size_t array, int64_t begin, int64_t end)> f);

}  // namespace wick::optim
