// Many sessions of one program at once, created, bound, run and destroyed on their own threads,
// each with a pool of its own: the same bits as alone. ThreadSanitizer reads this test in make
// test-full.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/small_cnn.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::ramp;
using test::same_bits;
using test::small_cnn;

std::vector<float> run(Session& session, int64_t batch) {
  std::vector<float> x = ramp(static_cast<size_t>(batch) * 4 * 16 * 16, 0.03f), y(batch * 10);
  TensorView in(x.data(), DType::kF32, {batch, 4, 16, 16});
  TensorView out(y.data(), DType::kF32, {batch, 10});
  Status s = session.run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
  return y;
}

TEST(Concurrent, SessionsOfOneProgramAgreeWithOneAlone) {
  auto l = test::load(small_cnn());
  SessionOptions alone;
  alone.threads = 1;
  auto reference = test::open(*l.program, alone);
  std::vector<float> expected[9];
  for (int64_t batch = 1; batch <= 8; ++batch) expected[batch] = run(*reference, batch);

  std::atomic<int> ready{0};
  auto work = [&](int64_t first) {
    ready.fetch_add(1);
    while (ready.load() < 3) std::this_thread::yield();
    for (int round = 0; round < 3; ++round) {
      SessionOptions options;
      options.threads = 2;
      auto session = test::open(*l.program, options);
      for (int64_t i = 0; i < 6; ++i) {
        int64_t batch = 1 + (first + i * 3) % 8;
        EXPECT_TRUE(same_bits(run(*session, batch), expected[batch])) << "batch " << batch;
      }
    }
  };
  std::thread a(work, 0), b(work, 2);
  work(5);
  a.join();
  b.join();
}

// The C interface keeps its last error per thread: one thread fails all the time, one never.
TEST(Concurrent, LastErrorIsTheThreadsOwn) {
  auto file = small_cnn();
  auto bytes = test::aligned_copy(file);
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load_memory(bytes.get(), file.size(), nullptr, &program), WICK_OK);
  const std::string before = wick_last_error();
  auto work = [&](int64_t channels) {
    wick_session_options options = WICK_INIT(wick_session_options);
    options.threads = 2;
    wick_session* session = nullptr;
    ASSERT_EQ(wick_session_create(program, &options, &session), WICK_OK) << wick_last_error();
    std::vector<float> x = ramp(4 * 16 * 16, 0.03f);
    for (int i = 0; i < 20; ++i) {
      wick_tensor in = {}, out = {};
      in.data = x.data();
      in.dtype = WICK_FLOAT32;
      in.rank = 4;
      const int64_t dims[4] = {1, channels, 16, 16};
      memcpy(in.dims, dims, sizeof dims);
      int code = wick_session_run(session, &in, 1, &out, 1, nullptr);
      if (channels == 4) {
        EXPECT_EQ(code, WICK_OK);
        EXPECT_EQ(out.dims[1], 10);
      } else {
        EXPECT_EQ(code, WICK_SHAPE_MISMATCH);
        EXPECT_STREQ(wick_last_error(), "input x: dimension 1 of [1,3,16,16] should be 4");
      }
    }
    wick_session_free(session);
  };
  std::thread failing(work, 3);
  work(4);
  failing.join();
  EXPECT_EQ(wick_last_error(), before) << "this thread did not fail";
  wick_program_free(program);
}

}  // namespace
}  // namespace wick
