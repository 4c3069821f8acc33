#include "trainer/optim/flat_pass.h"

#include <algorithm>

#include "runtime/core/thread_pool.h"
#include "trainer/tensor/call.h"

namespace wick::optim {

void flat_pass(const std::vector<int64_t>& sizes,
               FunctionRef<void(size_t array, int64_t begin, int64_t end)> f) {
  // Five arrays of a chunk fit into a core's L2 cache, and a chunk is enough work for a task.
  constexpr int64_t kChunk = 1 << 14;
  std::vector<int64_t> starts;  // the index of each array's first element in the concatenation
  starts.reserve(sizes.size());
  int64_t total = 0;
  for (int64_t n : sizes) {
    starts.push_back(total);
    total += n;
  }
  parallel_for(thread_pool(), (total + kChunk - 1) / kChunk, [&](int64_t task, int) {
    int64_t at = task * kChunk;
    const int64_t end = std::min(total, at + kChunk);
    // The last array that begins at or before `at`; empty ones before it have no element there.
    auto array =
        static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), at) - starts.begin()) -
        1;
    for (; at < end; ++array) {
      const int64_t begin = at - starts[array];
      const int64_t stop = std::min(sizes[array], end - starts[array]);
      if (stop > begin) f(array, begin, stop);
      at = starts[array] + std::max(stop, begin);
    }
  });
}

}  // namespace wick::optim
