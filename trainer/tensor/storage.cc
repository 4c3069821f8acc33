#include "trainer/tensor/storage.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "runtime/core/allocator.h"
#include "trainer/explain/live.h"
#include "wick/error.h"

namespace wick {
namespace {

// Size classes: 64 bytes up to kMaxCached, four a doubling, so that at most a fifth of a block is
// unused.
constexpr int kDoublings = 25;
constexpr int kClasses = 4 * kDoublings + 1;
// Blocks held for reuse beyond this go back to the system; one beyond it has no class.
constexpr size_t kMaxCached = size_t{64} << kDoublings;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCached = false;  // every block is malloc's, so that the sanitizer sees its life
#else
constexpr bool kCached = true;
#endif

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
  FreeBlock* lists[kClasses] = {};
  size_t bytes = 0;
};
// Never destroyed: tensors in static objects may outlive any order of destruction.
Cache& cache() {
  alignas(Cache) static char memory[sizeof(Cache)];
  static Cache* c = new (memory) Cache;
  return *c;
}

constinit std::atomic<size_t> g_live{0}, g_peak{0}, g_scratch{0};
constinit std::atomic<StorageWatcher*> g_watcher{nullptr};

// Aligned, and not a byte more than asked for: a sanitizer sees the end.
void* ask_system(size_t bytes) {
  if (void* p = nullptr; posix_memalign(&p, kAlignment, bytes) == 0) return p;
  empty_cache();
  void* p = nullptr;
  return posix_memalign(&p, kAlignment, bytes) == 0 ? p : nullptr;
}

void* take(size_t bytes) {
  if (!kCached || bytes > kMaxCached) return ask_system(std::max<size_t>(bytes, 1));
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
  return ask_system(c.bytes);
}

void give(void* p, size_t bytes) {
  if (!kCached || bytes > kMaxCached) return free(p);
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

void* take_or_throw(size_t bytes) {
  void* data = take(bytes);
  if (data == nullptr) {
    throw Error("[empty] cannot allocate " + std::to_string(bytes) + " bytes; " +
                    std::to_string(live_bytes()) + " are live; " + live_graphs().text(),
                Code::kOutOfMemory);
  }
  return data;
}

}  // namespace

IntrusivePtr<Storage> Storage::create(size_t bytes, const std::source_location& born) {
  void* data = take_or_throw(bytes);
  const size_t live = g_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak && !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  IntrusivePtr<Storage> made(new Storage(data, bytes, born));
  if (StorageWatcher* w = g_watcher.load(std::memory_order_acquire)) [[unlikely]] {
    w->on_create(*made);
  }
  return made;
}

Storage::~Storage() {
  if (StorageWatcher* w = g_watcher.load(std::memory_order_acquire)) [[unlikely]] {
    w->on_free(*this);
  }
  g_live.fetch_sub(bytes_, std::memory_order_relaxed);
  give(data_, bytes_);
}

void* ScratchBuffer::at_least(size_t bytes) {
  if (bytes <= bytes_) return bytes == 0 ? nullptr : data_;
  release();
  data_ = take_or_throw(bytes);
  bytes_ = bytes;
  g_scratch.fetch_add(bytes, std::memory_order_relaxed);
  return data_;
}

void ScratchBuffer::release() {
  if (bytes_ == 0) return;
  g_scratch.fetch_sub(bytes_, std::memory_order_relaxed);
  give(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

size_t scratch_bytes() { return g_scratch.load(std::memory_order_relaxed); }

size_t live_bytes() { return g_live.load(std::memory_order_relaxed); }
size_t peak_bytes() { return g_peak.load(std::memory_order_relaxed); }
void reset_peak_bytes() { g_peak.store(live_bytes(), std::memory_order_relaxed); }

StorageWatcher* set_storage_watcher(StorageWatcher* watcher) {
  return g_watcher.exchange(watcher, std::memory_order_acq_rel);
}

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
