// A pool of sessions, as one object for all threads: bits, lines of callers, deadlines, cancelling,
// what is refused, and a server that replaces its model.
#include "runtime/exec/session_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/kernels/kernel.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/string_programs.h"

namespace wick {
namespace {

using test::kSym;
using test::ramp;
using test::same_bits;
using test::small_cnn;
using ::testing::HasSubstr;

Owned<SessionPool> open_pool(const Program& program, size_t sessions, int threads = 1) {
  SessionPoolOptions options;
  options.sessions = sessions;
  options.session.threads = threads;
  auto pool = SessionPool::create(program, options);
  EXPECT_TRUE(pool.ok()) << pool.status().message();
  return pool.ok() ? std::move(*pool) : Owned<SessionPool>();
}

// An input of small_cnn and room for its answer.
struct Call {
  explicit Call(int64_t n, float step = 0.03f)
      : x(ramp(static_cast<size_t>(n) * 4 * 16 * 16, step)),
        y(static_cast<size_t>(n) * 10, -1.0f),
        in(x.data(), DType::kF32, {n, 4, 16, 16}),
        out(y.data(), DType::kF32, {n, 10}) {}
  Span<const TensorView> inputs() { return {&in, 1}; }
  Span<TensorView> outputs() { return {&out, 1}; }
  std::vector<float> x, y;
  TensorView in, out;
};

// Threads with random shapes against the answers of one session.
void hammer(int threads, int runs, size_t sessions, int pool_threads) {
  auto l = test::load(small_cnn());
  auto alone = test::open(*l.program);
  std::vector<std::vector<float>> want(9);
  for (int64_t n = 1; n <= 8; ++n) {
    Call call(n);
    ASSERT_TRUE(alone->run(call.inputs(), call.outputs()).ok());
    want[static_cast<size_t>(n)] = call.y;
  }
  auto pool = open_pool(*l.program, sessions, pool_threads);
  std::atomic<int> wrong{0}, left{runs};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      while (left.fetch_sub(1) > 0) {
        const auto n = static_cast<int64_t>(1 + random() % 8);
        Call call(n);
        const Status s = pool->run(call.inputs(), call.outputs());
        wrong += !s.ok() || !same_bits(call.y, want[static_cast<size_t>(n)]) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(pool->idle(), sessions);
  EXPECT_EQ(l.program->packed().packings, l.program->packed().forms) << "packed once, for all";
}

TEST(SessionPool, ThreadsOfRandomShapesHaveTheBitsOfOneSession) {
  hammer(6, 1200, 3, 1);
  hammer(4, 400, 2, 2);
}
// The part `soak` of the full tests runs 100,000.
TEST(PoolSoak, ManyRunsOfRandomShapes) {
  const bool full = getenv("WICK_TEST_FULL") != nullptr;
  hammer(8, full ? 100'000 : 500, 4, 1);
}

TEST(SessionPool, WithoutAFreeSessionItFailsOrWaitsToTheDeadline) {
  auto l = test::load(small_cnn());
  auto pool = open_pool(*l.program, 2);
  EXPECT_EQ(pool->size(), 2u);
  Call call(2);
  {
    auto a = pool->acquire(), b = pool->acquire();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NE(a->slot(), b->slot());
    EXPECT_EQ(pool->idle(), 0u);
    Status s = pool->run(call.inputs(), call.outputs(), {}, WhenBusy::kFail);
    EXPECT_EQ(s.code(), Code::kBusy);
    EXPECT_STREQ(s.message(), "all 2 sessions of the pool are in use");
    EXPECT_EQ(pool->acquire({}, WhenBusy::kFail).status().code(), Code::kBusy);
    RunOptions soon;
    soon.timeout_ns = 20'000'000;
    s = pool->run(call.inputs(), call.outputs(), soon);
    EXPECT_EQ(s.code(), Code::kDeadline);
    EXPECT_THAT(s.message(), HasSubstr("all 2 sessions of the pool are in use: the deadline"));
    EXPECT_EQ(call.y, std::vector<float>(20, -1.0f)) << "outputs are untouched";
    CancelFlag flag;
    RunOptions cancelled;
    cancelled.cancel = &flag;
    std::thread other([&] { flag.request(); });
    s = pool->run(call.inputs(), call.outputs(), cancelled);
    other.join();
    EXPECT_EQ(s.code(), Code::kCancelled);
    b = Status(Code::kNotFound, "given back");  // a Result is assigned: its Lease ends
    EXPECT_EQ(pool->idle(), 1u);
  }
  EXPECT_EQ(pool->idle(), 2u);
  EXPECT_TRUE(pool->run(call.inputs(), call.outputs(), {}, WhenBusy::kFail).ok());
}

// A session that is given back goes to whoever has waited longest.
TEST(SessionPool, CallersAreServedInTheirOrder) {
  auto l = test::load(small_cnn());
  auto pool = open_pool(*l.program, 1);
  auto held = pool->acquire();
  ASSERT_TRUE(held.ok());
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    std::atomic<bool> begun{false};
    all.emplace_back([&, t] {
      begun = true;
      auto mine = pool->acquire();
      EXPECT_TRUE(mine.ok());
      const std::lock_guard<std::mutex> lock(mutex);
      order.push_back(t);
    });
    while (!begun.load()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it stands in line by then
  }
  held->release();
  for (std::thread& t : all) t.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

// Whose shapes a free session is bound to gets that one: nothing is planned again.
std::atomic<int> g_plans{0};
const KernelSet& counting_relu() {
  static const KernelRow row = {
      "relu.f32.counting",
      kContiguous,
      [](const KernelQuery&) { return true; },
      [](const KernelQuery&, KernelPlan*) -> Status {
        ++g_plans;
        return {};
      },
      nullptr,
      [](const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) -> Status {
        for (int64_t i = 0; i < out[0].numel(); ++i)
          out[0].as<float>()[i] = in[0].as<float>()[i] > 0 ? in[0].as<float>()[i] : 0;
        return {};
      }};
  static const Span<const KernelRow> rows{&row, 1};
  static const KernelEntry entry{OpId::kRelu, &rows};
  static const KernelSet set{"counting", {&entry, 1}};
  return set;
}

TEST(SessionPool, PrefersTheSessionOfTheseShapes) {
  test::ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym}), y = p.value("y", DType::kF32, {kSym});
  p.node(OpId::kRelu, {x}, {y});
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish());
  const KernelSet* sets[] = {&counting_relu()};
  SessionPoolOptions options;
  options.sessions = 3;
  options.session.kernels = sets;
  options.session.threads = 1;
  auto pool = SessionPool::create(*l.program, options);
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  g_plans = 0;
  for (int round = 0; round < 5; ++round) {
    for (int64_t n : {5, 7, 3}) {
      std::vector<float> a(static_cast<size_t>(n), -1), b(a);
      TensorView in(a.data(), DType::kF32, {n}), out(b.data(), DType::kF32, {n});
      ASSERT_TRUE((*pool)->run({&in, 1}, {&out, 1}).ok());
      EXPECT_EQ(b, std::vector<float>(static_cast<size_t>(n), 0));
    }
    EXPECT_EQ(g_plans.load(), 3);
  }
}

TEST(SessionPool, RefusesWhatItCannotHandOut) {
  auto l = test::load(small_cnn());
  SessionPoolOptions none;
  none.sessions = 0;
  EXPECT_EQ(SessionPool::create(*l.program, none).status().code(), Code::kInvalidArgument);
  none.sessions = 65537;
  EXPECT_EQ(SessionPool::create(*l.program, none).status().code(), Code::kInvalidArgument);
  auto pool = open_pool(*l.program, 1);
  Call call(1);
  call.out.data = nullptr;
  Status s = pool->run(call.inputs(), call.outputs());
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_STREQ(s.message(), "output e has no memory: give it a buffer, or acquire() a session");
  EXPECT_FALSE(pool->run({}, {}).ok());
  {  // an acquired session has memory of its own for them
    auto lease = pool->acquire();
    ASSERT_TRUE(lease.ok());
    EXPECT_TRUE((*lease)->run(call.inputs(), call.outputs()).ok());
    EXPECT_NE(call.out.data, nullptr);
  }
  auto words = test::load(test::greeting());
  auto texts = open_pool(*words.program, 1);
  StringRef word, answer;
  TensorView in(&word, DType::kString, {1}), out(&answer, DType::kString, {1});
  s = texts->run({&in, 1}, {&out, 1});
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), HasSubstr("output y has strings"));
}

// Sessions on threads that they share, or on a host's, have the bits of one with its own.
TEST(SessionPool, SharedAndHostThreadsKeepTheBits) {
  auto l = test::load(small_cnn());
  auto alone = test::open(*l.program);
  Call want(5);
  ASSERT_TRUE(alone->run(want.inputs(), want.outputs()).ok());
  ThreadHooks hooks;
  hooks.threads = 3;
  hooks.run = [](void*, int count, void (*work)(void*), void* job) {
    std::vector<std::thread> others;
    for (int i = 1; i < count; ++i) others.emplace_back(work, job);
    work(job);
    for (std::thread& t : others) t.join();
  };
  for (bool host : {false, true}) {
    auto made = host ? ThreadPool::create(default_allocator(), hooks)
                     : ThreadPool::create(default_allocator(), 3);
    ASSERT_TRUE(made.ok());
    const Owned<ThreadPool> threads(*made);
    SessionPoolOptions options;
    options.session.thread_pool = threads.get();
    auto pool = SessionPool::create(*l.program, options);
    ASSERT_TRUE(pool.ok()) << pool.status().message();
    std::atomic<int> wrong{0};
    auto work = [&] {
      for (int i = 0; i < 20; ++i) {
        Call call(5);
        wrong += !(*pool)->run(call.inputs(), call.outputs()).ok() || !same_bits(call.y, want.y);
      }
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(wrong.load(), 0) << host;
    auto lease = (*pool)->acquire();
    EXPECT_EQ((*lease)->threads(), 3);
    SessionOptions odd;
    odd.thread_pool = threads.get();
    odd.threads = 2;
    const Status s = Session::create(*l.program, odd).status();
    EXPECT_EQ(s.code(), Code::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("threads is 2, the given pool has 3"));
  }
}

// A run that was started and never finished is over when its Lease ends, also when its flag is
// gone.
TEST(SessionPool, AStartedRunEndsWithItsLease) {
  auto l = test::load(small_cnn());
  auto pool = open_pool(*l.program, 1);
  Call call(2), again(2);
  {
    auto lease = pool->acquire();
    ASSERT_TRUE(lease.ok());
    auto flag = std::make_unique<CancelFlag>();
    RunOptions options;
    options.cancel = flag.get();
    ASSERT_TRUE((*lease)->start(call.inputs(), options).ok());
    flag.reset();
  }
  const Status s = pool->run(again.inputs(), again.outputs());
  EXPECT_TRUE(s.ok()) << s.message();
}

TEST(SessionPool, EveryFailingAllocationIsAStatusAndNothingLeaks) {
  const auto file = small_cnn();
  const auto bytes = test::aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok());
  int64_t failed = 0;
  for (bool done = false; !done; ++failed) {
    ASSERT_LT(failed, 1000);
    test::CountingAllocator allocator(failed);
    {
      SessionPoolOptions options;
      options.sessions = 3;
      options.session.threads = 2;
      options.session.allocator = &allocator;
      auto pool = SessionPool::create(**program, options);
      done = pool.ok();
      if (!done) {
        EXPECT_EQ(pool.status().code(), Code::kOutOfMemory) << failed;
      }
    }
    EXPECT_EQ(allocator.alive, 0) << "allocation " << failed;
    EXPECT_EQ((*program)->packed().bytes, 0u);
  }
  EXPECT_GT(failed, 8);
}

// What a recurrent model remembers is the caller's, here in buffers of its own: many streams
// through two sessions, each with the bits that it has alone.
TEST(SessionPool, StateIsTheCallers) {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4}), h = p.value("h", DType::kF32, {4});
  auto s = p.value("s", DType::kF32, {4}), t = p.value("t", DType::kF32, {4});
  p.node(OpId::kAdd, {x, h}, {s});
  p.node(OpId::kTanh, {s}, {t});
  p.entry("main", {x, h}, {t});
  auto l = test::load(p.finish());
  auto pool = open_pool(*l.program, 2);
  auto stream = [&](int number) {
    std::vector<float> state[2] = {std::vector<float>(4), std::vector<float>(4)};
    for (int step = 0; step < 50; ++step) {
      const std::vector<float> in = ramp(4, 0.1f * static_cast<float>(number + step));
      const TensorView ins[2] = {TensorView(const_cast<float*>(in.data()), DType::kF32, {4}),
                                 TensorView(state[step % 2].data(), DType::kF32, {4})};
      TensorView out(state[1 - step % 2].data(), DType::kF32, {4});
      EXPECT_TRUE(pool->run(ins, {&out, 1}).ok());
    }
    return state[0];
  };
  std::vector<std::vector<float>> alone, together(6);
  for (int i = 0; i < 6; ++i) alone.push_back(stream(i));
  std::vector<std::thread> all;
  for (int i = 0; i < 6; ++i) all.emplace_back([&, i] { together[i] = stream(i); });
  for (std::thread& thread : all) thread.join();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(same_bits(together[i], alone[i])) << i;
}

// A server replaces its model while requests run: each request has the answer of one of the two
// models, and the old one is gone when its last request has ended.
struct Served {
  test::Loaded loaded;  // outlives its pool
  Owned<SessionPool> pool;
};

std::vector<uint8_t> plus(float number) {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2}), y = p.value("y", DType::kF32, {2});
  auto c = p.constant<float>("c", {2}, {number, number});
  p.node(OpId::kAdd, {x, c}, {y});
  p.entry("main", {x}, {y});
  return p.finish();
}

std::shared_ptr<Served> serve(float number) {
  auto served = std::make_shared<Served>();
  served->loaded = test::load(plus(number));
  served->pool = open_pool(*served->loaded.program, 2);
  return served;
}

TEST(SessionPool, AServerReplacesItsModelWhileRequestsRun) {
  std::mutex mutex;
  std::shared_ptr<Served> now = serve(0);
  std::atomic<int> newest{0}, wrong{0}, answered{0};
  std::atomic<bool> stop{false};
  auto client = [&] {
    while (!stop.load()) {
      const int before = newest.load();
      std::shared_ptr<Served> mine;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        mine = now;
      }
      float x[2] = {0.25f, 0.5f}, y[2] = {};
      TensorView in(x, DType::kF32, {2}), out(y, DType::kF32, {2});
      const Status s = mine->pool->run({&in, 1}, {&out, 1});
      const int after = newest.load() + 1;  // the model is there before its number is
      const float model = y[0] - 0.25f;
      wrong += !s.ok() || y[1] - 0.5f != model || model < static_cast<float>(before) ||
                       model > static_cast<float>(after)
                   ? 1
                   : 0;
      ++answered;
    }
  };
  std::vector<std::thread> clients;
  for (int t = 0; t < 4; ++t) clients.emplace_back(client);
  std::weak_ptr<Served> old;
  for (int model = 1; model <= 30; ++model) {
    auto next = serve(static_cast<float>(model));
    {
      const std::lock_guard<std::mutex> lock(mutex);
      old = now;
      now.swap(next);
    }
    newest = model;
    next.reset();
    const int seen = answered.load();
    while (answered.load() < seen + 8) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_TRUE(old.expired()) << "the model before the last one is still held";
}

}  // namespace
}  // namespace wick
