#include "runtime/backend/vulkan/ctx/arena.h"

#include <gtest/gtest.h>

namespace wick::test {
namespace {

using namespace vulkan;

TEST(VulkanArena, LiveItemsNeverOverlap) {
  Array<ArenaItem> items(default_allocator());
  uint64_t seed = 7;
  auto next = [&](uint64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
  };
  for (int i = 0; i < 200; ++i) {
    auto first = static_cast<int64_t>(next(100));
    auto last = first + static_cast<int64_t>(next(10));
    ASSERT_TRUE(items.push_back({next(5000), first, last, 0}).ok());
  }
  auto size = plan_arena(items);
  ASSERT_TRUE(size.ok());
  uint64_t total = 0;
  for (const ArenaItem& a : items) {
    total += a.bytes;
    EXPECT_EQ(a.offset % kRegionAlignment, 0u);
    EXPECT_LE(a.offset + a.bytes, size.value());
    for (const ArenaItem& b : items) {
      bool together = a.first <= b.last && b.first <= a.last;
      bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(&a != &b && together && overlap);
    }
  }
  EXPECT_LT(size.value(), total / 2);
}

TEST(VulkanArena, NothingLiesAcrossTwoBuffers) {
  constexpr uint64_t kLimit = 4096;
  Array<ArenaItem> items(default_allocator());
  for (int64_t i = 0; i < 60; ++i) {
    const uint64_t bytes = 200 + static_cast<uint64_t>(i * 977 % 3900);
    ASSERT_TRUE(items.push_back({bytes, i / 3, i / 3 + i % 5, 0}).ok());
  }
  auto size = plan_arena(items, kLimit);
  ASSERT_TRUE(size.ok());
  EXPECT_GT(*size, kLimit);
  Bump bump(kLimit);
  for (const ArenaItem& a : items) {
    EXPECT_EQ(a.offset / kLimit, (a.offset + a.bytes - 1) / kLimit);
    const uint64_t at = bump.place(a.bytes);
    EXPECT_EQ(at / kLimit, (at + a.bytes - 1) / kLimit);
    for (const ArenaItem& b : items) {
      bool together = a.first <= b.last && b.first <= a.last;
      bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(&a != &b && together && overlap);
    }
  }
}

}  // namespace
}  // namespace wick::test
