// The memory of a session: what it holds, counted against what it may hold.
#pragma once

#include <utility>

#include "runtime/core/arena.h"

namespace wick {

// An Allocator on an Arena: nothing is freed before the arena is cleared.
class ArenaAllocator final : public Allocator {
 public:
  explicit ArenaAllocator(Arena& arena) : arena_(arena) {}
  void* allocate(size_t bytes, size_t align) override {
    auto p = arena_.allocate(bytes, align);
    if (p.status().code() == Code::kBudgetExceeded) over_ = true;
    return p.ok() ? *p : nullptr;
  }
  void deallocate(void*, size_t, size_t) override {}
  // Whether it refused since this was asked, and that for the arena's limit: who got nothing took
  // it for memory that is not there.
  bool take_over() { return std::exchange(over_, false); }

 private:
  Arena& arena_;
  bool over_ = false;
};

// Counts what it hands out: max_ram is about these bytes, used or only kept to be used again.
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
  size_t held() const { return held_; }
  Allocator& inner() const { return inner_; }

 private:
  Allocator& inner_;
  size_t held_ = 0;
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

  // At least `bytes`; the first `keep` of what it held before move along. kBudgetExceeded,
  // kOutOfMemory: the buffer is as it was, or empty where nothing was to be kept.
  Status grow(Buffer& buffer, size_t bytes, size_t keep = 0);
  // Whether grow() is within the budget.
  Status allow(const Buffer& buffer, size_t bytes, size_t keep = 0);
  // The same for what grows trip by trip: twice as much at once, where the budget allows it.
  Status grow_ahead(Buffer& buffer, size_t bytes);
  void release(Buffer& buffer);
  // Memory that is only kept to be used again goes.
  void shrink();
  // Before ops run that may make strings: they get what is left of the budget.
  void limit_strings() {
    if (has_strings) limit_strings_now();
  }

  Meter allocator;
  size_t max_ram;
  Arena temp;  // while planning
  ArenaAllocator temp_allocator;
  Arena strings;             // bytes of strings that the present run made
  bool has_strings = false;  // as the entry's values
  class KeptArena* kept = nullptr;

 private:
  void limit_strings_now();
};

// An arena as old as the session, which lets go of what it only keeps where others need memory.
class KeptArena : public Arena {
 public:
  explicit KeptArena(SessionMemory& memory)
      : Arena(memory.allocator, memory.max_ram), next_(std::exchange(memory.kept, this)) {}
  KeptArena* next() const { return next_; }

 private:
  KeptArena* next_;
};

}  // namespace wick
