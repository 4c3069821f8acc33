// Allocates small blocks from per-thread free lists: tensor handles, small storages, graph nodes. A
// free list passes surplus blocks to the other threads in batches, so that a thread that only frees
// keeps few.
#pragma once

#include <cstddef>

namespace wick {

// The largest block of the pool; larger ones come from the system allocator.
constexpr size_t kMaxPoolBlock = 2048;

// Returns a block of at least `bytes`, 64-byte aligned; null if there is no memory.
void* pool_take(size_t bytes);
// Frees a block; `bytes` is the size that was requested.
void pool_give(void* block, size_t bytes);

}  // namespace wick
