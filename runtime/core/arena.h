// Arena: bump allocation for plain data with one lifetime, under a byte limit.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/allocator.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

class Arena {
 public:
  explicit Arena(Allocator& allocator, size_t limit = SIZE_MAX)
      : allocator_(&allocator), limit_(limit) {}
  Arena(Arena&& o) noexcept
      : allocator_(o.allocator_),
        limit_(o.limit_),
        used_(o.used_),
        held_(o.held_),
        first_(o.first_),
        at_(o.at_) {
    o.first_ = o.at_ = nullptr;
    o.used_ = o.held_ = 0;
  }
  Arena& operator=(Arena&&) = delete;
  Arena(const Arena&) = delete;
  ~Arena() { free_from(&first_); }

  // Returns uninitialised memory, 64-byte aligned for align up to 64. Fails when the limit is
  // exceeded (kBudgetExceeded), which also counts whole blocks, or when the allocator fails.
  Result<void*> allocate(size_t bytes, size_t align) {
    if (used_ > limit_ || bytes > limit_ - used_) return over(bytes, used_);
    for (;;) {
      if (at_ != nullptr) {
        const auto base =
            reinterpret_cast<uintptr_t>(at_);  // blocks are aligned to kAlignment only
        const size_t begin = ((base + at_->used + align - 1) & ~uintptr_t{align - 1}) - base;
        if (begin <= at_->bytes && bytes <= at_->bytes - begin) {
          at_->used = begin + bytes;
          used_ += bytes;
          return static_cast<void*>(reinterpret_cast<char*>(at_) + begin);
        }
        if (at_->next != nullptr) {  // a block kept by clear()
          at_ = at_->next;
          continue;
        }
      }
      WICK_TRY(grow(bytes, align));
    }
  }
  template <class T>
  Result<Span<T>> array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    if (n > SIZE_MAX / sizeof(T)) return Status(Code::kOutOfMemory, "array size overflows");
    WICK_ASSIGN(void* p, allocate(n * sizeof(T), alignof(T)));
    T* t = static_cast<T*>(p);
    for (size_t i = 0; i < n; ++i) new (t + i) T();
    return Span<T>{t, n};
  }
  // Frees everything but keeps the blocks: what fitted once fits again without an allocation.
  void clear() {
    for (Block* b = first_; b != nullptr; b = b->next) b->used = kHeader;
    at_ = first_;
    used_ = 0;
  }
  // rewind(mark) frees what was allocated after the mark and keeps the blocks.
  struct Mark {
    void* block;
    size_t in_block, used;
  };
  Mark mark() const { return {at_, at_ == nullptr ? 0 : at_->used, used_}; }
  void rewind(const Mark& mark) {
    auto* to = static_cast<Block*>(mark.block);
    for (Block* b = to == nullptr ? first_ : to->next; b != nullptr; b = b->next) b->used = kHeader;
    at_ = to == nullptr ? first_ : to;
    if (to != nullptr) to->used = mark.in_block;
    used_ = mark.used;
  }
  // Gives the blocks that hold no data back to the allocator.
  void shrink() {
    Block** rest = &first_;
    at_ = nullptr;
    for (Block* b = first_; b != nullptr; b = b->next) {
      if (b->used == kHeader) continue;
      at_ = b;
      rest = &b->next;
    }
    free_from(rest);
  }
  size_t used() const { return used_; }
  size_t held() const { return held_; }  // bytes of all blocks, also of those that clear() keeps
  size_t limit() const { return limit_; }
  void set_limit(size_t limit) { limit_ = limit; }

 private:
  struct Block {
    Block* next;
    size_t bytes, used;
  };
  static constexpr size_t kHeader = (sizeof(Block) + kAlignment - 1) / kAlignment * kAlignment;
#if WICK_SMALL
  static constexpr size_t kFirstBlock = 512;
  static constexpr size_t kLargestBlock = kFirstBlock;  // little of the last one is unused
#else
  static constexpr size_t kFirstBlock = 1024;
  static constexpr size_t kLargestBlock = size_t{1} << 20;
#endif

  Status over(size_t bytes, size_t taken) const {
    return error(Code::kBudgetExceeded, "max_ram: %zu bytes more than the %zu of %zu in use", bytes,
                 taken, limit_);
  }
  Status grow(size_t wanted, size_t align) {
    const size_t left = held_ < limit_ ? limit_ - held_ : 0;
    const size_t gap = align > kAlignment ? align - kAlignment : 0;
    const size_t least = (wanted + gap + kHeader + kAlignment - 1) & ~(kAlignment - 1);
    if (least < wanted || least > left) return over(wanted, held_);
    size_t bytes = at_ == nullptr ? kFirstBlock : at_->bytes * 2;
    if (bytes > kLargestBlock) bytes = kLargestBlock;
    if (bytes < least || bytes > left) bytes = least;
    auto* block = static_cast<Block*>(allocator_->allocate(bytes, kAlignment));
    if (block == nullptr) return error(Code::kOutOfMemory, "cannot allocate %zu bytes", bytes);
    *block = {nullptr, bytes, kHeader};
    (at_ == nullptr ? first_ : at_->next) = block;
    at_ = block;
    held_ += bytes;
    return {};
  }
  void free_from(Block** link) {
    Block* b = *link;
    *link = nullptr;
    while (b != nullptr) {
      Block* next = b->next;
      held_ -= b->bytes;
      allocator_->deallocate(b, b->bytes, kAlignment);
      b = next;
    }
  }

  Allocator* allocator_;
  size_t limit_, used_ = 0, held_ = 0;
  Block* first_ = nullptr;
  Block* at_ = nullptr;
};

// Frees at its end what was allocated from the arena in its lifetime.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace wick
