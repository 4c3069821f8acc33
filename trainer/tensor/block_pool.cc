#include "trainer/tensor/block_pool.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace wick {
namespace {

constexpr size_t kStep = 64;  // size classes are its multiples
constexpr size_t kClasses = kMaxPoolBlock / kStep;
constexpr size_t kSlab = 64 << 10;  // bytes requested from the system at a time; never returned
constexpr uint32_t kBatch = 64;     // blocks that are passed on at a time

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;  // every block is malloc's, so that the sanitizer tracks it
#else
constexpr bool kPooled = true;
#endif

struct Block {
  Block* next;
  Block* next_batch;  // used in a batch's first block
};

// The batches of kBatch blocks that threads passed on, and the slab that blocks are cut from.
struct Shared {
  std::mutex mutex;
  Block* batches[kClasses];
  char* slab;
  size_t slab_left;
};
constinit Shared g_shared{};

struct FreeList {
  Block* first;
  uint32_t count;
  Block*
      older;  // one whole batch kept apart, so that a thread at the border does not lock each time
};
struct Cache {
  FreeList lists[kClasses];
  bool watched;  // the thread's blocks will be passed on when it ends
  bool ended;
};
constinit thread_local Cache g_cache{};

void hand_on(size_t c, Block* batch) {
  std::lock_guard lock(g_shared.mutex);
  batch->next_batch = g_shared.batches[c];
  g_shared.batches[c] = batch;
}

// Its destructor runs when the thread ends; blocks freed later go straight to the shared list.
struct ThreadEnd {
  ~ThreadEnd() {
    g_cache.ended = true;
    for (size_t c = 0; c < kClasses; ++c) {
      FreeList& list = g_cache.lists[c];
      if (list.first != nullptr) hand_on(c, list.first);
      if (list.older != nullptr) hand_on(c, list.older);
      list = {};
    }
  }
};
void watch_thread_end() {
  thread_local ThreadEnd end;
  static_cast<void>(end);
  g_cache.watched = true;
}

// Returns a batch that another thread passed on, or one cut from the slab.
Block* more_blocks(size_t c) {
  std::lock_guard lock(g_shared.mutex);
  if (Block* batch = g_shared.batches[c]) {
    g_shared.batches[c] = batch->next_batch;
    return batch;
  }
  size_t bytes = (c + 1) * kStep;
  if (g_shared.slab_left < bytes) {
    auto* slab = static_cast<char*>(aligned_alloc(kStep, kSlab));
    if (slab == nullptr) return nullptr;
    g_shared.slab = slab;
    g_shared.slab_left = kSlab;
  }
  Block* first = nullptr;
  for (uint32_t i = 0; i < kBatch / 4 && g_shared.slab_left >= bytes; ++i) {
    auto* block = reinterpret_cast<Block*>(g_shared.slab);
    g_shared.slab += bytes;
    g_shared.slab_left -= bytes;
    block->next = first;
    first = block;
  }
  return first;
}

}  // namespace

void* pool_take(size_t bytes) {
  size_t c = (bytes + kStep - 1) / kStep;
  if (!kPooled || c > kClasses || c == 0) return aligned_alloc(kStep, (c == 0 ? 1 : c) * kStep);
  --c;
  FreeList& list = g_cache.lists[c];
  Block* block = list.first;
  if (block == nullptr) {
    if (list.older != nullptr) {
      block = list.older;
      list.older = nullptr;
    } else {
      block = more_blocks(c);
      if (block == nullptr) return nullptr;
    }
    list.count = 0;
    for (Block* b = block; b != nullptr; b = b->next) ++list.count;
    if (g_cache.ended) {  // nobody would pass the rest on
      if (block->next != nullptr) hand_on(c, block->next);
      block->next = nullptr;
      list.count = 1;
    } else if (!g_cache.watched) {
      watch_thread_end();
    }
  }
  list.first = block->next;
  --list.count;
  return block;
}

void pool_give(void* memory, size_t bytes) {
  size_t c = (bytes + kStep - 1) / kStep;
  if (!kPooled || c > kClasses || c == 0) {
    free(memory);
    return;
  }
  --c;
  auto* block = static_cast<Block*>(memory);
  FreeList& list = g_cache.lists[c];
  if (g_cache.ended) {
    block->next = nullptr;
    hand_on(c, block);
    return;
  }
  if (!g_cache.watched) watch_thread_end();
  if (list.count == kBatch) {
    if (list.older != nullptr) hand_on(c, list.older);
    list.older = list.first;
    list.first = nullptr;
    list.count = 0;
  }
  block->next = list.first;
  list.first = block;
  ++list.count;
}

}  // namespace wick
