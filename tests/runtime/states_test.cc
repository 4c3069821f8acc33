// State buffers of a program: a RecurrentState holds them, all entry points share them, and a run
// that fails leaves them as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session_pool.h"
#include "runtime/kernels/prepared.h"
#include "tests/runtime/state_programs.h"

namespace wick {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Owned<RecurrentState>> make(const Program& program, int64_t n = 2,
                                   Allocator* allocator = nullptr) {
  const DimBinding dim{"n", n};
  RecurrentStateOptions options;
  options.dims = {&dim, 1};
  options.allocator = allocator;
  return RecurrentState::create(program, {}, options);
}

std::vector<float> floats(const TensorView& v) {
  return {v.as<float>(), v.as<float>() + v.numel()};
}
std::vector<float> value(const RecurrentState& state, const char* name) {
  const int i = state.find(name);
  return i < 0 ? std::vector<float>{} : floats(state.value(static_cast<size_t>(i)));
}
int64_t at(const RecurrentState& state) {
  return *state.value(static_cast<size_t>(state.find("at"))).as<int64_t>();
}

// A program, a session for each of its entry points, and a state.
struct Rows {
  explicit Rows(bool copied = false, TraceHook* trace = nullptr,
                Span<const KernelSet* const> kernels = {})
      : l(test::load(test::rows_program(copied))) {
    SessionOptions options;
    options.threads = 1;
    if (!kernels.empty()) options.kernels = kernels;
    options.entry = "write";
    options.trace = trace;
    writer = test::open(*l.program, options);
    options.entry = "read";
    options.trace = nullptr;
    reader = test::open(*l.program, options);
    auto r = make(*l.program);
    EXPECT_TRUE(r.ok()) << r.status().message();
    if (r.ok()) state = std::move(*r);
  }
  Status write(float a, float b, RecurrentState& to, RunOptions options = {}) {
    float x[] = {a, b};
    const TensorView in(x, DType::kF32, {1, 2});
    options.state = &to;
    WICK_TRY(writer->run({&in, 1}, {out, writer->output_count()}, options));
    sum = floats(out[0]);
    return {};
  }
  Status write(float a, float b) { return write(a, b, *state); }
  std::vector<float> read(RecurrentState& from) {
    RunOptions options;
    options.state = &from;
    const Status s = reader->run({}, out, options);
    EXPECT_TRUE(s.ok()) << s.message();
    return floats(out[0]);
  }

  test::Loaded l;
  Owned<Session> writer, reader;
  Owned<RecurrentState> state;
  TensorView out[2];
  std::vector<float> sum;
};

TEST(States, EntryPointsShareThem) {
  for (bool copied : {false, true}) {
    Rows m(copied);
    ASSERT_TRUE(m.state);
    EXPECT_EQ(m.state->size(), 3u);
    EXPECT_STREQ(m.state->name(0), "rows");
    EXPECT_EQ(m.state->find("none"), -1);
    EXPECT_THAT(value(*m.state, "last"), ElementsAre(3, 4)) << "it starts from a constant";
    ASSERT_TRUE(m.write(1, 2).ok());
    EXPECT_THAT(m.sum, ElementsAre(1, 2));
    EXPECT_THAT(m.read(*m.state), ElementsAre(1, 2));
    ASSERT_TRUE(m.write(10, 20).ok());
    EXPECT_THAT(m.sum, ElementsAre(11, 22));
    EXPECT_THAT(m.read(*m.state), ElementsAre(11, 22));
    EXPECT_THAT(floats(m.out[1]), ElementsAre(-3, -16));
    EXPECT_THAT(value(*m.state, "rows"), ElementsAre(1, 2, 10, 20, 0, 0, 0, 0));
    EXPECT_EQ(at(*m.state), 2);
    m.state->reset();
    EXPECT_THAT(m.read(*m.state), ElementsAre(0, 0));
    EXPECT_THAT(value(*m.state, "last"), ElementsAre(3, 4));
    EXPECT_EQ(at(*m.state), 0);
  }
}

// What is written in place needs no second buffer.
TEST(States, RowsAreWrittenWhereTheyStay) {
  Rows in_place, copied(true);
  const void* rows = in_place.state->value(0).data;
  const void* others = copied.state->value(0).data;
  ASSERT_TRUE(in_place.write(1, 2).ok());
  ASSERT_TRUE(copied.write(1, 2).ok());
  EXPECT_EQ(in_place.state->value(0).data, rows);
  EXPECT_NE(copied.state->value(0).data, others);
  auto bytes = [](const Program& program) {
    auto large = make(program, 8);
    return large.ok() ? (*large)->bytes() : 0;
  };
  EXPECT_LE(bytes(*in_place.l.program), bytes(*copied.l.program));
  EXPECT_GE(bytes(*in_place.l.program), 4 * 8 * sizeof(float));
}

// A set of one's own may have a row that must not write over its input: it fills its output first.
TEST(States, ARowThatIsNotInPlaceGetsMemoryOfItsOwn) {
  static const KernelRow row = {
      "plain",
      kContiguous,
      [](const KernelQuery&) { return true; },
      nullptr,
      nullptr,
      [](const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) -> Status {
        memset(out[0].data, 0, out[0].nbytes());
        memcpy(out[0].data, in[0].data, out[0].nbytes());
        const int64_t at = *in[1].as<int64_t>(), row_count = out[0].shape[0];
        if (at >= row_count) return Status(Code::kInvalidArgument, "an index is out of range");
        memcpy(out[0].as<float>() + at * in[2].numel(), in[2].data, in[2].nbytes());
        return {};
      }};
  static const Span<const KernelRow> rows(&row, 1);
  static const KernelEntry entry = {OpId::kScatterND, &rows};
  static const KernelSet set = {"plain", {&entry, 1}};
  static const KernelSet* const sets[] = {&set, &kReferenceKernels};
  Rows m(false, nullptr, sets);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(m.write(1, 2).ok());
    EXPECT_THAT(m.sum, ElementsAre(1.0f + i, 2.0f * (1 + i)));
  }
  EXPECT_THAT(value(*m.state, "rows"), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  EXPECT_FALSE(m.write(5, 6).ok());
  EXPECT_THAT(m.read(*m.state), ElementsAre(4, 8)) << "a run that failed changes nothing";
  EXPECT_EQ(at(*m.state), 4);
}

TEST(States, AForkGoesOnByItself) {
  Rows m;
  ASSERT_TRUE(m.write(1, 2).ok());
  auto copy = m.state->fork();
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  ASSERT_TRUE(m.write(3, 4).ok());
  ASSERT_TRUE(m.write(50, 60, **copy).ok());
  EXPECT_THAT(m.read(*m.state), ElementsAre(4, 6));
  EXPECT_THAT(m.read(**copy), ElementsAre(51, 62));
  (*copy)->reset();
  EXPECT_THAT(m.read(**copy), ElementsAre(0, 0));
  EXPECT_THAT(value(**copy, "last"), ElementsAre(3, 4));
  EXPECT_THAT(m.read(*m.state), ElementsAre(4, 6));
}

// The fifth row has no place: nothing of the state changes, and the error says where it was.
TEST(States, AFullBufferIsAnErrorThatChangesNothing) {
  for (bool copied : {false, true}) {
    Rows m(copied);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(m.write(1, 1).ok());
    const std::vector<float> last = value(*m.state, "last");
    const Status s = m.write(7, 7);
    EXPECT_EQ(s.code(), Code::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("with the state at at 4"));
    EXPECT_THAT(m.read(*m.state), ElementsAre(4, 4));
    EXPECT_EQ(value(*m.state, "last"), last);
    EXPECT_EQ(at(*m.state), 4);
  }
}

// Requests the end of the run once rows were written.
struct CancelAfter final : TraceHook {
  void on_op(const TraceEvent& e) override {
    if (armed && strcmp(e.op, "ScatterND") == 0) flag.request();
  }
  CancelFlag flag;
  bool armed = false;
};

TEST(States, ACancelledRunRestoresWhatItOverwrote) {
  for (bool copied : {false, true}) {
    CancelAfter hook;
    Rows m(copied, &hook);
    ASSERT_TRUE(m.write(1, 2).ok());
    // the row that the run overwrites holds something, as after a caller moved the position back
    auto* rows = m.state->value(0).as<float>();
    rows[2] = 8, rows[3] = 9;
    hook.armed = true;
    RunOptions options;
    options.cancel = &hook.flag;
    EXPECT_EQ(m.write(5, 6, *m.state, options).code(), Code::kCancelled);
    EXPECT_THAT(value(*m.state, "rows"), ElementsAre(1, 2, 8, 9, 0, 0, 0, 0));
    EXPECT_EQ(at(*m.state), 1);
    hook.armed = false;
    hook.flag.clear();
    ASSERT_TRUE(m.write(5, 6).ok());
    EXPECT_THAT(value(*m.state, "rows"), ElementsAre(1, 2, 5, 6, 0, 0, 0, 0));
  }
}

TEST(States, BothHalvesOfARunKeepThem) {
  Rows m;
  float x[] = {1, 2};
  const TensorView in(x, DType::kF32, {1, 2});
  RunOptions options;
  options.state = m.state.get();
  ASSERT_TRUE(m.writer->start({&in, 1}, options).ok());
  EXPECT_EQ(m.state->fork().status().code(), Code::kInvalidArgument) << "a run uses it";
  EXPECT_THAT(m.write(1, 1).message(), HasSubstr("another run uses this state"));
  ASSERT_TRUE(m.writer->finish({m.out, 1}).ok());
  EXPECT_THAT(m.read(*m.state), ElementsAre(1, 2));
}

// A session that goes before its run is finished takes back what it wrote in place.
TEST(States, ASessionThatIsClosedDuringARunRestoresThem) {
  for (bool copied : {false, true}) {
    Rows m(copied);
    ASSERT_TRUE(m.write(1, 2).ok());
    auto* rows = m.state->value(0).as<float>();
    rows[2] = 8, rows[3] = 9;
    float x[] = {5, 6};
    const TensorView in(x, DType::kF32, {1, 2});
    ASSERT_TRUE(m.writer->start({&in, 1}, {.state = m.state.get()}).ok());
    m.writer.reset();
    EXPECT_THAT(value(*m.state, "rows"), ElementsAre(1, 2, 8, 9, 0, 0, 0, 0)) << copied;
    EXPECT_EQ(at(*m.state), 1);
    EXPECT_TRUE(m.state->fork().ok()) << "nobody uses it";
  }
}

// What start() was given and finish() cannot mend is refused by start().
TEST(States, StartRefusesWhatDoesNotBecomeTheState) {
  test::ProgramBuilder p;
  p.symbol("n", 1, 8);
  auto s = p.state("last", DType::kF32, {4}, kNoIndex);
  auto x = p.value("x", DType::kF32, {test::kSym}), y = p.value("y", DType::kF32, {test::kSym});
  p.node(OpId::kNeg, {x}, {y});
  p.state_update(s, y);
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish(kFeatureState));
  auto session = test::open(*l.program, {.threads = 1});
  auto state = RecurrentState::create(*l.program);
  ASSERT_TRUE(state.ok()) << state.status().message();
  float values[] = {1, 2, 3, 4};
  const TensorView three(values, DType::kF32, {3}), four(values, DType::kF32, {4});
  TensorView out[1] = {};
  for (bool halves : {false, true}) {
    const RunOptions options = {.state = state->get()};
    const Status refused =
        halves ? session->start({&three, 1}, options) : session->run({&three, 1}, out, options);
    EXPECT_EQ(refused.code(), Code::kShapeMismatch);
    EXPECT_THAT(refused.message(),
                HasSubstr("value y is float32 [3] and becomes state last, float32 [4]"));
    EXPECT_EQ(session->finish(out).code(), Code::kInvalidArgument) << "nothing was started";
    EXPECT_THAT(value(**state, "last"), ElementsAre(0, 0, 0, 0));
    out[0] = TensorView();
  }
  ASSERT_TRUE(session->start({&four, 1}, {.state = state->get()}).ok());
  ASSERT_TRUE(session->finish(out).ok());
  EXPECT_THAT(value(**state, "last"), ElementsAre(-1, -2, -3, -4));
}

// The caller may write a state between runs.
TEST(States, BoolsThatAreNeitherAreTheStatesFault) {
  test::ProgramBuilder p;
  auto s = p.state("seen", DType::kBool, {2}, kNoIndex);
  auto x = p.value("x", DType::kBool, {2}), y = p.value("y", DType::kBool, {2});
  p.node(OpId::kOr, {x, p.value("seen", DType::kBool, {2}, kNoIndex, s)}, {y});
  p.state_update(s, y);
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish(kFeatureState));
  auto session = test::open(*l.program, {.threads = 1});
  auto state = RecurrentState::create(*l.program);
  ASSERT_TRUE(state.ok()) << state.status().message();
  (*state)->value(0).as<uint8_t>()[1] = 7;
  const bool values[] = {false, true};
  const TensorView in(const_cast<bool*>(values), DType::kBool, {2});
  TensorView out[1] = {};
  const Status refused = session->run({&in, 1}, out, {.state = state->get()});
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_STREQ(refused.message(), "state seen: byte 1 of its bools is 7, not 0 or 1");
}

TEST(States, ARunWithoutItsStateIsAnError) {
  Rows m;
  float x[] = {1, 2};
  const TensorView in(x, DType::kF32, {1, 2});
  const Status s = m.writer->run({&in, 1}, {m.out, 1});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("entry point write keeps state between runs (rows ...)"));
  Rows other;
  EXPECT_THAT(m.write(1, 2, *other.state).message(), HasSubstr("made for another program"));
  auto wide = make(*m.l.program, 3);
  ASSERT_TRUE(wide.ok());
  EXPECT_THAT(m.write(1, 2, **wide).message(), HasSubstr("state rows has shape [4,3]"));
  EXPECT_THAT(m.reader->bind({}).message(), HasSubstr("only a run with a state binds"));
  EXPECT_THAT(m.read(*m.state), ElementsAre(0, 0));
  EXPECT_THAT(RecurrentState::create(*m.l.program).status().message(),
              HasSubstr("state rows: its size n is free"));
}

// Streams of several sizes take turns in the sessions of a pool.
TEST(States, APoolServesStreamsOfSeveralSizes) {
  Rows m;
  SessionPoolOptions options;
  options.sessions = 2;
  options.session.entry = "write";
  auto pool = SessionPool::create(*m.l.program, options);
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  std::vector<Owned<RecurrentState>> states;
  for (int64_t n = 1; n < 4; ++n) {
    auto state = make(*m.l.program, n);
    ASSERT_TRUE(state.ok());
    states.push_back(std::move(*state));
  }
  for (int step = 1; step <= 3; ++step) {
    for (int64_t n = 1; n < 4; ++n) {
      std::vector<float> x(static_cast<size_t>(n), static_cast<float>(step));
      std::vector<float> y(static_cast<size_t>(n));
      const TensorView in(x.data(), DType::kF32, {1, n});
      TensorView out(y.data(), DType::kF32, {n});
      const Status s = (*pool)->run({&in, 1}, {&out, 1}, *states[static_cast<size_t>(n - 1)]);
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(y.back(), static_cast<float>(step * (step + 1) / 2)) << n;
    }
  }
}

TEST(States, EveryFailingAllocationIsAStatusAndNothingLeaks) {
  auto l = test::load(test::rows_program());
  int64_t failed = 0;
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 100);
    test::CountingAllocator allocator(n);
    Status s;
    {
      auto state = make(*l.program, 2, &allocator);
      s = state.ok() ? (*state)->fork().status() : state.status();
    }
    EXPECT_EQ(allocator.alive, 0) << n;
    if (s.ok()) break;
    EXPECT_EQ(s.code(), Code::kOutOfMemory) << n;
    ++failed;
  }
  EXPECT_GT(failed, 3);
}

// A run with a state allocates nothing, in place or not.
TEST(States, RunsDoNotAllocate) {
  for (bool copied : {false, true}) {
    test::CountingAllocator allocator;
    auto l = test::load(test::rows_program(copied));
    SessionOptions options;
    options.threads = 1;
    options.allocator = &allocator;
    auto session = test::open(*l.program, options);
    auto state = make(*l.program, 2, &allocator);
    ASSERT_TRUE(state.ok());
    float x[] = {1, 2};
    const TensorView in(x, DType::kF32, {1, 2});
    TensorView out[2];
    RunOptions run;
    run.state = state->get();
    ASSERT_TRUE(session->run({&in, 1}, {out, copied ? 2u : 1u}, run).ok());
    const int64_t calls = allocator.calls;
    ASSERT_TRUE(session->run({&in, 1}, {out, copied ? 2u : 1u}, run).ok());
    EXPECT_EQ(allocator.calls, calls);
  }
}

}  // namespace
}  // namespace wick
