// If, Loop and nodes whose sizes depend on values, in sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/control_programs.h"

namespace wick {
namespace {

using test::branches;
using test::growing_loop;
using test::kSym;
using test::load;
using test::open;
using test::ProgramBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> floats(const TensorView& v) {
  return {v.as<float>(), v.as<float>() + v.numel()};
}

// A run whose outputs are the session's own memory.
Status run_loop(Session& session, std::vector<TensorView> in, TensorView (&out)[2],
                const RunOptions& options = {}) {
  out[0] = out[1] = TensorView();
  return session.run(in, out, options);
}

struct LoopInputs {
  int64_t trips;
  uint8_t go = 1;
  std::vector<float> s = {1, 2}, x = {3, 4};
  std::vector<TensorView> views() {
    return {TensorView(&trips, DType::kI64, {}), TensorView(&go, DType::kBool, {}),
            TensorView(s.data(), DType::kF32, {static_cast<int64_t>(s.size() / 2), 2}),
            TensorView(x.data(), DType::kF32, {static_cast<int64_t>(x.size() / 2), 2})};
  }
};

TEST(Control, LoopCarriesAndStacks) {
  auto l = load(growing_loop());
  auto session = open(*l.program);
  TensorView out[2];
  LoopInputs three{3};
  Status st = run_loop(*session, three.views(), out);
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(out[0].shape, (Shape{4, 2}));
  EXPECT_THAT(floats(out[0]), ElementsAre(2, 4, 6, 8, 6, 8, 6, 8));
  EXPECT_EQ(out[1].shape, Shape{3});
  EXPECT_THAT(floats(out[1]), ElementsAre(10, 17, 24));
  EXPECT_EQ(*session->output_shape(0), (Shape{4, 2}));

  LoopInputs until{1000};  // the condition ends it: 3 + 14 * 7 = 101
  ASSERT_TRUE(run_loop(*session, until.views(), out).ok());
  EXPECT_EQ(out[1].shape, Shape{14});
  EXPECT_EQ(out[0].shape, (Shape{15, 2}));

  for (LoopInputs none : {LoopInputs{0}, LoopInputs{-5}, LoopInputs{3, 0}}) {
    ASSERT_TRUE(run_loop(*session, none.views(), out).ok());
    EXPECT_THAT(floats(out[0]), ElementsAre(2, 4));
    EXPECT_EQ(out[1].shape, Shape{0});
  }
}

// Plans are kept over trips of one shape, and their memory over those of another.
TEST(Control, MemoryOnlyGrowsToWhatItTook) {
  auto l = load(growing_loop());
  test::CountingAllocator allocator;
  SessionOptions options;
  options.allocator = &allocator;
  options.threads = 1;
  auto session = open(*l.program, options);
  TensorView out[2];
  LoopInputs five{5};
  ASSERT_TRUE(run_loop(*session, five.views(), out).ok());
  ASSERT_TRUE(run_loop(*session, five.views(), out).ok());
  int64_t calls = allocator.calls;
  size_t held = allocator.held;
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(run_loop(*session, five.views(), out).ok());
  EXPECT_EQ(allocator.held, held);
  LoopInputs one{1};
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(run_loop(*session, one.views(), out).ok());
  EXPECT_EQ(allocator.held, held);
  static_cast<void>(calls);
}

TEST(Control, RunsOfOneShapeAllocateNothing) {
  auto l = load(branches());
  test::CountingAllocator allocator;
  SessionOptions options;
  options.allocator = &allocator;
  options.threads = 1;
  auto session = open(*l.program, options);
  for (uint8_t go : {1, 0}) {
    std::vector<float> x(20000, 1.5f);
    TensorView in[2] = {TensorView(&go, DType::kBool, {1}),
                        TensorView(x.data(), DType::kF32, {20000})},
               out;
    auto run = [&] { return session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1)); };
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(out.shape, Shape{go != 0 ? 20000 : 40000}) << "far beyond what binding evaluates";
    int64_t calls = allocator.calls;
    for (int k = 0; k < 5; ++k) ASSERT_TRUE(run().ok());
    EXPECT_EQ(allocator.calls, calls);
    EXPECT_EQ(out.as<float>()[19999], go != 0 ? -19999.0f : -1.5f);
  }
}

TEST(Control, OnlyTheBranchTakenRuns) {
  auto l = load(branches());
  auto session = open(*l.program);
  std::vector<float> x = {0, 5, 0, 7};
  for (uint8_t go : {1, 0, 1}) {
    TensorView in[2] = {TensorView(&go, DType::kBool, {1}), TensorView(x.data(), DType::kF32, {4})},
               out;
    Status s = session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1));
    ASSERT_TRUE(s.ok()) << s.message();
    if (go != 0) {
      EXPECT_THAT(floats(out), ElementsAre(-1, -3));
    } else {
      EXPECT_THAT(floats(out), ElementsAre(0, -5, 0, -7, 0, -5, 0, -7));
    }
    float small[1] = {9};
    TensorView wrong(small, DType::kF32, {1});
    s = session->run(Span<const TensorView>(in), Span<TensorView>(&wrong, 1));
    EXPECT_EQ(s.code(), Code::kShapeMismatch);
    EXPECT_EQ(small[0], 9) << "outputs are untouched on error";
  }
}

// An iteration passes its values on in another order: a, b = b, a.
TEST(Control, CarriedValuesMaySwap) {
  ProgramBuilder p;
  auto trips = p.value("trips", DType::kI64, {});
  auto go = p.value("go", DType::kBool, {},
                    p.constant_only("go", {}, std::vector<uint8_t>{1}, 0, DType::kBool));
  auto a = p.value("a", DType::kF32, {2}), b = p.value("b", DType::kF32, {2});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto a_in = p.value("a_in", DType::kF32, {2}), b_in = p.value("b_in", DType::kF32, {2});
  auto a_end = p.value("a_end", DType::kF32, {2}), b_end = p.value("b_end", DType::kF32, {2});
  p.region({i, c, a_in, b_in}, {c, b_in, a_in}, false);
  p.control(OpId::kLoop, {trips, go, a, b}, {a_end, b_end}, 1, LoopAttrs{2});
  p.entry("main", {trips, a, b}, {a_end, b_end});
  auto l = load(p.finish(kFeatureRegions));
  auto session = open(*l.program);
  float x[2] = {1, 2}, y[2] = {3, 4};
  for (int64_t n : {0, 1, 2, 3, 8}) {
    TensorView in[3] = {TensorView(&n, DType::kI64, {}), TensorView(x, DType::kF32, {2}),
                        TensorView(y, DType::kF32, {2})},
               out[2];
    ASSERT_TRUE(session->run(Span<const TensorView>(in), out).ok());
    EXPECT_EQ(out[0].as<float>()[0], n % 2 == 0 ? 1 : 3) << n;
    EXPECT_EQ(out[1].as<float>()[1], n % 2 == 0 ? 4 : 2) << n;
  }
}

TEST(Control, EndlessLoopsEndByDeadlineOrBudget) {
  auto l = load(growing_loop());
  SessionOptions options;
  options.threads = 1;
  options.max_ram = 1 << 20;
  auto session = open(*l.program, options);
  LoopInputs forever{INT64_MAX};
  forever.x = std::vector<float>(400);
  TensorView out[2];
  Status s = run_loop(*session, forever.views(), out);
  EXPECT_EQ(s.code(), Code::kBudgetExceeded) << s.message();
  EXPECT_THAT(s.message(), HasSubstr("grow (Loop)"));
  EXPECT_THAT(session->output_shape(0).status().message(), HasSubstr("not bound"));
  forever.x = {};  // nothing grows but the stack of sums, slowly
  RunOptions soon;
  soon.timeout_ns = 20000000;
  s = run_loop(*session, forever.views(), out, soon);
  EXPECT_TRUE(s.code() == Code::kDeadline || s.code() == Code::kBudgetExceeded) << s.message();
  EXPECT_EQ(out[0].data, nullptr);
  LoopInputs three{3};
  EXPECT_TRUE(run_loop(*session, three.views(), out).ok()) << "the session goes on";
}

TEST(Control, EveryFailingAllocationIsAStatusAndNothingLeaks) {
  auto loops = [](Session& session) -> Status {
    for (int64_t trips : {0, 2, 6}) {
      LoopInputs in{trips};
      TensorView out[2];
      WICK_TRY(run_loop(session, in.views(), out));
    }
    return {};
  };
  auto both = [](Session& session) -> Status {
    std::vector<float> x(100, 1.0f);
    for (uint8_t go : {1, 0}) {
      TensorView in[2] = {TensorView(&go, DType::kBool, {1}),
                          TensorView(x.data(), DType::kF32, {100})},
                 out;
      WICK_TRY(session.run(Span<const TensorView>(in), Span<TensorView>(&out, 1)));
    }
    return {};
  };
  EXPECT_GT(test::with_each_allocation_failing(growing_loop(), 1, loops), 8);
  EXPECT_GT(test::with_each_allocation_failing(branches(), 1, both), 8);
}

TEST(Control, ErrorsNameTheNodeAndTheTrip) {
  auto l = load(growing_loop());
  auto session = open(*l.program);
  LoopInputs two{2};
  auto in = two.views();
  int64_t many[2] = {2, 2};
  in[0] = TensorView(many, DType::kI64, {2});
  TensorView out[2];
  Status s = session->run(in, out);
  EXPECT_EQ(s.code(), Code::kShapeMismatch) << s.message();

  ProgramBuilder p;  // every trip gathers x[trip]: the third is beyond it
  auto trips = p.value("trips", DType::kI64, {});
  auto go = p.value("go", DType::kBool, {},
                    p.constant_only("go", {}, std::vector<uint8_t>{1}, 0, DType::kBool));
  auto x = p.value("x", DType::kF32, {2}), x_in = p.value("x_in", DType::kF32, {2});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto y = p.value("y", DType::kF32, {}),
       all = p.value("all", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kGather, {x_in, i}, {y}, AxisAttrs{0}, "pick");
  p.region({i, c, x_in}, {c, y}, false);
  p.control(OpId::kLoop, {trips, go, x}, {all}, 1, LoopAttrs{0}, "walk");
  p.entry("main", {trips, x}, {all});
  auto walk = load(p.finish(kFeatureRegions));
  auto walking = open(*walk.program);
  float data[2] = {5, 6};
  for (int64_t n : {2, 3}) {
    TensorView walk_in[2] = {TensorView(&n, DType::kI64, {}), TensorView(data, DType::kF32, {2})},
               made;
    s = walking->run(Span<const TensorView>(walk_in), Span<TensorView>(&made, 1));
    if (n == 2) {
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_THAT(floats(made), ElementsAre(5, 6));
      continue;
    }
    EXPECT_THAT(s.message(), HasSubstr("node walk (Loop): trip 2: node pick (Gather)"));
  }
}

// A size from a value, and a matmul behind it: planned again for another size only.
TEST(Control, SizesFromValues) {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym}), size = p.value("size", DType::kI32, {1});
  auto wide = p.value("size64", DType::kI64, {1});
  auto w = p.value("w", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kCast, {size}, {wide}, CastAttrs{static_cast<int64_t>(DType::kI64)}, "wide");
  p.node(OpId::kExpand, {x, wide}, {w}, ShapeAttrs{}, "expand");
  p.node(OpId::kRelu, {w}, {y}, NoAttrs{}, "relu");
  p.entry("main", {x, size}, {y});
  auto l = load(p.finish());
  auto session = open(*l.program);
  float one = 3;
  for (int32_t n : {4, 4, 0, 70000}) {
    TensorView in[2] = {TensorView(&one, DType::kF32, {1}), TensorView(&n, DType::kI32, {1})}, out;
    Status s = session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1));
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out.shape, Shape{n});
    EXPECT_TRUE(n == 0 || out.as<float>()[n - 1] == 3);
  }
  int32_t bad = -4;
  TensorView in[2] = {TensorView(&one, DType::kF32, {1}), TensorView(&bad, DType::kI32, {1})}, out;
  Status s = session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1));
  EXPECT_THAT(s.message(), HasSubstr("node expand (Expand)"));
}

}  // namespace
}  // namespace wick
