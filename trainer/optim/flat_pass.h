// Processes many arrays in one pass, as if they were one.
#pragma once

#include <vector>

#include "runtime/core/function_ref.h"

namespace wick::optim {

// Calls f(array, begin, end), on the process's threads, for ranges that together cover every
// element of every array once. The arrays are concatenated and cut into equal amounts of work: a
// thousand biases cost one task instead of a thousand, and a large matrix is shared by several. It
// is for elementwise work: the cuts depend only on the sizes, and do not change a bit.
void flat_pass(const std::vector<int64_t>& sizes,
               FunctionRef<void(size_t array, int64_t begin, int64_t end)> f);

}  // namespace wick::optim
