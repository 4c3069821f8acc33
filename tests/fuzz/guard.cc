#include "tests/fuzz/guard.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/fuzz/driver.h"

namespace wick::fuzz {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMostKept = 64;       // pages of a mapping that is kept
constexpr size_t kMostFilled = 65536;  // bytes at a block's start that are filled
constexpr size_t kMostGap = 256;       // bytes beside a block that must stay as they are
constexpr uint8_t kGap = 0xC7, kGone = 0xDE;

size_t round_up(size_t n) { return (n + kPage - 1) / kPage * kPage; }

// Gap is what is between a block and the ends of its pages.
struct Gap {
  char *before, *behind;
  size_t bytes_before, bytes_behind;
};
Gap gap_of(char* base, char* at, size_t bytes, size_t pages) {
  const auto before = static_cast<size_t>(at - base);
  const size_t behind = pages * kPage - before - bytes;
  Gap gap{at, at + bytes, before < kMostGap ? before : kMostGap,
          behind < kMostGap ? behind : kMostGap};
  gap.before -= gap.bytes_before;
  return gap;
}

bool holds_gap(const char* p, size_t bytes) {
  uint8_t other = 0;
  for (size_t i = 0; i < bytes; ++i) other |= static_cast<uint8_t>(p[i]) ^ kGap;
  return other == 0;
}

}  // namespace

GuardAllocator::~GuardAllocator() {
  for (size_t pages = 0; pages < free_.size(); ++pages) {
    for (char* p : free_[pages]) munmap(p - kPage, (pages + 2) * kPage);
  }
}

char* GuardAllocator::take(size_t pages) {
  if (pages < free_.size() && !free_[pages].empty()) {
    char* p = free_[pages].back();
    free_[pages].pop_back();
    return p;
  }
  void* p = mmap(nullptr, (pages + 2) * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  char* inside = static_cast<char*>(p) + kPage;
  if (mprotect(inside, pages * kPage, PROT_READ | PROT_WRITE) != 0) return nullptr;
  return inside;
}

void* GuardAllocator::allocate(size_t bytes, size_t align) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ || held_ > limit_ - bytes) return nullptr;
  void* made = nullptr;
  if (kAsan || align > kPage) {
    if (posix_memalign(&made, align < sizeof(void*) ? sizeof(void*) : align, bytes) != 0)
      return nullptr;
  } else {
    const size_t pages = bytes == 0 ? 1 : round_up(bytes) / kPage;
    char* base = take(pages);
    if (base == nullptr) return nullptr;
    char* end = base + pages * kPage;
    // Whole pages of it begin and end at once. An empty block is the page behind.
    char* p = bytes == 0         ? end
              : ++turn_ % 4 == 0 ? base
                                 : end - (bytes + align - 1) / align * align;
    if (bytes != 0) {
      const Gap gap = gap_of(base, p, bytes, pages);
      memset(gap.before, kGap, gap.bytes_before);
      memset(gap.behind, kGap, gap.bytes_behind);
    }
    made = p;
  }
  if (bytes != 0) memset(made, fill_, bytes < kMostFilled ? bytes : kMostFilled);
  ++alive_;
  held_ += bytes;
  return made;
}

void GuardAllocator::deallocate(void* p, size_t bytes, size_t align) {
  if (p == nullptr) return;
  const std::lock_guard lock(mutex_);
  --alive_;
  held_ -= bytes;
  if (kAsan || align > kPage) return free(p);
  const size_t pages = bytes == 0 ? 1 : round_up(bytes) / kPage;
  char* at = static_cast<char*>(p);
  const bool begins = reinterpret_cast<uintptr_t>(at) % kPage == 0;
  char* end = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(at + bytes)));
  char* base = bytes == 0 ? at - kPage : begins ? at : end - pages * kPage;
  if (bytes != 0) {
    const Gap gap = gap_of(base, at, bytes, pages);
    if (!holds_gap(gap.behind, gap.bytes_behind)) wrong_ = "bytes behind a block were written";
    if (!holds_gap(gap.before, gap.bytes_before)) wrong_ = "bytes before a block were written";
    memset(at, kGone, bytes < kMostFilled ? bytes : kMostFilled);
  }
  if (pages > kMostKept) {
    munmap(base - kPage, (pages + 2) * kPage);
    return;
  }
  if (free_.size() <= pages) free_.resize(pages + 1);
  free_[pages].push_back(base);
}

const char* GuardAllocator::check() {
  if (alive_ != 0 && wrong_ == nullptr) wrong_ = "a block was not given back";
  alive_ = 0;
  return std::exchange(wrong_, nullptr);
}

}  // namespace wick::fuzz
