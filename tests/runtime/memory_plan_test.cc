#include "runtime/plan/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <vector>

#include "tests/runtime/programs.h"

namespace wick {
namespace {

TEST(MemoryPlan, ReusesWhatIsNoLongerLive) {
  // a chain: at any time two buffers of 1000 live
  std::vector<BufferRequest> r;
  for (int i = 0; i < 10; ++i) r.push_back({1000, i, i + 1});
  std::vector<size_t> at(r.size());
  size_t total = 0;
  ASSERT_TRUE(plan_memory(r, at, &total, default_allocator()).ok());
  EXPECT_EQ(total, 2 * 1024u);
  EXPECT_TRUE(verify_memory(r, at, total).ok());
}

TEST(MemoryPlan, RandomPlansHoldAndStayNearTheLowerBound) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferRequest> r;
    int steps = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < 60; ++i) {
      int first = static_cast<int>(random() % steps), last = first + static_cast<int>(random() % 6);
      r.push_back({random() % 5000, first, last});
    }
    std::vector<size_t> at(r.size());
    size_t total = 0, peak = 0, sum = 0;
    ASSERT_TRUE(plan_memory(r, at, &total, default_allocator()).ok());
    Status s = verify_memory(r, at, total);
    ASSERT_TRUE(s.ok()) << s.message();
    for (int t = 0; t < steps + 6; ++t) {
      size_t live = 0;
      for (const auto& b : r) live += b.first <= t && t <= b.last ? (b.bytes + 63) / 64 * 64 : 0;
      peak = std::max(peak, live);
    }
    for (const auto& b : r) sum += (b.bytes + 63) / 64 * 64;
    EXPECT_GE(total, peak);
    EXPECT_LE(total, std::min(sum, peak * 2));
  }
}

// Scratch lies behind what lives in its step: no further back, and on nothing.
TEST(MemoryPlan, WhatIsInUseByStepIsWhatLivesThere) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int steps = static_cast<int>(random() % 30);
    std::vector<BufferRequest> r;
    for (int i = 0; i < 40 && steps > 0; ++i) {
      const int first = static_cast<int>(random() % steps);
      r.push_back(
          {random() % 3 == 0 ? 0 : random() % 3000, first, first + static_cast<int>(random() % 9)});
    }
    std::vector<size_t> at(r.size()), used(static_cast<size_t>(steps), 7);
    size_t total = 0;
    ASSERT_TRUE(plan_memory(r, at, &total, default_allocator()).ok());
    ASSERT_TRUE(memory_in_use(r, at, used, default_allocator()).ok());
    for (int t = 0; t < steps; ++t) {
      size_t end = 0;
      for (size_t i = 0; i < r.size(); ++i)
        if (r[i].bytes != 0 && r[i].first <= t && t <= r[i].last)
          end = std::max(end, at[i] + (r[i].bytes + 63) / 64 * 64);
      ASSERT_EQ(used[static_cast<size_t>(t)], end) << "round " << round << ", step " << t;
    }
  }
  // Long ranges over many steps cost no more than short ones.
  std::vector<BufferRequest> all;
  for (int i = 0; i < 40000; ++i) all.push_back({64, 0, 39999});
  std::vector<size_t> at(all.size()), used(all.size());
  size_t total = 0;
  ASSERT_TRUE(plan_memory(all, at, &total, default_allocator()).ok());
  ASSERT_TRUE(memory_in_use(all, at, used, default_allocator()).ok());
  EXPECT_EQ(used.back(), total);
}

// Thousands of buffers are placed in the order of time: still without overlap, still reusing.
TEST(MemoryPlan, ThousandsOfBuffersReuseMemoryToo) {
  std::vector<BufferRequest> chain;
  for (int i = 0; i < 40000; ++i) chain.push_back({1000, i, i + 1});
  std::vector<size_t> at(chain.size());
  size_t total = 0;
  ASSERT_TRUE(plan_memory(chain, at, &total, default_allocator()).ok());
  EXPECT_EQ(total, 2 * 1024u);
  std::mt19937 random(2);
  for (int span : {3, 60, 6000}) {
    std::vector<BufferRequest> r;
    for (int i = 0; i < 6000; ++i) {
      int first = static_cast<int>(random() % 6000);
      int last = first + static_cast<int>(random() % static_cast<unsigned>(span));
      r.push_back({random() % 5000, first, last});
    }
    at.assign(r.size(), 0);
    ASSERT_TRUE(plan_memory(r, at, &total, default_allocator()).ok());
    Status s = verify_memory(r, at, total);
    ASSERT_TRUE(s.ok()) << s.message();
    size_t peak = 0;
    std::vector<int64_t> change(20000, 0);
    for (const auto& b : r) {
      change[static_cast<size_t>(b.first)] += static_cast<int64_t>((b.bytes + 63) / 64 * 64);
      change[static_cast<size_t>(b.last) + 1] -= static_cast<int64_t>((b.bytes + 63) / 64 * 64);
    }
    int64_t live = 0;
    for (int64_t c : change) peak = std::max(peak, static_cast<size_t>(live += c));
    EXPECT_GE(total, peak);
    EXPECT_LE(total, peak * 2) << "lives of up to " << span;
  }
}

// Half of the buffers stay, so that what the others leave never joins, and nothing that follows
// fits into it. CPU seconds.
double cost_of_gaps(int n) {
  std::vector<BufferRequest> r;
  for (int i = 0; i < n; ++i) {
    r.push_back({1000, i, 3 * n});
    r.push_back({1000 + static_cast<size_t>(i % 7) * 64, i, 2 * n - i});
    r.push_back({5000, 2 * n - i, 3 * n});
  }
  std::vector<size_t> at(r.size());
  size_t total = 0;
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(plan_memory(r, at, &total, default_allocator()).ok());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (n < 5000) {
    Status s = verify_memory(r, at, total);
    EXPECT_TRUE(s.ok()) << s.message();
  }
  return seconds;
}

// Sixteen times the buffers: quadratic work would take 256 times as long.
TEST(MemoryPlan, GapsThatStayCostNothing) {
  cost_of_gaps(2000);
  const double small = std::min(cost_of_gaps(12500), cost_of_gaps(12500)),
               large = std::min(cost_of_gaps(200000), cost_of_gaps(200000));
  printf("COUNT: plan with gaps: %.4f s, sixteen times the buffers %.4f s\n", small, large);
  EXPECT_LT(large, small * 60 + 0.02);
}

// Sums that no address space has, and memory for the plan itself that is not there.
TEST(MemoryPlan, SizesThatDoNotAddUp) {
  for (size_t n : {size_t{4}, size_t{5000}}) {  // by size, by time
    std::vector<BufferRequest> r(n, BufferRequest{64, 0, 1});
    std::vector<size_t> at(n);
    size_t total = 0;
    for (size_t i = 0; i < 3; ++i) r[i].bytes = SIZE_MAX / 4 - 64;
    const Status s = plan_memory(r, at, &total, default_allocator());
    EXPECT_EQ(s.code(), Code::kBudgetExceeded) << n;
    EXPECT_STREQ(s.message(), "the planned memory exceeds the address space");
    r[1].bytes = 64, r[2].bytes = SIZE_MAX / 4 + 1;
    EXPECT_EQ(plan_memory(r, at, &total, default_allocator()).code(), Code::kBudgetExceeded);
  }
}

TEST(MemoryPlan, MemoryThatIsNotThere) {
  for (size_t n : {size_t{20}, size_t{6000}}) {
    std::vector<BufferRequest> r;
    std::mt19937 random(3);
    for (size_t i = 0; i < n; ++i) {
      const auto first = static_cast<int32_t>(random() % n);
      r.push_back({1 + random() % 5000, first, first + static_cast<int32_t>(random() % 60)});
    }
    std::vector<size_t> at(n);
    size_t total = 0;
    int64_t fails = 0;
    for (;; ++fails) {
      test::CountingAllocator allocator(fails);
      const Status s = plan_memory(r, at, &total, allocator);
      EXPECT_EQ(allocator.alive, 0);
      if (s.ok()) break;
      ASSERT_EQ(s.code(), Code::kOutOfMemory);
    }
    EXPECT_GT(fails, n == 20 ? 2 : 20);
  }
}

TEST(MemoryPlan, TheVerifierFindsAPlantedOverlap) {
  std::vector<BufferRequest> r = {{256, 0, 2}, {256, 2, 3}, {256, 3, 4}};
  std::vector<size_t> good = {0, 256, 0};
  EXPECT_TRUE(verify_memory(r, good, 512).ok());
  std::vector<size_t> overlap = {0, 192, 512};
  EXPECT_STREQ(verify_memory(r, overlap, 768).message(),
               "memory plan: buffers 0 and 1 live at once and overlap");
  std::vector<size_t> beyond = {0, 256, 320};
  EXPECT_EQ(verify_memory(r, beyond, 512).code(), Code::kInternal);
  std::vector<size_t> behind = {0, 256, 1024};
  EXPECT_EQ(verify_memory(r, behind, 512).code(), Code::kInternal);
  std::vector<size_t> crooked = {0, 288, 0};
  EXPECT_EQ(verify_memory(r, crooked, 1024).code(), Code::kInternal);
}

}  // namespace
}  // namespace wick
