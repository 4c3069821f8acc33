#include "trainer/tensor/storage.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "runtime/core/allocator.h"
#include "wick/error.h"

namespace wick {
namespace {

// Size classes: 64 bytes up, four a doubling, so that at most a fifth of a block is unused.
constexpr int kClasses = 4 * 40;

struct SizeClass {
  int index;
  size_t bytes;
};
SizeClass size_class(size_t bytes) {
  size_t base = 64;
  int index = 0;
  while (base * 2 <= bytes) {
    base *= 2;
    index += 4;
  }
  // Steps of a quarter of the doubling, kept multiples of 64 (below 256 bytes some classes coincide
  // in size).
  for (int q = 0; q <= 4; ++q) {
    size_t size = (base + base / 4 * static_cast<size_t>(q) + 63) / 64 * 64;
    if (size >= bytes) return {index + q, size};
  }
  return {index + 4, base * 2};
}

// A free block holds the link to the next one in its first bytes.
struct FreeBlock {
  FreeBlock* next;
};

struct Cache {
  std::mutex mutex;
  FreeBlock* lists[kClasses + 4] = {};
  size_t bytes = 0;
};
// Never destroyed: tensors in static objects may outlive any order of destruction.
Cache& cache() {
  alignas(Cache) static char memory[sizeof(Cache)];
  static Cache* c = new (memory) Cache;
  return *c;
}

// Blocks held for reuse beyond this go back to the system.
constexpr size_t kMaxCached = size_t{2} << 30;

void* take(size_t bytes) {
  SizeClass c = size_class(bytes);
  {
    Cache& k = cache();
    std::lock_guard lock(k.mutex);
    if (FreeBlock* block = k.lists[c.index]) {
      k.lists[c.index] = block->next;
      k.bytes -= c.bytes;
      return block;
    }
  }
  void* p = aligned_alloc(kAlignment, c.bytes);
  if (p == nullptr) {
    empty_cache();
    p = aligned_alloc(kAlignment, c.bytes);
  }
  return p;
}

void give(void* p, size_t bytes) {
  SizeClass c = size_class(bytes);
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  if (k.bytes + c.bytes > kMaxCached) {
    free(p);
    return;
  }
  k.lists[c.index] = new (p) FreeBlock{k.lists[c.index]};
  k.bytes += c.bytes;
}

}  // namespace

IntrusivePtr<Storage> Storage::create(size_t bytes) {
  void* data = take(bytes);
  if (data == nullptr) {
    throw Error("[empty] cannot allocate " + std::to_string(bytes) + " bytes", Code::kOutOfMemory);
  }
  return IntrusivePtr<Storage>(new Storage(data, bytes));
}

Storage::~Storage() { give(data_, bytes_); }

size_t cached_bytes() {
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  return k.bytes;
}

void empty_cache() {
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  for (FreeBlock*& list : k.lists) {
    while (list != nullptr) {
      FreeBlock* next = list->next;
      free(list);
      list = next;
    }
  }
  k.bytes = 0;
}

}  // namespace wick
