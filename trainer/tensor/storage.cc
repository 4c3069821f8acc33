#include "trainer/tensor/storage.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "runtime/core/allocator.h"
#include "trainer/explain/live.h"
#include "trainer/profile/allocator_stats.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "wick/error.h"

namespace wick {
namespace {

// Size classes: multiples of 64 bytes up to kMaxCached, four per doubling, so that at most a fifth
// of a block is unused.
constexpr int kDoublings = 25;
constexpr int kClasses = 4 * kDoublings + 1;
// Cached blocks beyond this total are returned to the system; a larger block has no class.
constexpr size_t kMaxCached = size_t{64} << kDoublings;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCached = false;  // every block is malloc's, so that the sanitizer tracks it
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
  // Quarter steps of a doubling, rounded up to multiples of 64 (below 256 bytes some classes have
  // the same size).
  for (int q = 0; q <= 4; ++q) {
    size_t size = (base + base / 4 * static_cast<size_t>(q) + 63) / 64 * 64;
    if (size >= bytes) return {index + q, size};
  }
  return {index + 4, base * 2};
}

// A free block stores the link to the next one in its first bytes.
struct FreeBlock {
  FreeBlock* next;
};

struct Cache {
  std::mutex mutex;
  FreeBlock* lists[kClasses] = {};
  size_t bytes = 0;
  // For allocator_stats(). The last class is for blocks too large to be cached.
  int64_t live[kClasses + 1] = {}, held[kClasses] = {};
  size_t live_rounded = 0, peak_reserved = 0;
  uint64_t hits = 0, from_system = 0, to_system = 0;

  void count_live(int index, size_t block) {
    ++live[index];
    live_rounded += block;
    peak_reserved = std::max(peak_reserved, live_rounded + bytes);
  }
  void count_dead(int index, size_t block) {
    --live[index];
    live_rounded -= block;
  }
};
// Never destroyed: tensors in static objects may outlive any order of destruction.
Cache& cache() {
  alignas(Cache) static char memory[sizeof(Cache)];
  static Cache* c = new (memory) Cache;
  return *c;
}

constinit std::atomic<size_t> g_live{0}, g_peak{0}, g_scratch{0};
constinit std::atomic<StorageWatcher*> g_watcher{nullptr};

// Aligned, and not larger than requested, so that a sanitizer detects accesses beyond the end.
void* ask_system(size_t bytes) {
  if (void* p = nullptr; posix_memalign(&p, kAlignment, bytes) == 0) return p;
  empty_cache();
  void* p = nullptr;
  return posix_memalign(&p, kAlignment, bytes) == 0 ? p : nullptr;
}

// Returns the size class of a block.
SizeClass block_of(size_t bytes) {
  if (!kCached || bytes > kMaxCached) return {kClasses, std::max<size_t>(bytes, 1)};
  return size_class(bytes);
}

void* take(size_t bytes) {
  const SizeClass c = block_of(bytes);
  Cache& k = cache();
  if (c.index < kClasses) {
    std::lock_guard lock(k.mutex);
    if (FreeBlock* block = k.lists[c.index]) {
      k.lists[c.index] = block->next;
      k.bytes -= c.bytes;
      --k.held[c.index];
      ++k.hits;
      k.count_live(c.index, c.bytes);
      return block;
    }
  }
  void* p = ask_system(c.bytes);
  if (p == nullptr) return nullptr;
  std::lock_guard lock(k.mutex);
  ++k.from_system;
  k.count_live(c.index, c.bytes);
  return p;
}

void give(void* p, size_t bytes) {
  const SizeClass c = block_of(bytes);
  Cache& k = cache();
  {
    std::lock_guard lock(k.mutex);
    k.count_dead(c.index, c.bytes);
    if (c.index < kClasses && k.bytes + c.bytes <= kMaxCached) {
      k.lists[c.index] = new (p) FreeBlock{k.lists[c.index]};
      k.bytes += c.bytes;
      ++k.held[c.index];
      return;
    }
    ++k.to_system;
  }
  free(p);
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

IntrusivePtr<Storage> Storage::on_vulkan(void* address, size_t bytes,
                                         const std::source_location& born) {
  return IntrusivePtr<Storage>(new Storage(address, bytes, born));
}

Storage::~Storage() {
  if (on_device(data_)) [[unlikely]] {
    release_vulkan(data_);
    return;
  }
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
      ++k.to_system;
      list = next;
    }
  }
  std::fill(std::begin(k.held), std::end(k.held), 0);
  k.bytes = 0;
}

AllocatorStats allocator_stats() {
  AllocatorStats s;
  s.allocated = live_bytes();
  s.peak_allocated = peak_bytes();
  s.scratch = scratch_bytes();
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  s.cached = k.bytes;
  s.reserved = k.live_rounded + k.bytes;
  s.peak_reserved = k.peak_reserved;
  s.cache_hits = k.hits;
  s.system_allocations = k.from_system;
  s.system_frees = k.to_system;
  s.allocations = k.hits + k.from_system;
  // The size of a class is that of any request that maps to it.
  for (size_t bytes = 64; bytes <= kMaxCached;) {
    const SizeClass c = size_class(bytes);
    if (k.live[c.index] != 0 || k.held[c.index] != 0)
      s.classes.push_back({c.bytes, k.live[c.index], k.held[c.index]});
    bytes = c.bytes + 1;
  }
  if (k.live[kClasses] != 0) s.classes.push_back({0, k.live[kClasses], 0});
  return s;
}

void reset_allocator_peaks() {
  reset_peak_bytes();
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  k.peak_reserved = k.live_rounded + k.bytes;
}

}  // namespace wick
