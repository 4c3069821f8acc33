// A session serves one caller at a time: a second one gets an error that says what to do, and
// neither caller's results are touched. ThreadSanitizer reads this test in make test-full.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "runtime/backend/explain.h"
#include "tests/runtime/small_cnn.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::ramp;
using test::same_bits;
using test::small_cnn;

constexpr char kInUse[] =
    "another call is in this session, which serves one caller at a time: open a session for each "
    "thread (sessions of one program share its weights)";
constexpr char kStarted[] =
    "the run that was started in this session is not finished yet: call finish() first, or open "
    "another session (sessions of one program share its weights)";
constexpr float kUntouched = -77;

// A caller's data: its input of a batch, and memory for the answer.
struct Caller {
  explicit Caller(int64_t batch)
      : x(ramp(static_cast<size_t>(batch) * 4 * 16 * 16, 0.03f)),
        y(static_cast<size_t>(batch) * 10, kUntouched),
        in(x.data(), DType::kF32, {batch, 4, 16, 16}),
        out(y.data(), DType::kF32, {batch, 10}) {}
  Span<const TensorView> inputs() const { return {&in, 1}; }
  Span<TensorView> outputs() { return {&out, 1}; }
  bool untouched() const { return y == std::vector<float>(y.size(), kUntouched); }
  std::vector<float> x, y;
  TensorView in, out;
};

struct CountSteps final : ExplainHook {
  void on_step(const PlacedStep&) override { ++steps; }
  int steps = 0;
};

// Calls every member of the session from a thread of its own.
struct Intruder {
  explicit Intruder(Session& session) {
    std::thread([&] {
      (void)error(Code::kIo, "an error of before");
      const Status before = error(Code::kIo, "an error of before");
      note(session.run(mine.inputs(), mine.outputs()));
      NamedView in = {"x", mine.in}, out = {"e", mine.out};
      note(session.run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1)));
      note(session.bind(Span<const Shape>(&mine.in.shape, 1)));
      note(session.start(mine.inputs()));
      EXPECT_STREQ(before.message(), "an error of before") << "the thread's text is its own";
      EXPECT_TRUE(mine.untouched());
      // Properties that never change, and counts, can be read at any time.
      EXPECT_EQ(session.input_count(), 1u);
      EXPECT_EQ(session.output_count(), 1u);
      EXPECT_STREQ(session.input(0).name, "x");
      EXPECT_STREQ(session.output(0).name, "e");
      EXPECT_EQ(session.find_input("x"), 0);
      EXPECT_EQ(session.find_output("x"), -1);
      EXPECT_EQ(session.threads(), 2);
      EXPECT_STREQ(session.left_backend(), "");
      steps = session.step_count();
      memory = session.arena_bytes() + session.packed_bytes();
      forms = session.packed_form_count();
    }).join();
  }
  void note(const Status& s) {
    EXPECT_EQ(s.code(), Code::kInvalidArgument);
    texts.emplace_back(s.message());
  }
  // Calls the functions that read what a call changes, also from a thread of its own.
  static std::vector<std::string> look(Session& session) {
    std::vector<std::string> said;
    std::thread([&] {
      CountSteps hook;
      auto shape = session.output_shape(0);
      said.emplace_back(shape.ok() ? to_text(*shape).text : shape.status().message());
      Status s = session.explain(hook);
      said.emplace_back(s.ok() ? std::to_string(hook.steps) : s.message());
      auto form = session.packed_form(0);
      said.emplace_back(form.ok() ? "a form" : form.status().message());
    }).join();
    return said;
  }
  Caller mine{5};
  std::vector<std::string> texts;
  size_t steps = 0, memory = 0, forms = 0;
};

using Texts = std::vector<std::string>;

// The second caller comes in the middle of the first one's run.
TEST(OneCaller, TheSecondIsToldAndTheFirstGoesOn) {
  auto l = test::load(small_cnn());
  auto alone = test::open(*l.program);
  Caller want(3);
  ASSERT_TRUE(alone->run(want.inputs(), want.outputs()).ok());

  struct Hook final : TraceHook {
    void on_op(const TraceEvent&) override {
      if (intruded++ > 0) return;
      const Intruder intruder(*session);
      texts = intruder.texts;
      memory = intruder.memory;
      looked = Intruder::look(*session);
      Caller mine(2);
      finished = session->finish(mine.outputs()).message();
      EXPECT_TRUE(mine.untouched());
    }
    Session* session = nullptr;
    int intruded = 0;
    Texts texts, looked;
    std::string finished;
    size_t memory = 0;
  } hook;
  SessionOptions options;
  options.threads = 2;
  options.trace = &hook;
  auto session = test::open(*l.program, options);
  hook.session = session.get();
  ASSERT_TRUE(session->bind(Span<const Shape>(&want.in.shape, 1)).ok());
  Caller first(3);
  Status s = session->run(first.inputs(), first.outputs());
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_GT(hook.intruded, 1);
  EXPECT_TRUE(same_bits(first.y, want.y));
  EXPECT_EQ(hook.texts, Texts(4, kInUse));
  EXPECT_EQ(hook.looked, Texts(3, kInUse));
  EXPECT_EQ(hook.finished, kInUse) << "a hook is in the call, too";
  EXPECT_EQ(hook.memory, session->arena_bytes() + session->packed_bytes());
  Caller again(3);
  EXPECT_TRUE(session->run(again.inputs(), again.outputs()).ok()) << "the session is free again";
  EXPECT_TRUE(same_bits(again.y, want.y));
}

// The second caller comes between start() and finish(), which another thread calls.
TEST(OneCaller, BetweenStartAndFinishToo) {
  auto l = test::load(small_cnn());
  SessionOptions options;
  options.threads = 2;
  auto session = test::open(*l.program, options);
  Caller want(3), first(3);
  ASSERT_TRUE(session->run(want.inputs(), want.outputs()).ok());
  EXPECT_STREQ(session->finish(first.outputs()).message(), "no run was started");
  ASSERT_TRUE(session->start(first.inputs()).ok());
  const Intruder intruder(*session);
  EXPECT_EQ(intruder.texts, Texts(4, kStarted));
  EXPECT_GT(intruder.steps, 0u);
  EXPECT_GT(intruder.memory, 0u);
  EXPECT_EQ(intruder.forms, session->packed_form_count());
  const Texts looked = Intruder::look(*session);
  EXPECT_EQ(looked[0], "[3,10]") << "one may ask how much room the answer needs";
  EXPECT_NE(looked[1], "0");
  Caller wrong(2);
  EXPECT_EQ(session->finish(wrong.outputs()).code(), Code::kShapeMismatch) << "still started";
  std::thread([&] {
    Status s = session->finish(first.outputs());
    EXPECT_TRUE(s.ok()) << s.message();
  }).join();
  EXPECT_TRUE(same_bits(first.y, want.y));
  Caller again(3);
  EXPECT_TRUE(session->run(again.inputs(), again.outputs()).ok()) << "the session is free again";
  EXPECT_TRUE(same_bits(again.y, want.y));
}

// Threads that know nothing of each other, all in one session.
TEST(OneCaller, HammeredByThreadsEachCallIsRightOrRefused) {
  auto l = test::load(small_cnn());
  auto alone = test::open(*l.program);
  std::vector<float> want[9];
  for (int64_t batch = 1; batch <= 8; ++batch) {
    Caller c(batch);
    ASSERT_TRUE(alone->run(c.inputs(), c.outputs()).ok());
    want[batch] = c.y;
  }
  SessionOptions options;
  options.threads = 2;
  auto session = test::open(*l.program, options);
  std::atomic<int> ready{0}, served{0};
  auto refused = [&](const Status& s) {
    if (s.ok()) return false;
    EXPECT_EQ(s.code(), Code::kInvalidArgument) << s.message();
    EXPECT_TRUE(strcmp(s.message(), kInUse) == 0 || strcmp(s.message(), kStarted) == 0)
        << s.message();
    return true;
  };
  auto work = [&](int64_t thread) {
    ready.fetch_add(1);
    while (ready.load() < 4) std::this_thread::yield();
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t batch = 1 + (thread * 3 + i * 5) % 8;
      Caller c(batch);
      bool gave = false;
      switch ((thread + i) % 5) {
        case 0: gave = !refused(session->run(c.inputs(), c.outputs())); break;
        case 1: {
          NamedView in = {"x", c.in}, out = {"e", c.out};
          gave = !refused(session->run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1)));
          break;
        }
        case 2: {
          if (refused(session->start(c.inputs()))) break;
          // Another thread's look may be in the session just now.
          Status s;
          do s = session->finish(c.outputs());
          while (!s.ok() && strcmp(s.message(), kInUse) == 0);
          EXPECT_TRUE(s.ok()) << s.message();
          gave = true;
          break;
        }
        case 3: (void)refused(session->bind(Span<const Shape>(&c.in.shape, 1))); break;
        default: {
          CountSteps hook;
          if (!refused(session->explain(hook))) {
            auto shape = session->output_shape(0);
            EXPECT_EQ(shape.ok() ? (*shape)[1] : 10, 10);
          }
          (void)(session->arena_bytes() + session->packed_bytes() + session->step_count());
          EXPECT_STREQ(session->left_backend(), "");
          if (session->packed_form_count() > 0) {
            auto form = session->packed_form(0);
            EXPECT_LT(form.ok() ? form->constant : 0, l.program->constants().size());
          }
        }
      }
      served += gave ? 1 : 0;
      if (gave) {
        EXPECT_TRUE(same_bits(c.y, want[batch])) << "batch " << batch;
      } else {
        EXPECT_TRUE(c.untouched());
      }
    }
  };
  std::thread a(work, 0), b(work, 1), c(work, 2);
  work(3);
  a.join();
  b.join();
  c.join();
  EXPECT_GT(served.load(), 0);
  Caller last(4);
  ASSERT_TRUE(session->run(last.inputs(), last.outputs()).ok());
  EXPECT_TRUE(same_bits(last.y, want[4]));
}

// The C interface keeps room for a call in its handle: the second caller comes while the first one
// plans, from the allocator.
TEST(OneCaller, OfACSessionToo) {
  auto file = small_cnn();
  auto bytes = test::aligned_copy(file);
  struct Intrusion {
    wick_session* session = nullptr;
    bool wanted = false;
    std::vector<std::string> texts;
    void look() {
      wanted = false;
      std::thread([this] {
        std::vector<float> x = ramp(7 * 4 * 16 * 16, 0.5f), y(70, kUntouched);
        wick_tensor in = {x.data(), WICK_FLOAT32, 4, {7, 4, 16, 16}};
        wick_tensor out = {y.data(), WICK_FLOAT32, 2, {7, 10}};
        EXPECT_EQ(wick_session_run(session, &in, 1, &out, 1, nullptr), WICK_INVALID_ARGUMENT);
        texts.emplace_back(wick_last_error());
        EXPECT_EQ(wick_session_bind(session, &in, 1), WICK_INVALID_ARGUMENT);
        texts.emplace_back(wick_last_error());
        EXPECT_EQ(wick_session_output_shape(session, 0, &out), WICK_INVALID_ARGUMENT);
        texts.emplace_back(wick_last_error());
        EXPECT_EQ(y, std::vector<float>(70, kUntouched));
        EXPECT_EQ(out.data, y.data());
        (void)wick_session_memory(session);
        EXPECT_EQ(wick_session_input_count(session), 1u);
      }).join();
    }
  } intrusion;
  wick_load_options options = WICK_INIT(wick_load_options);
  options.allocator.user = &intrusion;
  options.allocator.allocate = [](void* user, size_t n, size_t align) {
    if (static_cast<Intrusion*>(user)->wanted) static_cast<Intrusion*>(user)->look();
    return default_allocator().allocate(n, align);
  };
  options.allocator.deallocate = [](void*, void* p, size_t n, size_t align) {
    default_allocator().deallocate(p, n, align);
  };
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load_memory(bytes.get(), file.size(), &options, &program), WICK_OK);
  ASSERT_EQ(wick_session_create(program, nullptr, &intrusion.session), WICK_OK);
  Caller want(3), first(3);
  auto l = test::load(file);
  ASSERT_TRUE(test::open(*l.program)->run(want.inputs(), want.outputs()).ok());
  wick_tensor in = {first.x.data(), WICK_FLOAT32, 4, {3, 4, 16, 16}};
  wick_tensor out = {first.y.data(), WICK_FLOAT32, 2, {3, 10}};
  intrusion.wanted = true;
  EXPECT_EQ(wick_session_run(intrusion.session, &in, 1, &out, 1, nullptr), WICK_OK)
      << wick_last_error();
  EXPECT_EQ(intrusion.texts, Texts(3, kInUse));
  EXPECT_TRUE(same_bits(first.y, want.y));
  wick_session_free(intrusion.session);
  wick_program_free(program);
}

}  // namespace
}  // namespace wick
