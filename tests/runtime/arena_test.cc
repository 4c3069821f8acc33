#include "runtime/core/arena.h"

#include <gtest/gtest.h>

#include <vector>

namespace wick {
namespace {

// Its blocks are aligned as they must be and not better: an odd multiple of kAlignment.
class BarelyAligned final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    EXPECT_LE(align, kAlignment);
    auto* p = static_cast<char*>(default_allocator().allocate(bytes + kGap, kGap));
    return p == nullptr ? nullptr : p + kAlignment;
  }
  void deallocate(void* p, size_t bytes, size_t) override {
    default_allocator().deallocate(static_cast<char*>(p) - kAlignment, bytes + kGap, kGap);
  }

 private:
  static constexpr size_t kGap = 4096;
};

TEST(Arena, AlignsBeyondItsBlocks) {
  BarelyAligned allocator;
  for (const size_t align : {1, 8, 64, 128, 256, 4096}) {
    Arena arena(allocator);
    std::vector<std::pair<char*, size_t>> all;
    for (int round = 0; round < 2; ++round) {
      for (const size_t bytes : {1, 0, 63, 900, 1000, 5000, 64, 1 << 20, 3}) {
        const auto p = arena.allocate(bytes, align);
        ASSERT_TRUE(p.ok()) << bytes << " at " << align;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(p.value()) % align, 0U) << bytes << " at " << align;
        if (bytes > 0) memset(p.value(), 0xA5, bytes);
        all.emplace_back(static_cast<char*>(p.value()), bytes);
      }
      for (size_t i = 0; i < all.size(); ++i) {
        for (size_t k = 0; k < i; ++k) {
          EXPECT_TRUE(all[i].first + all[i].second <= all[k].first ||
                      all[k].first + all[k].second <= all[i].first)
              << i << " lies over " << k;
        }
      }
      // The blocks that are kept hold the same again.
      const size_t held = arena.held();
      arena.clear();
      all.clear();
      for (const size_t bytes : {1, 0, 63, 900, 1000, 5000, 64, 1 << 20, 3})
        ASSERT_TRUE(arena.allocate(bytes, align).ok());
      EXPECT_EQ(arena.held(), held);
      arena.clear();
    }
  }
}

// The bytes before an aligned address are part of what the arena holds, and of its limit.
TEST(Arena, CountsTheGapsOfAlignment) {
  BarelyAligned allocator;
  Arena arena(allocator, 8192);
  EXPECT_EQ(arena.allocate(6000, 4096).status().code(), Code::kBudgetExceeded);
  EXPECT_EQ(arena.held(), 0U);
  ASSERT_TRUE(arena.allocate(6000, 64).ok());
  EXPECT_LE(arena.held(), 8192U);
}

}  // namespace
}  // namespace wick
