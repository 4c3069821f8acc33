#include "runtime/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <thread>
#include <vector>

namespace wick {
namespace {

struct PoolHandle {
  explicit PoolHandle(int threads) {
    auto r = ThreadPool::create(default_allocator(), threads);
    EXPECT_TRUE(r.ok());
    pool = r.ok() ? r.value() : nullptr;
  }
  ~PoolHandle() { ThreadPool::destroy(pool); }
  ThreadPool* pool = nullptr;
};

// Fails the n-th allocation and counts what is alive.
class FailingAllocator final : public Allocator {
 public:
  explicit FailingAllocator(int fail_at) : fail_at_(fail_at) {}
  void* allocate(size_t bytes, size_t align) override {
    if (count_++ == fail_at_) return nullptr;
    ++alive;
    return default_allocator().allocate(bytes, align);
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p != nullptr) --alive;
    default_allocator().deallocate(p, bytes, align);
  }
  int alive = 0;
  int calls() const { return count_; }

 private:
  int fail_at_;
  int count_ = 0;
};

TEST(ThreadPool, EveryTaskRunsOnceForAnyThreadCount) {
  for (int threads : {1, 2, 3, 7}) {
    PoolHandle h(threads);
    EXPECT_EQ(h.pool->threads(), threads);
    for (int64_t tasks : {0, 1, 2, 5, 64, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(tasks));
      std::atomic<bool> bad_worker{false};
      h.pool->run(tasks, [&](int64_t task, int worker) {
        hits[static_cast<size_t>(task)]++;
        if (worker < 0 || worker >= threads) bad_worker = true;
      });
      for (auto& hit : hits) EXPECT_EQ(hit.load(), 1);
      EXPECT_FALSE(bad_worker.load());
    }
  }
}

TEST(ThreadPool, ManyShortJobsSeeTheirOwnData) {
  PoolHandle h(3);
  for (int round = 0; round < 3000; ++round) {
    int64_t values[4] = {};
    h.pool->run(4, [&](int64_t task, int) { values[task] = round * 10 + task; });
    for (int64_t i = 0; i < 4; ++i) ASSERT_EQ(values[i], round * 10 + i);
  }
}

// Waits for some seconds at most, so that an error does not hang the suite.
void wait_for(const std::atomic<int>& value, int wanted) {
  for (int i = 0; i < 10'000 && value.load() < wanted; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ThreadPool, EachThreadBeginsWithItsOwnPart) {
  PoolHandle h(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    std::atomic<int64_t> first[2] = {-1, -1};
    h.pool->run(100, [&](int64_t task, int worker) {
      if (first[worker].load() >= 0) return;
      first[worker] = task;
      begun++;
      wait_for(begun, 2);  // so that neither thread takes all of the tasks
    });
    ASSERT_EQ(first[0].load(), 0);
    ASSERT_EQ(first[1].load(), 50);
  }
}

TEST(ThreadPool, AThreadThatIsSlowLeavesItsPartToTheOthers) {
  for (const int64_t slow : {0, 33}) {  // the caller's first task, and another thread's
    PoolHandle h(2);
    std::atomic<int> done{0};
    bool all = false;
    h.pool->run(66, [&](int64_t task, int) {
      if (task == slow) {
        wait_for(done, 65);
        all = done.load() == 65;
      }
      done++;
    });
    EXPECT_TRUE(all) << slow;
  }
}

TEST(ThreadPool, WorkersSleepAndWake) {
  PoolHandle h(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than the spin
    std::atomic<int> sum{0};
    h.pool->run(16, [&](int64_t task, int) { sum += static_cast<int>(task); });
    ASSERT_EQ(sum.load(), 120);
  }
}

TEST(ThreadPool, NestedRunsInline) {
  PoolHandle h(3);
  std::atomic<int> inner{0};
  h.pool->run(6, [&](int64_t, int) {
    auto id = std::this_thread::get_id();
    h.pool->run(5, [&](int64_t, int worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), id);
      inner++;
    });
  });
  EXPECT_EQ(inner.load(), 30);
}

TEST(ThreadPool, ConcurrentCallersAllFinish) {
  PoolHandle h(2);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) h.pool->run(8, [&](int64_t, int) { sum++; });
    });
  }
  for (auto& t : callers) t.join();
  EXPECT_EQ(sum.load(), 3 * 200 * 8);
}

// Hosts that do the work in different ways.
struct Host {
  enum Way { kThreads, kOneAfterTheOther, kNone, kTooOften } way;
  std::atomic<int> calls{0};
  static void run(void* user, int count, void (*work)(void*), void* job) {
    auto* self = static_cast<Host*>(user);
    self->calls++;
    std::vector<std::thread> threads;
    switch (self->way) {
      case kThreads:
        for (int i = 1; i < count; ++i) threads.emplace_back(work, job);
        work(job);
        for (std::thread& t : threads) t.join();
        return;
      case kTooOften: count *= 3; [[fallthrough]];
      case kOneAfterTheOther:
        for (int i = 0; i < count; ++i) work(job);
        return;
      case kNone: return;
    }
  }
};

TEST(ThreadPool, AHostsThreadsDoEveryTaskOnce) {
  for (Host::Way way : {Host::kThreads, Host::kOneAfterTheOther, Host::kNone, Host::kTooOften}) {
    Host host{way, {}};
    auto made = ThreadPool::create(default_allocator(), ThreadHooks{3, &host, Host::run});
    ASSERT_TRUE(made.ok());
    ThreadPool* pool = *made;
    EXPECT_EQ(pool->threads(), 3);
    for (int64_t tasks : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(tasks));
      std::atomic<int> in_use[3] = {};
      std::atomic<bool> bad{false};
      pool->run(tasks, [&](int64_t task, int worker) {
        if (worker < 0 || worker >= 3 || in_use[worker].fetch_add(1) != 0) bad = true;
        hits[static_cast<size_t>(task)]++;
        if (tasks > 1) {  // on the host's threads: another run is inline
          int inner = 0;
          const int before = host.calls.load();
          pool->run(4, [&](int64_t, int) { ++inner; });
          if (inner != 4 || host.calls.load() != before) bad = true;
        }
        in_use[worker].fetch_sub(1);
      });
      for (auto& hit : hits) EXPECT_EQ(hit.load(), 1) << way;
      EXPECT_FALSE(bad.load()) << way << ": two tasks at once have one worker's number";
    }
    ThreadPool::destroy(pool);
  }
  EXPECT_EQ(ThreadPool::create(default_allocator(), ThreadHooks{}).status().code(),
            Code::kInvalidArgument);
  Host host{Host::kNone, {}};
  EXPECT_EQ(
      ThreadPool::create(default_allocator(), ThreadHooks{0, &host, Host::run}).status().code(),
      Code::kInvalidArgument);
}

// The tasks of a host have the float mode and the Stop of the run that they work for.
TEST(ThreadPool, AHostsTasksHaveTheModeAndTheStopOfTheirRun) {
  Host host{Host::kThreads, {}};
  auto made = ThreadPool::create(default_allocator(), ThreadHooks{2, &host, Host::run});
  ASSERT_TRUE(made.ok());
  CancelFlag flag;
  Stop stop;
  stop.arm(0, &flag);
  const StopScope scope(&stop);
  volatile float one = 1.0f, tiny = 0x1p-26f;
  const int saved = fegetround();
  fesetround(FE_UPWARD);
  std::atomic<int> done{0}, wrong{0};
  (*made)->run(100'000, [&](int64_t, int) {
    wrong += current_stop() != &stop || one + tiny != 1.0f ? 1 : 0;
    if (++done == 10) flag.request();
  });
  EXPECT_EQ(fegetround(), FE_UPWARD);
  fesetround(saved);
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_LT(done.load(), 100'000) << "tasks that had not begun are skipped";
  EXPECT_TRUE(stop.is_set());
  ThreadPool::destroy(*made);
}

TEST(ThreadPool, RefusesBadCountsAndSurvivesFailedAllocation) {
  EXPECT_EQ(ThreadPool::create(default_allocator(), 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ThreadPool::create(default_allocator(), -3).status().code(), Code::kInvalidArgument);
  for (int n = 0;; ++n) {
    FailingAllocator allocator(n);
    auto r = ThreadPool::create(allocator, 3);
    if (r.ok()) {
      ThreadPool::destroy(r.value());
      EXPECT_EQ(allocator.alive, 0);
      EXPECT_LT(allocator.calls(), n + 1);
      break;
    }
    EXPECT_EQ(r.status().code(), Code::kOutOfMemory);
    EXPECT_EQ(allocator.alive, 0);
    ASSERT_LT(n, 16);
  }
}

TEST(FloatModeScope, SetsNearestAndRestores) {
  volatile float one = 1.0f, tiny = 0x1p-26f;  // volatile: added at run time
  ASSERT_EQ(fesetround(FE_UPWARD), 0);
  EXPECT_GT(one + tiny, 1.0f);
  {
    FloatModeScope scope;
    EXPECT_EQ(one + tiny, 1.0f);
  }
  EXPECT_GT(one + tiny, 1.0f);
  fesetround(FE_TONEAREST);
}

TEST(FloatModeScope, KeepsSubnormals) {
#if defined(__SSE__)
  volatile float small = 0x1p-126f, half = 0.5f;
  unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved | 0x8040);
  EXPECT_EQ(small * half, 0.0f);
  {
    FloatModeScope scope;
    EXPECT_EQ(small * half, 0x1p-127f);
  }
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040u, 0x8040u);
  __builtin_ia32_ldmxcsr(saved);
#else
  GTEST_SKIP() << "needs x86";
#endif
}

}  // namespace
}  // namespace wick
