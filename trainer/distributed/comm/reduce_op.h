// The functions of all_reduce and reduce_scatter.
#pragma once

#include <cstdint>

namespace wick::distributed {

// How the ranks' elements are combined. kMean divides the sum by the number of values.
enum class ReduceOp : uint8_t { kSum, kMean, kProduct, kMin, kMax };
// Returns "sum".
const char* to_text(ReduceOp op);

}  // namespace wick::distributed
