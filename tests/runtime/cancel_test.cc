// Runs that are ended by RunOptions.cancel and by a deadline, before, within and between steps.
// ThreadSanitizer reads this test in make test-full.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/runtime/control_programs.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/string_programs.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::load;
using test::ramp;
using testing::HasSubstr;

// The bytes of a call's outputs; of strings what they say.
std::string text_of(const TensorView& v) {
  std::string all = std::string(to_text(v.shape).text) + ":";
  if (v.dtype == DType::kString) {
    for (int64_t i = 0; i < v.numel(); ++i) {
      const StringRef& s = v.as<StringRef>()[i];
      all += std::string(s.data == nullptr ? "" : s.data, static_cast<size_t>(s.size)) + "|";
    }
    return all;
  }
  return all + std::string(v.as<char>(), v.nbytes());
}

// A program with inputs for it.
struct Model {
  const char* name;
  std::vector<uint8_t> file;
  std::function<std::vector<TensorView>()> inputs;
};

float g_x[64 * 3], g_image[8 * 4 * 16 * 16], g_row[2] = {1, 2}, g_more[2] = {3, 4};
int64_t g_trips = 5;
uint8_t g_go = 1;
StringRef g_words[2] = {{"you", 3}, {"world", 5}}, g_told[1] = {{"once", 4}};

std::vector<Model> models() {
  for (size_t i = 0; i < std::size(g_x); ++i) g_x[i] = static_cast<float>(i % 7) - 3;
  const auto image = ramp(std::size(g_image), 0.03f);
  std::copy(image.begin(), image.end(), g_image);
  std::vector<Model> all;
  all.push_back({"mlp", test::mlp(), [] {
                   return std::vector<TensorView>{TensorView(g_x, DType::kF32, {64, 3})};
                 }});
  all.push_back({"small_cnn", test::small_cnn(), [] {
                   return std::vector<TensorView>{TensorView(g_image, DType::kF32, {8, 4, 16, 16})};
                 }});
  all.push_back({"growing_loop", test::growing_loop(), [] {
                   return std::vector<TensorView>{TensorView(&g_trips, DType::kI64, {}),
                                                  TensorView(&g_go, DType::kBool, {}),
                                                  TensorView(g_row, DType::kF32, {1, 2}),
                                                  TensorView(g_more, DType::kF32, {1, 2})};
                 }});
  all.push_back({"branches", test::branches(), [] {
                   return std::vector<TensorView>{TensorView(&g_go, DType::kBool, {1}),
                                                  TensorView(g_x, DType::kF32, {64})};
                 }});
  all.push_back({"greeting", test::greeting(),
                 [] { return std::vector<TensorView>{TensorView(g_words, DType::kString, {2})}; }});
  all.push_back({"telling_loop", test::telling_loop(), [] {
                   return std::vector<TensorView>{TensorView(&g_trips, DType::kI64, {}),
                                                  TensorView(&g_go, DType::kBool, {}),
                                                  TensorView(g_told, DType::kString, {1})};
                 }});
  return all;
}

Owned<Session> open(const Program& program, int threads) {
  SessionOptions options;
  options.threads = threads;
  return test::open(program, options);
}

// The outputs of a run into the session's own memory.
Status run(Session& session, const Model& m, const RunOptions& options, std::string* said) {
  std::vector<TensorView> out(session.output_count());
  const auto in = m.inputs();
  said->clear();
  WICK_TRY(session.run(in, {out.data(), out.size()}, options));
  for (const TensorView& v : out) *said += text_of(v);
  return {};
}

TEST(Cancel, OfARunThatBeginsAndTheNextOneIsRight) {
  for (const Model& m : models()) {
    SCOPED_TRACE(m.name);
    auto l = load(m.file);
    for (int threads : {1, 2}) {
      std::string want, got;
      ASSERT_TRUE(run(*open(*l.program, threads), m, {}, &want).ok());
      auto session = open(*l.program, threads);
      CancelFlag cancel;
      RunOptions options;
      options.cancel = &cancel;
      cancel.request();
      const Status s = run(*session, m, options, &got);
      EXPECT_EQ(s.code(), Code::kCancelled);
      EXPECT_THAT(s.message(), HasSubstr("the run was cancelled"));
      cancel.clear();
      ASSERT_TRUE(run(*session, m, options, &got).ok());
      EXPECT_EQ(got, want);
    }
  }
}

// Wherever a deadline comes, while the session plans, packs or runs, the run fails as a whole or
// not at all, and the session goes on.
TEST(Cancel, ADeadlineAnywhereLeavesASoundSession) {
  for (const Model& m : models()) {
    SCOPED_TRACE(m.name);
    auto l = load(m.file);
    for (int threads : {1, 2}) {
      std::string want, got;
      ASSERT_TRUE(run(*open(*l.program, threads), m, {}, &want).ok());
      auto session = open(*l.program, threads);
      RunOptions soon;
      int late = 0;
      for (soon.timeout_ns = 1; soon.timeout_ns < 60'000'000'000;
           soon.timeout_ns += 1 + soon.timeout_ns / 8) {
        const Status s = run(*session, m, soon, &got);
        if (s.ok()) break;
        ASSERT_EQ(s.code(), Code::kDeadline) << s.message();
        ++late;
      }
      EXPECT_GT(late, 0);
      EXPECT_EQ(got, want);
      ASSERT_TRUE(run(*session, m, {}, &got).ok());
      EXPECT_EQ(got, want);
    }
  }
}

TEST(Cancel, OutputsOfTheCallerStayAsTheyAre) {
  auto l = load(test::small_cnn());
  auto session = open(*l.program, 2);
  const Model m = models()[1];
  std::vector<float> want(80), y(80, 7);
  const auto in = m.inputs();
  TensorView out(want.data(), DType::kF32, {8, 10});
  ASSERT_TRUE(session->run(in, {&out, 1}).ok());
  out.data = y.data();
  RunOptions options;
  for (options.timeout_ns = 1; options.timeout_ns < 60'000'000'000;
       options.timeout_ns += 1 + options.timeout_ns / 16) {
    const Status s = session->run(in, {&out, 1}, options);
    if (s.ok()) break;
    ASSERT_EQ(s.code(), Code::kDeadline);
    for (float v : y) ASSERT_EQ(v, 7);
  }
  EXPECT_TRUE(test::same_bits(y, want));
}

// One step that would take an hour: RoiAlign of very many samples.
std::vector<uint8_t> endless_step() {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1, 1, 8, 8});
  auto rois = p.value("rois", DType::kF32, {4, 4});
  auto of = p.value("of", DType::kI64, {4});
  auto y = p.value("y", DType::kF32, {4, 1, 256, 256});
  RoiAlignAttrs a;
  a.output_height = a.output_width = 256;
  a.sampling_ratio = 1024;
  p.node(OpId::kRoiAlign, {x, rois, of}, {y}, a, "regions");
  p.entry("main", {x, rois, of}, {y});
  return p.finish();
}

struct EndlessInputs {
  std::vector<float> x = ramp(64, 1), rois = {0, 0, 7, 7, 1, 1, 6, 6, 0, 0, 7, 7, 1, 1, 6, 6};
  int64_t of[4] = {};
  std::vector<TensorView> views() {
    return {TensorView(x.data(), DType::kF32, {1, 1, 8, 8}),
            TensorView(rois.data(), DType::kF32, {4, 4}), TensorView(of, DType::kI64, {4})};
  }
};

TEST(Cancel, EndsAStepFromAnotherThread) {
  auto l = load(endless_step());
  for (int threads : {1, 3}) {
    auto session = open(*l.program, threads);
    EndlessInputs in;
    std::vector<float> y(4 * 256 * 256, 7);
    TensorView out(y.data(), DType::kF32, {4, 1, 256, 256});
    CancelFlag cancel;
    RunOptions options;
    options.cancel = &cancel;
    std::atomic<bool> begun{false};
    std::thread other([&] {
      while (!begun.load()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancel.request();
    });
    begun = true;
    const Status s = session->run(in.views(), {&out, 1}, options);
    other.join();
    EXPECT_EQ(s.code(), Code::kCancelled) << s.message();
    EXPECT_THAT(s.message(), HasSubstr("node regions (RoiAlign): the run was cancelled"));
    for (float v : y) EXPECT_EQ(v, 7);
    // A deadline alike, and one that both start() and finish() have.
    options.cancel = nullptr;
    options.timeout_ns = 20'000'000;
    EXPECT_EQ(session->run(in.views(), {&out, 1}, options).code(), Code::kDeadline);
    EXPECT_EQ(session->start(in.views(), options).code(), Code::kDeadline);
    EXPECT_EQ(session->finish({&out, 1}).code(), Code::kInvalidArgument) << "nothing was started";
    for (float v : y) EXPECT_EQ(v, 7);
  }
}

TEST(Cancel, EndsAnEndlessLoop) {
  auto l = load(test::telling_loop());
  auto session = open(*l.program, 1);
  int64_t trips = INT64_MAX;
  std::vector<TensorView> in = {TensorView(&trips, DType::kI64, {}),
                                TensorView(&g_go, DType::kBool, {}),
                                TensorView(g_told, DType::kString, {1})};
  TensorView out[2];
  CancelFlag cancel;
  RunOptions options;
  options.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cancel.request();
  });
  const Status s = session->run(in, out, options);
  other.join();
  EXPECT_EQ(s.code(), Code::kCancelled) << s.message();
}

// Many threads, each with a session, one flag for all that is requested again and again: a run is
// right or cancelled.
TEST(Cancel, AtAnyTimeFromAnyThread) {
  auto l = load(test::small_cnn());
  const Model m = models()[1];
  std::string want;
  ASSERT_TRUE(run(*open(*l.program, 1), m, {}, &want).ok());
  CancelFlag cancel;
  std::atomic<int> busy{3};
  std::atomic<int> ended{0};
  auto work = [&] {
    auto session = open(*l.program, 2);
    RunOptions options;
    options.cancel = &cancel;
    // On a busy machine the thread that cancels may not have had its turn in 200 runs.
    for (int i = 0; i < 200 || (ended.load() == 0 && i < 100'000); ++i) {
      std::string got;
      const Status s = run(*session, m, options, &got);
      if (s.ok()) {
        EXPECT_EQ(got, want);
      } else {
        EXPECT_EQ(s.code(), Code::kCancelled) << s.message();
        ++ended;
      }
    }
    --busy;
  };
  std::thread a(work), b(work), c(work);
  while (busy.load() != 0) {
    cancel.request();
    std::this_thread::yield();
    cancel.clear();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  a.join();
  b.join();
  c.join();
  EXPECT_GT(ended.load(), 0);
}

TEST(Cancel, InC) {
  auto file = test::small_cnn();
  auto bytes = test::aligned_copy(file);
  wick_program* program = nullptr;
  wick_session* session = nullptr;
  wick_cancel* cancel = nullptr;
  ASSERT_EQ(wick_program_load_memory(bytes.get(), file.size(), nullptr, &program), WICK_OK);
  ASSERT_EQ(wick_session_create(program, nullptr, &session), WICK_OK);
  ASSERT_EQ(wick_cancel_create(&cancel), WICK_OK);
  std::vector<float> x = ramp(4 * 16 * 16, 0.03f), y(10, 7);
  wick_tensor in = {}, out = {};
  in.data = x.data(), in.dtype = WICK_FLOAT32, in.rank = 4;
  const int64_t dims[4] = {1, 4, 16, 16};
  memcpy(in.dims, dims, sizeof dims);
  out.data = y.data(), out.dtype = WICK_FLOAT32, out.rank = 2, out.dims[0] = 1, out.dims[1] = 10;
  wick_run_options options = WICK_INIT(wick_run_options);
  options.cancel = cancel;
  wick_cancel_request(cancel);
  EXPECT_EQ(wick_session_run(session, &in, 1, &out, 1, &options), WICK_CANCELLED);
  EXPECT_STREQ(wick_code_name(WICK_CANCELLED), "cancelled");
  for (float v : y) EXPECT_EQ(v, 7);
  // A caller of the header before this field has a shorter struct.
  options.size = offsetof(wick_run_options, cancel);
  EXPECT_EQ(wick_session_run(session, &in, 1, &out, 1, &options), WICK_OK);
  options.size = sizeof(options);
  wick_cancel_clear(cancel);
  EXPECT_EQ(wick_session_run(session, &in, 1, &out, 1, &options), WICK_OK);
  wick_session_free(session);
  wick_program_free(program);
  wick_cancel_free(cancel);
}

}  // namespace
}  // namespace wick
