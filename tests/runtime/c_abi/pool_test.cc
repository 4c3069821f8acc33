// Pools of sessions and of threads in the C ABI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/small_cnn.h"
#include "tests/runtime/state_programs.h"
#include "wick/c/program.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::ramp;
using test::same_bits;
using ::testing::HasSubstr;

class CPool : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = test::small_cnn();
    bytes_ = test::aligned_copy(file_);
    wick_load_options options = WICK_INIT(wick_load_options);
    options.allocator.user = &alive_;
    options.allocator.allocate = [](void* user, size_t n, size_t align) {
      ++*static_cast<std::atomic<int>*>(user);
      return default_allocator().allocate(n, align);
    };
    options.allocator.deallocate = [](void* user, void* p, size_t n, size_t align) {
      --*static_cast<std::atomic<int>*>(user);
      default_allocator().deallocate(p, n, align);
    };
    ASSERT_EQ(wick_program_load_memory(bytes_.get(), file_.size(), &options, &program_), WICK_OK);
  }
  void TearDown() override {
    wick_program_free(program_);
    EXPECT_EQ(alive_.load(), 0);
  }
  static wick_tensor image(std::vector<float>& x, int64_t n) {
    return {x.data(), WICK_FLOAT32, 4, {n, 4, 16, 16}};
  }
  static std::vector<float> answer(wick_pool* pool, int64_t n) {
    std::vector<float> x = ramp(static_cast<size_t>(n) * 4 * 16 * 16, 0.03f),
                       y(static_cast<size_t>(n) * 10);
    wick_tensor in = image(x, n), out = {y.data(), WICK_FLOAT32, 2, {n, 10}};
    EXPECT_EQ(wick_pool_run(pool, &in, 1, &out, 1, nullptr), WICK_OK) << wick_last_error();
    return y;
  }
  std::atomic<int> alive_{0};
  std::vector<uint8_t> file_;
  test::AlignedBytes bytes_{nullptr, {0}};
  wick_program* program_ = nullptr;
};

TEST_F(CPool, ServesThreadsOnTheHostsThreads) {
  wick_thread_pool_options host = WICK_INIT(wick_thread_pool_options);
  host.threads = 2;
  std::atomic<int> asked{0};
  host.user = &asked;
  host.run = [](void* user, int count, void (*work)(void*), void* job) {
    ++*static_cast<std::atomic<int>*>(user);
    for (int i = 0; i < count; ++i) work(job);
  };
  wick_thread_pool* threads = nullptr;
  ASSERT_EQ(wick_thread_pool_create(&host, &threads), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_thread_pool_threads(threads), 2);
  wick_session_options each = WICK_INIT(wick_session_options);
  each.thread_pool = threads;
  wick_pool_options options = WICK_INIT(wick_pool_options);
  options.sessions = 3;
  options.session = &each;
  wick_pool* pool = nullptr;
  ASSERT_EQ(wick_pool_create(program_, &options, &pool), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_pool_size(pool), 3u);
  const std::vector<float> want = answer(pool, 4);
  EXPECT_GT(asked.load(), 0);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(same_bits(answer(pool, 4), want));
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_GT(wick_pool_memory(pool), 0u);
  EXPECT_EQ(wick_pool_idle(pool), 3u);
  wick_pool_free(pool);
  wick_thread_pool_free(threads);
  EXPECT_EQ(wick_program_packed_bytes(program_), 0u);
}

TEST_F(CPool, AnAcquiredSessionIsOneUntilItIsFreed) {
  wick_pool_options options = WICK_INIT(wick_pool_options);
  options.sessions = 1;
  wick_pool* pool = nullptr;
  ASSERT_EQ(wick_pool_create(program_, &options, &pool), WICK_OK) << wick_last_error();
  const std::vector<float> want = answer(pool, 3);
  wick_session* session = nullptr;
  ASSERT_EQ(wick_pool_acquire(pool, nullptr, &session), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_session_find_output(session, "e"), 0);
  EXPECT_EQ(wick_session_shared_memory(session) != 0, wick_program_packed_bytes(program_) != 0);
  std::vector<float> x = ramp(3 * 4 * 16 * 16, 0.03f);
  wick_tensor in = image(x, 3), out = {};
  ASSERT_EQ(wick_session_run(session, &in, 1, &out, 1, nullptr), WICK_OK) << wick_last_error();
  EXPECT_EQ(memcmp(out.data, want.data(), want.size() * sizeof(float)), 0);

  wick_run_options run = WICK_INIT(wick_run_options);
  run.when_busy = WICK_FAIL;
  wick_session* second = nullptr;
  EXPECT_EQ(wick_pool_acquire(pool, &run, &second), WICK_BUSY);
  EXPECT_STREQ(wick_last_error(), "all 1 sessions of the pool are in use");
  EXPECT_STREQ(wick_code_name(WICK_BUSY), "busy");
  run.when_busy = WICK_WAIT;
  run.timeout_ns = 10'000'000;
  EXPECT_EQ(wick_pool_acquire(pool, &run, &second), WICK_DEADLINE);
  run.timeout_ns = 0;
  wick_cancel* cancel = nullptr;
  ASSERT_EQ(wick_cancel_create(&cancel), WICK_OK);
  run.cancel = cancel;
  std::thread other([&] { wick_cancel_request(cancel); });
  EXPECT_EQ(wick_pool_acquire(pool, &run, &second), WICK_CANCELLED);
  other.join();
  wick_cancel_free(cancel);
  run.cancel = nullptr;
  run.when_busy = 2;
  EXPECT_EQ(wick_pool_acquire(pool, &run, &second), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.when_busy is 2"));
  EXPECT_EQ(second, nullptr);
  run.size = offsetof(wick_run_options, when_busy);  // a caller that does not know of it
  EXPECT_EQ(wick_session_run(session, &in, 1, &out, 1, &run), WICK_OK) << wick_last_error();

  wick_session_free(session);
  EXPECT_EQ(wick_pool_idle(pool), 1u);
  EXPECT_TRUE(same_bits(answer(pool, 3), want));
  wick_pool_free(pool);
}

// y = x + h, and h becomes y.
TEST(CState, IsGivenToEachRun) {
  test::ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {test::kSym}), h = p.value("h", DType::kF32, {test::kSym});
  auto y = p.value("y", DType::kF32, {test::kSym}),
       next = p.value("next", DType::kF32, {test::kSym});
  p.node(OpId::kAdd, {x, h}, {y});
  p.node(OpId::kIdentity, {y}, {next});
  p.entry("main", {x, h}, {y, next});
  const auto file = p.finish();
  const auto bytes = test::aligned_copy(file);
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load_memory(bytes.get(), file.size(), nullptr, &program), WICK_OK)
      << wick_last_error();
  wick_pool* pool = nullptr;
  ASSERT_EQ(wick_pool_create(program, nullptr, &pool), WICK_OK) << wick_last_error();
  const wick_state_link link = {"h", "next"};
  const wick_dim_binding dim = {"n", 2};
  wick_state_options options = WICK_INIT(wick_state_options);
  options.links = &link;
  options.link_count = 1;
  wick_state* state = nullptr;
  EXPECT_EQ(wick_state_create(program, &options, &state), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("its size n is free"));
  options.dims = &dim;
  options.dim_count = 1;
  ASSERT_EQ(wick_state_create(program, &options, &state), WICK_OK) << wick_last_error();
  float one[2] = {1, 2}, sum[2] = {};
  const wick_tensor in = {one, WICK_FLOAT32, 1, {2}};
  wick_tensor out = {sum, WICK_FLOAT32, 1, {2}}, value = {};
  for (int step = 1; step <= 5; ++step) {
    if (step == 4) wick_state_reset(state);
    ASSERT_EQ(wick_pool_run_state(pool, &in, 1, &out, 1, state, nullptr), WICK_OK)
        << wick_last_error();
    EXPECT_EQ(sum[1], static_cast<float>(2 * (step < 4 ? step : step - 3)));
    ASSERT_EQ(wick_state_value(state, 0, &value), WICK_OK);
    EXPECT_EQ(static_cast<float*>(value.data)[1], sum[1]);
  }
  wick_state_free(state);
  wick_pool_free(pool);
  wick_program_free(program);
}

// The program's own buffers: both entry points run with one state, which can be forked.
TEST(CState, BuffersOfTheProgramServeItsEntryPoints) {
  const std::vector<uint8_t> file = test::rows_program();
  auto bytes = test::aligned_copy(file);
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load_memory(bytes.get(), file.size(), nullptr, &program), WICK_OK);
  wick_state_buffer described = WICK_INIT(wick_state_buffer);
  ASSERT_EQ(wick_program_state(program, 0, &described), WICK_OK);
  EXPECT_EQ(described.tensor.dims[0], 4);
  EXPECT_EQ(described.tensor.dims[1], -1) << "its size is free";
  const wick_dim_binding dim = {"n", 2};
  wick_state_options options = WICK_INIT(wick_state_options);
  options.dims = &dim;
  options.dim_count = 1;
  wick_state *state = nullptr, *copy = nullptr;
  ASSERT_EQ(wick_state_create(program, &options, &state), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_state_count(state), 3u);
  EXPECT_STREQ(wick_state_name(state, 1), "at");
  EXPECT_EQ(wick_state_name(state, 3), nullptr);
  EXPECT_EQ(wick_state_find(state, "last"), 2);
  EXPECT_EQ(wick_state_find(state, "none"), -1);
  EXPECT_GE(wick_state_bytes(state), 4 * 2 * sizeof(float));

  wick_session *writer = nullptr, *reader = nullptr;
  wick_session_options opened = WICK_INIT(wick_session_options);
  opened.entry = "write";
  ASSERT_EQ(wick_session_create(program, &opened, &writer), WICK_OK) << wick_last_error();
  opened.entry = "read";
  ASSERT_EQ(wick_session_create(program, &opened, &reader), WICK_OK) << wick_last_error();
  float x[2] = {1, 2};
  const wick_tensor in = {x, WICK_FLOAT32, 2, {1, 2}};
  wick_tensor out[2] = {};
  wick_run_options run = WICK_INIT(wick_run_options);
  EXPECT_EQ(wick_session_run(writer, &in, 1, out, 1, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("keeps state between runs"));
  run.state = state;
  ASSERT_EQ(wick_session_run(writer, &in, 1, out, 1, &run), WICK_OK) << wick_last_error();
  ASSERT_EQ(wick_state_fork(state, &copy), WICK_OK) << wick_last_error();
  ASSERT_EQ(wick_session_run(writer, &in, 1, out, 1, &run), WICK_OK) << wick_last_error();
  auto sum = [&](wick_state* of) {
    run.state = of;
    EXPECT_EQ(wick_session_run(reader, nullptr, 0, out, 2, &run), WICK_OK) << wick_last_error();
    return static_cast<float*>(out[0].data)[1];
  };
  EXPECT_EQ(sum(state), 4);
  EXPECT_EQ(sum(copy), 2);
  wick_state_reset(state);
  EXPECT_EQ(sum(state), 0);
  wick_session_free(writer);
  wick_session_free(reader);
  wick_state_free(state);
  wick_state_free(copy);
  wick_program_free(program);
}

}  // namespace
}  // namespace wick
