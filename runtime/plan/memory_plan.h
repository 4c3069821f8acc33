// Memory planning: assigns buffers with live ranges to offsets in one arena so that no two that are
// live together overlap.
#pragma once

#include "runtime/core/allocator.h"
#include "runtime/core/array.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

// A buffer that is live from step `first` to step `last`, both included. With bytes 0 it takes no
// memory.
struct BufferRequest {
  size_t bytes = 0;
  int32_t first = 0, last = 0;
};

// Places the largest buffer first, each at the lowest gap that holds it (best fit by height); with
// thousands of buffers it goes in the order of time instead. Offsets are multiples of kAlignment.
// offsets.size() == requests.size(). Working memory comes from `allocator` and is returned.
Status plan_memory(Span<const BufferRequest> requests, Span<size_t> offsets, size_t* total,
                   Allocator& allocator);

// Sets used[s] to the end of the memory in use in step s, in bytes, so that a step's scratch buffer
// can be placed after it. used.size() is the number of steps.
Status memory_in_use(Span<const BufferRequest> requests, Span<const size_t> offsets,
                     Span<size_t> used, Allocator& allocator);

// Checks a plan independently of the planner: returns kInternal, naming the buffers, when two that
// are live together overlap, or when one is misaligned or ends beyond `total`. Debug builds and the
// tests run it.
Status verify_memory(Span<const BufferRequest> requests, Span<const size_t> offsets, size_t total);

}  // namespace wick
