// The memory of a session, counted against its limit.
#pragma once

#include <utility>

#include "runtime/core/arena.h"

namespace wick {

// An Allocator on an Arena: memory is freed only when the arena is cleared.
class ArenaAllocator final : public Allocator {
 public:
  explicit ArenaAllocator(Arena& arena) : arena_(arena) {}
  void* allocate(size_t bytes, size_t align) override {
    auto p = arena_.allocate(bytes, align);
    if (p.status().code() == Code::kBudgetExceeded) over_ = true;
    return p.ok() ? *p : nullptr;
  }
  void deallocate(void*, size_t, size_t) override {}
  // Returns whether an allocation failed since the last call because of the arena's limit. The code
  // that asked for it only saw that there was no memory.
  bool take_over() { return std::exchange(over_, false); }

 private:
  Arena& arena_;
  bool over_ = false;
};

// Counts the bytes that it allocates, whether used or kept for reuse, and the program's packed
// forms that the session uses: max_ram limits their sum.
class Meter final : public Allocator {
 public:
  explicit Meter(Allocator& inner) : inner_(inner) {}
  void* allocate(size_t bytes, size_t align) override {
    void* p = inner_.allocate(bytes, align);
    if (p != nullptr) held_ += bytes;
    return p;
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p == nullptr) return;
    held_ -= bytes;
    inner_.deallocate(p, bytes, align);
  }
  size_t held() const { return held_ + shared_; }
  // Sets the bytes of packed forms. A session counts those that other sessions packed as well: then
  // whether its budget suffices does not depend on them.
  void set_shared(size_t bytes) { shared_ = bytes; }
  Allocator& inner() const { return inner_; }

 private:
  Allocator& inner_;
  size_t held_ = 0, shared_ = 0;
};

// Memory that only grows.
struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

struct SessionMemory {
  SessionMemory(Allocator& inner, uint64_t limit)
      : allocator(inner),
        max_ram(limit < SIZE_MAX ? static_cast<size_t>(limit) : SIZE_MAX),
        temp(allocator, max_ram),
        temp_allocator(temp),
        strings(allocator, max_ram) {}

  // Grows to at least `bytes` and keeps the first `keep` bytes of the content. On kBudgetExceeded
  // or kOutOfMemory the buffer is unchanged, or empty where nothing was to be kept.
  Status grow(Buffer& buffer, size_t bytes, size_t keep = 0);
  // Checks whether grow() is within the budget.
  Status allow(const Buffer& buffer, size_t bytes, size_t keep = 0);
  // Grows for data that grows with each trip: to twice the size, where the budget allows it.
  Status grow_ahead(Buffer& buffer, size_t bytes);
  void release(Buffer& buffer);
  // Frees memory that is only kept for reuse.
  void shrink();
  // Call it before ops run that may make strings: it limits them to what is left of the budget.
  void limit_strings() {
    if (has_strings) limit_strings_now();
  }

  Meter allocator;
  size_t max_ram;
  Arena temp;  // used while planning
  ArenaAllocator temp_allocator;
  Arena strings;             // bytes of strings that the present run made
  bool has_strings = false;  // whether the entry has string values
  class KeptArena* kept = nullptr;

 private:
  void limit_strings_now();
};

// An arena that lives as long as the session and frees its unused blocks when others need memory.
class KeptArena : public Arena {
 public:
  explicit KeptArena(SessionMemory& memory)
      : Arena(memory.allocator, memory.max_ram), next_(std::exchange(memory.kept, this)) {}
  KeptArena* next() const { return next_; }

 private:
  KeptArena* next_;
};

}  // namespace wick
