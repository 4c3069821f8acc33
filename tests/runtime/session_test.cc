// Sessions on hand-built programs: values, shapes, rebinding, errors and their texts.
#include "wick/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <thread>

#include "runtime/kernels/kernel.h"
#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::kSym;
using test::load;
using test::mlp;
using test::open;
using test::ProgramBuilder;
using ::testing::HasSubstr;

TEST(Session, RunsAndRebindsForAnotherBatch) {
  auto l = load(mlp());
  auto session = open(*l.program);
  for (int64_t batch : {2, 5, 1, 2}) {
    std::vector<float> x(static_cast<size_t>(batch * 3)), y(static_cast<size_t>(batch * 2));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    TensorView in(x.data(), DType::kF32, {batch, 3});
    TensorView out[2] = {TensorView(y.data(), DType::kF32, {batch * 2}), TensorView()};
    Status s = session->run(Span<const TensorView>(&in, 1), out);
    ASSERT_TRUE(s.ok()) << s.message();
    for (int64_t i = 0; i < batch; ++i) {
      float a = x[i * 3], b = x[i * 3 + 1], c = x[i * 3 + 2];
      float h0 = a * 1 + b * 3 + c * 5 - 30, h1 = a * 2 + b * 4 + c * 6 + 0.5f;
      EXPECT_EQ(y[i * 2], h0 > 0 ? h0 : 0);
      EXPECT_EQ(y[i * 2 + 1], h1);
    }
    EXPECT_EQ(out[1].shape, (Shape{batch, 2}));  // the session's own memory
    EXPECT_EQ(memcmp(out[1].data, y.data(), y.size() * 4), 0);
  }
  EXPECT_STREQ(l.program->labels()[1], "dog");
  EXPECT_STREQ(l.program->find_metadata("author"), "me");
  EXPECT_EQ(l.program->provenance().seed, 7u);
}

// Shape -> Gather -> Concat -> Reshape: evaluated when bound, so that only the reshape is left, and
// that is an alias.
TEST(Session, ShapeArithmeticIsDoneWhenBound) {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym, 2, 3});
  auto s = p.value("s", DType::kI64, {3});
  auto zero = p.constant<int64_t>("zero", {1}, {0});
  auto rest = p.constant<int64_t>("rest", {1}, {-1});
  auto n = p.value("n0", DType::kI64, {1});
  auto to = p.value("to", DType::kI64, {2});
  auto y = p.value("y", DType::kF32, {kSym, 6});
  p.node(OpId::kShape, {x}, {s}, ShapeOpAttrs{});
  p.node(OpId::kGather, {s, zero}, {n}, AxisAttrs{0});
  p.node(OpId::kConcat, {n, rest}, {to}, AxisAttrs{0});
  p.node(OpId::kReshape, {x, to}, {y}, ReshapeAttrs{});
  p.entry("main", {x}, {y});
  auto l = load(p.finish());
  auto session = open(*l.program);
  std::vector<float> data(24);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  TensorView in(data.data(), DType::kF32, {4, 2, 3}), out;
  Status st = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(session->step_count(), 1u);
  EXPECT_EQ(session->arena_bytes(), 0u);
  EXPECT_EQ(out.shape, (Shape{4, 6}));
  EXPECT_EQ(out.data, data.data()) << "a view of the input";
}

// ONNX tests give axes and shapes as run-time inputs: the session plans for their values, and again
// when they change.
TEST(Session, ShapeGivenAsAnInput) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {6});
  auto to = p.value("to", DType::kI64, {2});
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto z = p.value("z", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kReshape, {x, to}, {y}, ReshapeAttrs{});
  p.node(OpId::kRelu, {y}, {z});
  p.entry("main", {x, to}, {z});
  auto l = load(p.finish());
  auto session = open(*l.program);
  EXPECT_FALSE(session->output_shape(0).ok()) << "not known before the values are";
  float data[6] = {-1, 2, -3, 4, -5, 6};
  for (Shape shape : {Shape{2, 3}, Shape{3, 2}, Shape{3, 2}, Shape{1, 6}}) {
    int64_t dims[2] = {shape[0], shape[1]};
    TensorView in[2] = {TensorView(data, DType::kF32, {6}), TensorView(dims, DType::kI64, {2})},
               out;
    Status s = session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1));
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out.shape, shape);
    EXPECT_EQ(out.as<float>()[5], 6);
    EXPECT_EQ(out.as<float>()[4], 0);
  }
  int64_t wrong[2] = {4, 2};
  TensorView in[2] = {TensorView(data, DType::kF32, {6}), TensorView(wrong, DType::kI64, {2})}, out;
  Status s = session->run(Span<const TensorView>(in), Span<TensorView>(&out, 1));
  EXPECT_EQ(s.code(), Code::kShapeMismatch);
  EXPECT_THAT(s.message(), HasSubstr("Reshape"));
  EXPECT_EQ(out.data, nullptr);
}

// A step in place must not destroy a value that is still read: x feeds two relus and the output.
TEST(Session, InPlaceOnlyForTheLastReader) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {8});
  auto one = p.constant<float>("one", {1}, {1});
  auto a = p.value("a", DType::kF32, {8});
  auto b = p.value("b", DType::kF32, {8});
  auto c = p.value("c", DType::kF32, {8});
  p.node(OpId::kAdd, {x, one}, {a});
  p.node(OpId::kRelu, {a}, {b});
  p.node(OpId::kAdd, {b, a}, {c});
  p.entry("main", {x}, {c, x});
  auto l = load(p.finish());
  auto session = open(*l.program);
  float data[8] = {-4, -3, -2, -1, 0, 1, 2, 3};
  TensorView in(data, DType::kF32, {8}), out[2];
  ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
  for (int i = 0; i < 8; ++i) {
    float v = data[i] + 1;
    EXPECT_EQ(out[0].as<float>()[i], (v > 0 ? v : 0) + v);
  }
  EXPECT_EQ(out[1].data, data);
}

TEST(Session, ErrorsSayWhatAndWhere) {
  auto l = load(mlp());
  auto session = open(*l.program);
  float x[6] = {}, y[4] = {7, 7, 7, 7};
  auto run = [&](TensorView in, TensorView out) {
    TensorView outs[2] = {out, TensorView()};
    return session->run(Span<const TensorView>(&in, 1), outs);
  };
  TensorView good(x, DType::kF32, {2, 3}), result(y, DType::kF32, {4});
  EXPECT_STREQ(run(TensorView(x, DType::kF32, {3, 2}), result).message(),
               "input x: dimension 1 of [3,2] should be 3");
  EXPECT_STREQ(run(TensorView(x, DType::kF32, {6}), result).message(),
               "input x: [6] has rank 1, the program says 2");
  EXPECT_STREQ(run(TensorView(x, DType::kI32, {2, 3}), result).message(),
               "input x is int32, the program takes float32");
  EXPECT_STREQ(run(TensorView(nullptr, DType::kF32, {2, 3}), result).message(),
               "input x has no data");
  EXPECT_STREQ(run(TensorView(x, DType::kF32, {65, 3}), result).message(),
               "input x: batch is 65, allowed are 1 to 64");
  EXPECT_STREQ(run(TensorView(x, DType::kF32, {2, 3}, {1, 2}), result).message(),
               "input x must be contiguous and aligned to its elements");
  Status s = run(good, TensorView(y, DType::kF32, {2, 2}));
  EXPECT_STREQ(s.message(),
               "output y has shape [4], the buffer given [2,2] (it must be contiguous)");
  EXPECT_EQ(s.code(), Code::kShapeMismatch);
  EXPECT_EQ(run(good, TensorView(y, DType::kF64, {4})).code(), Code::kTypeMismatch);
  for (float v : y) EXPECT_EQ(v, 7) << "outputs are untouched on error";

  NamedView in{"image", good}, out{"y", result};
  s = session->run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1));
  EXPECT_STREQ(s.message(), "no input is named image; there are: x");
  in.name = "x";
  out.name = "logits";
  s = session->run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1));
  EXPECT_STREQ(s.message(), "no output is named logits; there are: y, r");
  out.name = "y";
  s = session->run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(y[1], 0.5f);

  RunOptions late;
  late.timeout_ns = 1;
  TensorView outs[2];
  EXPECT_EQ(session->run(Span<const TensorView>(&good, 1), outs, late).code(), Code::kDeadline);
  SessionOptions options;
  options.entry = "train";
  EXPECT_STREQ(Session::create(*l.program, options).status().message(),
               "there is no entry point train");
}

TEST(Session, EveryFailingAllocationIsAStatusAndNothingLeaks) {
  std::vector<float> x(30, 1.0f);
  auto run = [&](Session& session) -> Status {
    for (int64_t batch : {2, 10}) {
      TensorView in(x.data(), DType::kF32, {batch, 3}), out[2];
      WICK_TRY(session.run(Span<const TensorView>(&in, 1), out));
    }
    return {};
  };
  EXPECT_GT(test::with_each_allocation_failing(mlp(), 2, run), 8);
}

TEST(Session, RunsAndSmallerBindingsAllocateNothing) {
  auto l = load(mlp());
  test::CountingAllocator allocator;
  SessionOptions options;
  options.allocator = &allocator;
  options.threads = 2;
  DimBinding most{"batch", 10};
  options.max_dims = {&most, 1};
  auto session = open(*l.program, options);
  int64_t after_open = allocator.calls;
  std::vector<float> x(30, 1.0f);
  for (int64_t batch : {10, 10, 3, 1, 7, 10}) {
    TensorView in(x.data(), DType::kF32, {batch, 3}), out[2];
    ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
  }
  EXPECT_EQ(allocator.calls, after_open);
  EXPECT_GT(after_open, 3);
}

TEST(Session, MaxRamIsABudget) {
  auto l = load(mlp());
  SessionOptions options;
  options.max_ram = 2048;
  options.threads = 1;
  std::vector<float> x(192);
  TensorView in(x.data(), DType::kF32, {64, 3}), out[2];
  auto session = Session::create(*l.program, options);
  Status s = session.ok() ? (*session)->run(Span<const TensorView>(&in, 1), out) : session.status();
  EXPECT_EQ(s.code(), Code::kBudgetExceeded) << s.message();
  EXPECT_THAT(s.message(), HasSubstr("max_ram"));
}

TEST(Session, TwoSessionsOfOneProgramAtOnce) {
  auto l = load(mlp());
  auto work = [&](float scale) {
    SessionOptions options;
    options.threads = 2;
    auto session = open(*l.program, options);
    for (int i = 0; i < 200; ++i) {
      float x[6] = {scale, 0, 0, 0, 0, 0};
      TensorView in(x, DType::kF32, {2, 3}), out[2];
      ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
      EXPECT_EQ(out[0].as<float>()[1], scale * 2 + 0.5f);
    }
  };
  std::thread other([&] { work(3); });
  work(5);
  other.join();
}

class CountingTrace final : public TraceHook {
 public:
  void on_op(const TraceEvent& e) override {
    text += std::string(e.node) + ":" + e.op + ":" + e.backend + " ";
  }
  std::string text;
};

TEST(Session, TraceNamesEveryStepThatRan) {
  auto l = load(mlp());
  CountingTrace trace;
  SessionOptions options;
  options.trace = &trace;
  auto session = open(*l.program, options);
  float x[3] = {};
  TensorView in(x, DType::kF32, {1, 3}), out[2];
  ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
  EXPECT_EQ(trace.text, "mm:MatMul:cpu bias:Add:cpu act:Relu:cpu ");
}

// Panels are of the phases that a stride and pads make: whichever packs first must not serve the
// other.
TEST(Session, TransposedConvsOfDifferentStridesShareAConstant) {
  if (!test::vectors_promise_bits()) GTEST_SKIP() << test::kNoBits;
  std::vector<float> weights(3 * 8 * 4 * 4), x1(3 * 5 * 5);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 23) / 7 - 1;
  for (size_t i = 0; i < x1.size(); ++i) x1[i] = static_cast<float>(i % 19) / 9 - 1;
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1, 3, 5, 5});
  auto w = p.constant("w", {3, 8, 4, 4}, weights);
  ConvTransposeAttrs attrs[3];
  for (ConvTransposeAttrs& a : attrs) a.conv.strides = {2, 2};
  attrs[1].conv.pads = {1, 1, 1, 1};
  attrs[2].conv.pads = {1, 1, 0, 0};
  auto a = p.value("a", DType::kF32, {1, 8, 12, 12});
  auto b = p.value("b", DType::kF32, {1, 8, 10, 10});
  auto c = p.value("c", DType::kF32, {1, 8, 11, 11});
  p.node(OpId::kConvTranspose, {x, w}, {a}, attrs[0]);
  p.node(OpId::kConvTranspose, {x, w}, {b}, attrs[1]);
  p.node(OpId::kConvTranspose, {x, w}, {c}, attrs[2]);
  p.entry("main", {x}, {a, b, c});
  auto l = load(p.finish());
  SessionOptions plain;
  const KernelSet* reference[] = {&kReferenceKernels};
  plain.kernels = reference;
  auto fast = open(*l.program), slow = open(*l.program, plain);
  TensorView in(x1.data(), DType::kF32, {1, 3, 5, 5}), got[3], want[3];
  ASSERT_TRUE(fast->run(Span<const TensorView>(&in, 1), got).ok());
  ASSERT_TRUE(slow->run(Span<const TensorView>(&in, 1), want).ok());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(memcmp(got[i].data, want[i].data, want[i].nbytes()), 0) << "node " << i;
}

// Panels are of one group's outputs: whichever Conv packs first must not serve the other.
TEST(Session, ConvsOfDifferentGroupsShareAConstant) {
  if (!test::vectors_promise_bits()) GTEST_SKIP() << test::kNoBits;
  std::vector<float> weights(12 * 2 * 3 * 3), x1(2 * 8 * 8), x2(4 * 8 * 8);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 23) / 7 - 1;
  for (size_t i = 0; i < x1.size(); ++i) x1[i] = static_cast<float>(i % 19) / 9 - 1;
  for (size_t i = 0; i < x2.size(); ++i) x2[i] = static_cast<float>(i % 17) / 5 - 2;
  ProgramBuilder p;
  auto a = p.value("a", DType::kF32, {1, 2, 8, 8});
  auto b = p.value("b", DType::kF32, {1, 4, 8, 8});
  auto w = p.constant("w", {12, 2, 3, 3}, weights);
  auto ya = p.value("ya", DType::kF32, {1, 12, 6, 6});
  auto yb = p.value("yb", DType::kF32, {1, 12, 6, 6});
  ConvAttrs halves;
  halves.group = 2;
  p.node(OpId::kConv, {a, w}, {ya}, ConvAttrs{});
  p.node(OpId::kConv, {b, w}, {yb}, halves);
  p.entry("main", {a, b}, {ya, yb});
  auto l = load(p.finish());
  SessionOptions plain;
  const KernelSet* reference[] = {&kReferenceKernels};
  plain.kernels = reference;
  auto fast = open(*l.program), slow = open(*l.program, plain);
  TensorView in[2] = {TensorView(x1.data(), DType::kF32, {1, 2, 8, 8}),
                      TensorView(x2.data(), DType::kF32, {1, 4, 8, 8})};
  TensorView got[2], want[2];
  ASSERT_TRUE(fast->run(Span<const TensorView>(in), got).ok());
  ASSERT_TRUE(slow->run(Span<const TensorView>(in), want).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(memcmp(got[i].data, want[i].data, want[i].nbytes()), 0) << "group " << i + 1;
}

// Values that are computed at bind time have the bits of those that run, whatever mode the caller
// is in.
TEST(Session, BindingIgnoresTheCallersRoundingMode) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1});
  auto one = p.constant<float>("one", {1}, {1});
  auto three = p.constant<float>("three", {1}, {3});
  auto third = p.value("third", DType::kF32, {1});
  auto y = p.value("y", DType::kF32, {1});
  p.node(OpId::kDiv, {one, three}, {third});
  p.node(OpId::kMul, {x, third}, {y});
  p.entry("main", {x}, {y});
  auto l = load(p.finish());
  const int saved = fegetround();
  for (int mode : {FE_TONEAREST, FE_DOWNWARD}) {
    float data[1] = {1};
    TensorView in(data, DType::kF32, {1}), out;
    fesetround(mode);
    auto session = open(*l.program);  // every size is known: bound here
    Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
    const int after = fegetround();
    fesetround(saved);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(session->step_count(), 1u) << "the quotient is not evaluated when bound";
    EXPECT_EQ(out.as<float>()[0], 0x1.555556p-2f) << "mode " << mode;
    EXPECT_EQ(after, mode);
  }
}

}  // namespace
}  // namespace wick
