// The load of a server over weeks, in a minute: loads and runs without end, and 64 threads at once.
// The process must not grow.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/runtime/small_cnn.h"

namespace wick {
namespace {

using test::ramp;
using test::same_bits;
using test::small_cnn;

bool full() { return getenv("WICK_TEST_FULL") != nullptr; }

// Bytes of memory that the process holds.
int64_t resident() {
  long pages = 0, ignored = 0;
  if (FILE* f = fopen("/proc/self/statm", "r")) {
    if (fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    fclose(f);
  }
  return int64_t{pages} * sysconf(_SC_PAGESIZE);
}

std::vector<float> run(Session& session, int64_t batch) {
  std::vector<float> x = ramp(static_cast<size_t>(batch) * 4 * 16 * 16, 0.03f), y(batch * 10);
  TensorView in(x.data(), DType::kF32, {batch, 4, 16, 16});
  TensorView out(y.data(), DType::kF32, {batch, 10});
  const Status s = session.run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
  return y;
}

// Memory after three quarters, by when code and heap have been touched and trimmed as they will be
// at the end, against the end.
template <class F>
void does_not_grow(int64_t times, F&& once) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "malloc is a sanitizer's: it keeps what was freed";
#endif
  int64_t held[4] = {}, i = 0;
  size_t in_use[2] = {};
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (; i < times * (quarter + 1) / 4; ++i) once(i);
    malloc_trim(0);
    held[quarter] = resident();
    if (quarter >= 2) in_use[quarter - 2] = mallinfo2().uordblks;
  }
  ASSERT_GT(held[2], 0);
  // The system takes pages that were not touched for long and gives them back when they are: that
  // ends, a leak goes on.
  int more = 0;
  for (; held[3] > held[2] && more < 8; ++more) {
    for (int64_t end = i + times / 4; i < end; ++i) once(i);
    malloc_trim(0);
    held[2] = held[3];
    held[3] = resident();
  }
  EXPECT_LE(held[3], held[2]) << "after " << times << " times and " << more
                              << " quarters more; by quarters " << held[0] << " " << held[1];
  EXPECT_EQ(in_use[1], in_use[0]) << "bytes of malloc, after the third and the fourth quarter";
}

TEST(Soak, LoadsDoNotGrow) {
  const auto file = small_cnn();
  const auto bytes = test::aligned_copy(file);
  does_not_grow(full() ? 100'000 : 2'000, [&](int64_t i) {
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
    ASSERT_TRUE(program.ok());
    if (i % 16 != 0) return;
    SessionOptions options;
    options.threads = 1;
    auto session = Session::create(**program, options);
    ASSERT_TRUE(session.ok());
    run(**session, 1 + i % 3);
  });
}

// Refused files leave nothing behind either.
TEST(Soak, RefusalsDoNotGrow) {
  const auto file = small_cnn();
  const auto bytes = test::aligned_copy(file);
  does_not_grow(full() ? 100'000 : 5'000, [&](int64_t i) {
    const size_t at = 64 + static_cast<size_t>(i * 7919) % (file.size() - 64);
    bytes.get()[at] ^= 0x40;
    (void)Program::load(Span<const uint8_t>(bytes.get(), file.size())).ok();
    bytes.get()[at] ^= 0x40;
  });
}

// An emulator takes minutes for what this machine does in a second.
#ifdef WICK_TEST_EMULATED
constexpr int64_t kRuns = 2'000;
#else
constexpr int64_t kRuns = 20'000;
#endif

TEST(Soak, RunsDoNotGrow) {
  auto l = test::load(small_cnn());
  SessionOptions options;
  options.threads = 1;
  auto session = test::open(*l.program, options);
  const std::vector<float> expected = run(*session, 1);
  std::vector<float> x = ramp(4 * 16 * 16, 0.03f), y(10);
  TensorView in(x.data(), DType::kF32, {1, 4, 16, 16}), out(y.data(), DType::kF32, {1, 10});
  does_not_grow(full() ? 1'000'000 : kRuns, [&](int64_t) {
    ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1)).ok());
  });
  if (testing::Test::IsSkipped()) return;  // it did not run
  EXPECT_TRUE(same_bits(y, expected));
}

// Each with its session of one program, some with deadlines that pass and budgets that do not do.
TEST(Soak, SixtyFourThreads) {
  auto l = test::load(small_cnn());
  SessionOptions alone;
  alone.threads = 1;
  auto reference = test::open(*l.program, alone);
  std::vector<std::vector<float>> expected(5);
  for (int64_t batch = 1; batch < 5; ++batch) expected[batch] = run(*reference, batch);
  std::atomic<int> wrong{0}, ready{0};
  constexpr int kThreads = 64;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (int round = 0; round < (full() ? 20 : 3); ++round) {
        SessionOptions options;
        options.threads = 1 + (t + round) % 2;
        options.max_ram = t % 8 == 7 ? 1000 : options.max_ram;
        auto session = Session::create(*l.program, options);
        if (!session.ok()) {
          wrong += session.status().code() != Code::kBudgetExceeded ? 1 : 0;
          continue;
        }
        for (int64_t batch = 1; batch < 5 && options.max_ram > 1000; ++batch) {
          std::vector<float> x = ramp(static_cast<size_t>(batch) * 4 * 16 * 16, 0.03f),
                             y(batch * 10, -1.0f);
          TensorView in(x.data(), DType::kF32, {batch, 4, 16, 16}),
              out(y.data(), DType::kF32, {batch, 10});
          RunOptions soon;
          soon.timeout_ns = t % 8 == 3 ? 1 : 0;
          const Status s =
              (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1), soon);
          const std::vector<float> untouched(y.size(), -1.0f);
          wrong += s.ok() ? !same_bits(y, expected[batch])
                          : s.code() != Code::kDeadline || !same_bits(y, untouched);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace wick
