// Small blocks from per-thread free lists: tensor handles, small storages, tape nodes. A free list
// passes surplus to the other threads in batches, so a thread that only frees keeps little.
#pragma once

#include <cstddef>

namespace wick {

// Largest block the pool serves itself; larger ones are the system allocator's.
constexpr size_t kMaxPoolBlock = 2048;

// A block of at least `bytes`, 64-byte aligned. Null when there is no memory.
void* pool_take(size_t bytes);
// `bytes` as it was asked for.
void pool_give(void* block, size_t bytes);

}  // namespace wick
