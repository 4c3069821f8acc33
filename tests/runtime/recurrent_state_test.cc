// What a recurrent model remembers of a stream, as an object that is given to each run of a pool.
#include "runtime/exec/recurrent_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/exec/session_pool.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/string_programs.h"

namespace wick {
namespace {

using test::kSym;
using test::ramp;
using test::same_bits;
using ::testing::HasSubstr;

// x, h, c [n,4] -> y = h' + x, h' = tanh(x + h), c' = c + h': two links, and ports that are none,
// in an order that is not that of the links.
std::vector<uint8_t> cell(int64_t most = 8) {
  test::ProgramBuilder p;
  p.symbol("n", 1, most);
  auto c = p.value("c", DType::kF32, {kSym, 4}), x = p.value("x", DType::kF32, {kSym, 4}),
       h = p.value("h", DType::kF32, {kSym, 4});
  auto s = p.value("s", DType::kF32, {kSym, 4}), hn = p.value("hn", DType::kF32, {kSym, 4}),
       cn = p.value("cn", DType::kF32, {kSym, 4}), y = p.value("y", DType::kF32, {kSym, 4});
  p.node(OpId::kAdd, {x, h}, {s});
  p.node(OpId::kTanh, {s}, {hn});
  p.node(OpId::kAdd, {c, hn}, {cn});
  p.node(OpId::kAdd, {hn, x}, {y});
  p.entry("main", {c, x, h}, {hn, y, cn});
  return p.finish();
}

constexpr StateLink kLinks[] = {{"h", "hn"}, {"c", "cn"}};

Result<Owned<RecurrentState>> make(const Program& program, int64_t n,
                                   Span<const StateLink> links = kLinks) {
  const DimBinding dim{"n", n};
  RecurrentStateOptions options;
  options.dims = {&dim, 1};
  return RecurrentState::create(program, links, options);
}

// The outputs of `steps` steps of a stream, by one session and buffers of its own.
std::vector<float> alone(const Program& program, int64_t n, int number, int steps) {
  auto session = test::open(program);
  const auto size = static_cast<size_t>(n) * 4;
  std::vector<float> h(size), c(size), y(size), all;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> x = ramp(size, 0.1f * static_cast<float>(number + step));
    const TensorView in[] = {TensorView(c.data(), DType::kF32, {n, 4}),
                             TensorView(x.data(), DType::kF32, {n, 4}),
                             TensorView(h.data(), DType::kF32, {n, 4})};
    TensorView out[3];
    EXPECT_TRUE(session->run(in, out).ok());
    all.insert(all.end(), out[1].as<float>(), out[1].as<float>() + size);
    h.assign(out[0].as<float>(), out[0].as<float>() + size);
    c.assign(out[2].as<float>(), out[2].as<float>() + size);
  }
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

std::vector<float> streamed(SessionPool& pool, RecurrentState& state, int64_t n, int number,
                            int steps) {
  const auto size = static_cast<size_t>(n) * 4;
  std::vector<float> y(size), all;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> x = ramp(size, 0.1f * static_cast<float>(number + step));
    const TensorView in(x.data(), DType::kF32, {n, 4});
    TensorView out(y.data(), DType::kF32, {n, 4});
    const Status s = pool.run({&in, 1}, {&out, 1}, state);
    EXPECT_TRUE(s.ok()) << s.message();
    all.insert(all.end(), y.begin(), y.end());
  }
  const TensorView c = state.value(1);
  all.insert(all.end(), c.as<float>(), c.as<float>() + size);
  return all;
}

Owned<SessionPool> open_pool(const Program& program, const SessionPoolOptions& options = {}) {
  auto pool = SessionPool::create(program, options);
  EXPECT_TRUE(pool.ok()) << pool.status().message();
  return pool.ok() ? std::move(*pool) : Owned<SessionPool>();
}

TEST(RecurrentState, StreamsThroughAPoolHaveTheirOwnBits) {
  constexpr int kStreams = 6, kSteps = 40;
  auto l = test::load(cell());
  auto pool = open_pool(*l.program);
  std::vector<std::thread> all;
  for (int i = 0; i < kStreams; ++i) {
    all.emplace_back([&, i] {
      const int64_t n = 1 + i % 3;
      auto state = make(*l.program, n);
      ASSERT_TRUE(state.ok()) << state.status().message();
      EXPECT_EQ((*state)->size(), 2u);
      const std::vector<float> want = alone(*l.program, n, i, kSteps);
      EXPECT_TRUE(same_bits(streamed(*pool, **state, n, i, kSteps), want)) << i;
      (*state)->reset();
      EXPECT_TRUE(same_bits(streamed(*pool, **state, n, i, kSteps), want)) << i << " again";
    });
  }
  for (std::thread& thread : all) thread.join();
}

TEST(RecurrentState, AFailedRunLeavesItAsItWas) {
  auto l = test::load(cell());
  auto pool = open_pool(*l.program);
  auto state = make(*l.program, 1);
  ASSERT_TRUE(state.ok());
  const std::vector<float> want = alone(*l.program, 1, 0, 2);
  std::vector<float> got = streamed(*pool, **state, 1, 0, 1);
  float x[4] = {9, 9, 9, 9}, y[4] = {};
  const TensorView in(x, DType::kF32, {1, 4});
  TensorView out(y, DType::kF32, {1, 4});
  RunOptions late;
  late.timeout_ns = 1;
  EXPECT_EQ(pool->run({&in, 1}, {&out, 1}, **state, late).code(), Code::kDeadline);
  const TensorView two(x, DType::kF32, {2, 2});
  EXPECT_EQ(pool->run({&two, 1}, {&out, 1}, **state).code(), Code::kShapeMismatch);
  EXPECT_EQ(pool->run({}, {&out, 1}, **state).code(), Code::kInvalidArgument);
  // the second step, as if nothing had been
  const std::vector<float> ramped = ramp(4, 0.1f);
  std::copy(ramped.begin(), ramped.end(), x);
  ASSERT_TRUE(pool->run({&in, 1}, {&out, 1}, **state).ok());
  EXPECT_EQ(memcmp(y, want.data() + 4, sizeof(y)), 0);                        // NOLINT: bits
  EXPECT_EQ(memcmp((*state)->value(1).data, want.data() + 8, sizeof(y)), 0);  // NOLINT: bits
}

// The steps of a stream come one after the other: a second run is told, and the first goes on.
TEST(RecurrentState, ServesOneRunAtATime) {
  auto l = test::load(cell());
  struct Hook final : TraceHook {
    void on_op(const TraceEvent&) override {
      if (told.empty()) told = pool->run({&in, 1}, {&out, 1}, *state).message();
    }
    SessionPool* pool = nullptr;
    RecurrentState* state = nullptr;
    TensorView in, out;
    std::string told;
  } hook;
  SessionPoolOptions options;
  options.session.trace = &hook;
  options.session.threads = 1;
  auto pool = open_pool(*l.program, options);
  auto state = make(*l.program, 1);
  ASSERT_TRUE(state.ok());
  float x[4] = {}, y[4] = {};
  hook.pool = pool.get();
  hook.state = state->get();
  hook.in = TensorView(x, DType::kF32, {1, 4});
  hook.out = TensorView(y, DType::kF32, {1, 4});
  EXPECT_TRUE(same_bits(streamed(*pool, **state, 1, 0, 3), alone(*l.program, 1, 0, 3)));
  EXPECT_THAT(hook.told, HasSubstr("another run uses this state"));
}

// x [4], k [1,2] -> places [1,?]: what the run makes fits the link only when x has two numbers that
// are not 0, which the run tells and no plan.
std::vector<uint8_t> places() {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4}), k = p.value("k", DType::kI64, {1, 2});
  auto found = p.value("found", DType::kI64, {}, kNoIndex, kNoIndex, 0, true);
  auto y = p.value("y", DType::kI64, {1, 2});
  p.node(OpId::kNonZero, {x}, {found}, NoAttrs{}, "nonzero");
  p.node(OpId::kAdd, {k, k}, {y});
  p.entry("main", {x, k}, {found, y});
  return p.finish();
}

// finish() always gives a link the link's buffer, so a run that makes another shape must fail in
// start(): nothing could end it later, and the session and the state would stay taken.
TEST(RecurrentState, StartRefusesWhatALinkCannotKeep) {
  auto l = test::load(places());
  const StateLink link{"k", "found"};
  auto state = RecurrentState::create(*l.program, {&link, 1});
  ASSERT_TRUE(state.ok()) << state.status().message();
  auto session = test::open(*l.program);
  float three[] = {0, 1, 2, 3}, two[] = {0, 1, 0, 3};
  RunOptions options;
  options.state = state->get();
  TensorView in(three, DType::kF32, {4}), out[1] = {};
  for (int i = 0; i < 2; ++i) {
    const Status s = session->start({&in, 1}, options);
    EXPECT_EQ(s.code(), Code::kShapeMismatch);
    EXPECT_THAT(s.message(), HasSubstr("output found is int64 [1,3] and becomes an input by a "
                                       "link, which keeps int64 [1,2]"));
  }
  const Status whole = session->run({&in, 1}, out, options);
  EXPECT_EQ(whole.code(), Code::kShapeMismatch);
  EXPECT_THAT(whole.message(), HasSubstr("becomes an input by a link, which keeps int64 [1,2]"));
  // Both are free, and the state is what it was.
  EXPECT_EQ((*state)->value(0).as<int64_t>()[1], 0);
  in = TensorView(two, DType::kF32, {4});
  ASSERT_TRUE(session->start({&in, 1}, options).ok());
  ASSERT_TRUE(session->finish(out).ok());
  EXPECT_EQ((*state)->value(0).as<int64_t>()[1], 3);
}

TEST(RecurrentState, RefusesWhatItCannotHold) {
  auto l = test::load(cell());
  auto refused = [&](std::vector<StateLink> links, int64_t n = 1) {
    auto state = make(*l.program, n, {links.data(), links.size()});
    EXPECT_FALSE(state.ok());
    return std::string(state.status().message());
  };
  EXPECT_EQ(refused({{"q", "hn"}}), "no input is named q; there are: c, x, h");
  EXPECT_EQ(refused({{"h", "q"}}), "no output is named q; there are: hn, y, cn");
  EXPECT_EQ(refused({{nullptr, "hn"}}), "no input is named (null); there are: c, x, h");
  EXPECT_EQ(refused({{"h", "hn"}, {"c", "hn"}}), "c or hn is linked twice");
  EXPECT_EQ(refused({{"h", "hn"}, {"h", "cn"}}), "h or cn is linked twice");
  EXPECT_EQ(RecurrentState::create(*l.program, kLinks).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(refused({{"h", "hn"}}, -1), HasSubstr("its size n is free"));
  for (int64_t n : {0, 9}) {
    const Status s = make(*l.program, n).status();
    EXPECT_EQ(s.code(), Code::kShapeMismatch);
    EXPECT_EQ(std::string(s.message()),
              "RecurrentStateOptions::dims: n is " + std::to_string(n) + ", allowed are 1 to 8");
  }
  EXPECT_TRUE(make(*l.program, 8).ok());
  auto wide = test::load(cell(INT64_MAX));
  EXPECT_FALSE(make(*wide.program, INT64_MAX / 8).ok()) << "its bytes have no size";
  auto large = make(*wide.program, int64_t{1} << 40);
  EXPECT_EQ(large.status().code(), Code::kBudgetExceeded);
  const DimBinding misspelt[] = {{"n", 1}, {"m", 1}}, null[] = {{nullptr, 1}};
  Status s = RecurrentState::create(*l.program, kLinks, {.dims = misspelt}).status();
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_STREQ(s.message(), "the program has no symbolic dimension m");
  s = RecurrentState::create(*l.program, kLinks, {.dims = null}).status();
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_STREQ(s.message(), "dims[0].symbol is null");
  RecurrentStateOptions options;
  options.entry = "train";
  EXPECT_EQ(RecurrentState::create(*l.program, {}, options).status().code(), Code::kNotFound);
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{kSym, 5}, {4}}) {
    test::ProgramBuilder p;
    p.symbol("n", 1, 8);
    const auto h = p.value("h", DType::kF32, {kSym, 4}), y = p.value("y", DType::kF32, dims);
    p.node(OpId::kTanh, {h}, {y});
    p.entry("main", {h}, {y});
    auto never = test::load(p.finish());
    const StateLink link{"h", "y"};
    s = make(*never.program, 2, {&link, 1}).status();
    EXPECT_EQ(s.code(), Code::kShapeMismatch);
    EXPECT_STREQ(s.message(), "output y never has the shape of input h, [2,4]");
  }
  auto words = test::load(test::greeting());
  const StateLink text{"x", "y"};
  EXPECT_EQ(RecurrentState::create(*words.program, {&text, 1}).status().code(),
            Code::kTypeMismatch);

  auto other = test::load(cell());
  auto pool = open_pool(*other.program);
  auto state = make(*l.program, 1);
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(pool->run({}, {}, **state).message(), HasSubstr("made for another program"));
}

TEST(RecurrentState, EveryFailingAllocationIsAStatusAndNothingLeaks) {
  auto l = test::load(cell());
  const DimBinding dim{"n", 3};
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 100);
    test::CountingAllocator allocator(n);
    RecurrentStateOptions options;
    options.dims = {&dim, 1};
    options.allocator = &allocator;
    Status s;
    {
      auto state = RecurrentState::create(*l.program, kLinks, options);
      s = state.status();
    }
    EXPECT_EQ(allocator.alive, 0) << n;
    if (s.ok()) break;
    EXPECT_EQ(s.code(), Code::kOutOfMemory) << n;
  }
}

}  // namespace
}  // namespace wick
