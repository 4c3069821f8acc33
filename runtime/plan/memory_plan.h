// Memory planning: buffers with live ranges get offsets in one arena so that no two that live
// together overlap.
#pragma once

#include "runtime/core/allocator.h"
#include "runtime/core/array.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

// Needed from step `first` to step `last`, both included. bytes 0: takes no place.
struct BufferRequest {
  size_t bytes = 0;
  int32_t first = 0, last = 0;
};

// Largest first, each at the lowest gap that holds it (best fit by height); thousands of them in
// the order of time instead. Offsets are multiples of kAlignment. offsets.size() ==
// requests.size(). Scratch memory comes from `allocator` and is returned.
Status plan_memory(Span<const BufferRequest> requests, Span<size_t> offsets, size_t* total,
                   Allocator& allocator);

// used[s]: the bytes from the beginning of the memory behind which nothing lives in step s, so that
// a step's scratch may lie there. used.size(): the number of steps.
Status memory_in_use(Span<const BufferRequest> requests, Span<const size_t> offsets,
                     Span<size_t> used, Allocator& allocator);

// The planner's judge, written apart from it: kInternal naming the two buffers when two that live
// together overlap, or one that is misaligned or beyond `total`. Run in debug builds and by the
// tests.
Status verify_memory(Span<const BufferRequest> requests, Span<const size_t> offsets, size_t total);

}  // namespace wick
