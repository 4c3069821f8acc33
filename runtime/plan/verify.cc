#include "runtime/plan/memory_plan.h"

namespace wick {

Status verify_memory(Span<const BufferRequest> requests, Span<const size_t> offsets, size_t total) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const BufferRequest& a = requests[i];
    if (a.bytes == 0) continue;
    if (offsets[i] % kAlignment != 0 || offsets[i] > total || a.bytes > total - offsets[i]) {
      return error(Code::kInternal,
                   "memory plan: buffer %zu lies outside the arena or off its alignment", i);
    }
    for (size_t j = 0; j < i; ++j) {
      const BufferRequest& b = requests[j];
      bool apart_in_time = a.last < b.first || b.last < a.first;
      bool apart_in_space =
          offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
      if (b.bytes != 0 && !apart_in_time && !apart_in_space) {
        return error(Code::kInternal, "memory plan: buffers %zu and %zu live at once and overlap",
                     j, i);
      }
    }
  }
  return {};
}

}  // namespace wick
