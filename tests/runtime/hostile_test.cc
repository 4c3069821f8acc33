// Sizes and counts that a file or the values of a tensor may state: their cost is worked out and
// compared with the budget before anything loops over them or is allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "runtime/core/arena.h"
#include "runtime/core/packed_sequence.h"
#include "runtime/ops/sequence_parts.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/string_programs.h"

namespace wick {
namespace {

using fbs::ValueKind;
using test::CountingAllocator;
using test::kSym;
using test::load;
using test::open;
using test::ProgramBuilder;
using ::testing::HasSubstr;

constexpr uint64_t kFeatures = kFeatureNonTensor | kFeatureRegions;

// A loop over 2^40 parts would take for ever: SIGALRM ends the process.
struct Hurry {
  Hurry() { alarm(30); }
  ~Hurry() { alarm(0); }
};

// x of 2^40 times nothing, in parts of `split` (0: one by one, -1: what the input says).
std::vector<uint8_t> parts_of_nothing(int64_t split) {
  ProgramBuilder p;
  const int64_t lines = int64_t{1} << 40;
  auto x = p.constant<float>("x", {lines, 0}, {});
  std::vector<uint32_t> in = {x}, ports;
  if (split > 0) in.push_back(p.constant<int64_t>("split", {}, {split}));
  if (split < 0) ports = {p.value("split", DType::kI32, {})}, in.push_back(ports[0]);
  auto s = p.packed("s", ValueKind::Sequence, DType::kF32);
  p.node(OpId::kSplitToSequence, in, {s}, SplitToSequenceAttrs{0, 1}, "parts");
  p.entry("main", ports, {s});
  return p.finish(kFeatures);
}

TEST(Hostile, PartsAreCountedBeforeTheyAreMade) {
  if (sizeof(size_t) < 8) GTEST_SKIP() << "a 32-bit machine has no such sizes";
  Hurry hurry;
  for (int64_t split : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{-1}}) {
    auto l = load(parts_of_nothing(split));
    for (uint64_t most : {uint64_t{1} << 20, uint64_t{1} << 40}) {
      SessionOptions options;
      options.max_ram = most;
      auto session = open(*l.program, options);
      int32_t one = 1;
      TensorView in[] = {TensorView(&one, DType::kI32, {})}, out[1];
      Status s = session->run({in, split < 0 ? 1u : 0u}, out);
      EXPECT_EQ(s.code(), Code::kBudgetExceeded) << s.message();
      EXPECT_THAT(s.message(), HasSubstr("node parts (SplitToSequence): max_ram"));
    }
  }
  // few parts are made, however long
  auto l = load(parts_of_nothing((int64_t{1} << 39) + 1));
  auto session = open(*l.program);
  TensorView out[1];
  Status s = session->run(Span<const TensorView>{}, out);
  ASSERT_TRUE(s.ok()) << s.message();
  auto parts = PackedSequence::open(out[0]);
  ASSERT_EQ(parts->count(), 2);
  EXPECT_EQ(parts->at(1).shape, (Shape{(int64_t{1} << 39) - 1, 0}));
}

// The closed form is the sum.
TEST(Hostile, SizesOfPartsAddUp) {
  for (int64_t lines : {0, 1, 2, 7, 8, 64}) {
    for (int64_t chunk : {1, 2, 3, 7, 64, 100}) {
      const TensorView size(&chunk, DType::kI64, {});
      const Shape x{lines, 5};
      auto parts = split_parts(SplitToSequenceAttrs{0, 1}, x, size);
      ASSERT_TRUE(parts.ok());
      PackedSize sum(parts->count);
      for (int64_t i = 0; i < parts->count; ++i)
        ASSERT_TRUE(sum.add(DType::kF32, parts->shape(x, i)).ok());
      EXPECT_EQ(packed_bytes(*parts, DType::kF32, x).value(), sum.bytes().value())
          << lines << " in parts of " << chunk;
    }
  }
}

// A tensor of integers that no rule reads is not spread out as int64 beside the sequence.
TEST(Hostile, IntegersThatNoRuleReadsAreNotCopied) {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kI32, {kSym});
  auto none = p.packed("none", ValueKind::Sequence, DType::kI32),
       s = p.packed("s", ValueKind::Sequence, DType::kI32);
  p.node(OpId::kSequenceConstruct, {}, {none}, SequenceAttrs{static_cast<int64_t>(DType::kI32)});
  p.node(OpId::kSequenceInsert, {none, x}, {s}, NoAttrs{}, "append");
  p.entry("main", {x}, {s});
  auto l = load(p.finish(kFeatures));
  SessionOptions options;
  options.max_ram = 7 << 20;
  auto session = open(*l.program, options);
  std::vector<int32_t> values(1 << 20, 9);
  TensorView in[] = {TensorView(values.data(), DType::kI32, {1 << 20})}, out[1];
  Status st = session->run(in, out);
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(PackedSequence::open(out[0])->at(0).as<int32_t>()[12345], 9);
}

TEST(Hostile, AStackOfEmptyPartsKeepsASoundShape) {
  if (sizeof(size_t) < 8) GTEST_SKIP() << "a 32-bit machine has no such sizes";
  ProgramBuilder p;
  auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  const int64_t large = int64_t{1} << 55;
  auto inside = p.constant<float>("part", {large, 0}, {});
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.region({i, c}, {c, inside}, false);
  p.control(OpId::kLoop, {trips, go}, {y}, 1, LoopAttrs{0}, "loop");
  p.entry("main", {trips, go}, {y});
  auto l = load(p.finish(kFeatures));
  auto session = open(*l.program);
  uint8_t yes = 1;
  for (int64_t n : {3, 2000}) {
    TensorView in[] = {TensorView(&n, DType::kI64, {}), TensorView(&yes, DType::kBool, {})}, out[1];
    Status s = session->run(in, out);
    EXPECT_EQ(s.code(), n == 3 ? Code::kOk : Code::kShapeMismatch) << s.message();
    if (s.ok()) {
      EXPECT_EQ(out[0].shape, (Shape{3, large, 0}));
    }
  }
}

// Elements of 4 and 2 bits stand side by side in a stack too.
TEST(Hostile, StacksOfPackedElements) {
  for (auto [dtype, want] : {std::pair{DType::kU4, std::vector<uint8_t>{0x21, 0x13, 0x32, 0x21, 3}},
                             std::pair{DType::kU2, std::vector<uint8_t>{0x79, 0x9E, 0x03}}}) {
    ProgramBuilder p;
    auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {}),
         x = p.value("x", dtype, {3});
    auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {}),
         in = p.value("in", dtype, {3}), y = p.value("y", dtype, {}, kNoIndex, kNoIndex, 0, true);
    p.region({i, c, in}, {c, in}, false);
    p.control(OpId::kLoop, {trips, go, x}, {y}, 1, LoopAttrs{0}, "loop");
    p.entry("main", {trips, go, x}, {y});
    auto l = load(p.finish(kFeatures));
    auto session = open(*l.program);
    int64_t n = 3;
    uint8_t yes = 1;
    uint8_t data[] = {0x21, 0xF3};                   // 1 2 3, and a nibble of nobody's
    if (dtype == DType::kU2) data[0] = 0xC0 | 0x39;  // 1 2 3
    TensorView given[] = {TensorView(&n, DType::kI64, {}), TensorView(&yes, DType::kBool, {}),
                          TensorView(data, dtype, {3})},
               out[1];
    Status s = session->run(given, out);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_EQ(out[0].shape, (Shape{3, 3}));
    EXPECT_EQ(std::vector<uint8_t>(out[0].as<uint8_t>(), out[0].as<uint8_t>() + out[0].nbytes()),
              want);
  }
}

// The dtype that callers get for a sequence's elements is the true one.
TEST(Hostile, ElementsAreOfTheDtypeDeclared) {
  for (bool copied : {false, true}) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {2});
    auto made = p.packed("made", ValueKind::Sequence, copied ? DType::kF32 : DType::kString),
         same = p.packed("same", ValueKind::Sequence, DType::kString);
    p.node(OpId::kSequenceConstruct, {x}, {made}, SequenceAttrs{static_cast<int64_t>(DType::kF32)},
           "construct");
    if (copied) p.node(OpId::kIdentity, {made}, {same}, NoAttrs{}, "copy");
    p.entry("main", {x}, {copied ? same : made});
    auto l = load(p.finish(kFeatures));
    auto session = open(*l.program);
    float data[] = {1, 2};
    TensorView in[] = {TensorView(data, DType::kF32, {2})}, out[1];
    Status s = session->run(in, out);
    EXPECT_EQ(s.code(), Code::kInvalidProgram);
    EXPECT_THAT(s.message(), HasSubstr("elements of float32, the program declares string"));
    EXPECT_EQ(out[0].data, nullptr);
  }
}

// A program with a stage per node: each stage takes memory for its own nodes, not for all that
// follow.
TEST(Hostile, ManyStagesAreSmall) {
  ProgramBuilder p;
  auto s = p.packed("s", ValueKind::Sequence, DType::kF32);
  uint32_t n = 0;
  for (int i = 0; i < 3000; ++i) {
    n = p.value("n", DType::kI64, {});
    p.node(OpId::kSequenceLength, {s}, {n});
  }
  p.entry("main", {s}, {n});
  auto l = load(p.finish(kFeatures));
  SessionOptions options;
  options.max_ram = 32 << 20;
  auto session = open(*l.program, options);
  alignas(8) char none[64];
  PackedWriter(none, 64, DType::kF32, 0);
  TensorView in[] = {TensorView(none, DType::kSequence, {64})}, out[1];
  Status st = session->run(in, out);
  ASSERT_TRUE(st.ok()) << st.message();
  EXPECT_EQ(*out[0].as<int64_t>(), 0);
}

SessionOptions within_16_mb(Allocator* allocator) {
  SessionOptions options;
  options.allocator = allocator;
  options.max_ram = 16 << 20;
  options.threads = 1;
  return options;
}

// Blocks that the pool of strings keeps count in max_ram, and go where other memory is needed.
TEST(Hostile, KeptStringsCountInTheBudget) {
  auto l = load(test::greeting());
  CountingAllocator allocator;
  auto session = open(*l.program, within_16_mb(&allocator));
  const std::string large(5 << 20, 'x');
  const StringRef one[] = {{large.data(), large.size()}};
  const std::vector<StringRef> many(200000);
  const TensorView texts(const_cast<StringRef*>(one), DType::kString, {1}),
      list(const_cast<StringRef*>(many.data()), DType::kString, {200000});
  for (const TensorView& x : {texts, list, list}) {
    TensorView in[] = {x}, out[1];
    Status s = session->run(in, out);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_LE(allocator.peak, (16u << 20) + 65536);  // and the handle
    const StringRef& last = out[0].as<StringRef>()[out[0].numel() - 1];
    EXPECT_EQ(last.size, x.numel() == 1 ? large.size() + 7 : 7u);
    EXPECT_EQ(last.data[last.size - 1], '!');
  }
}

TEST(Hostile, StringsOfARunThatFailedAreNotKept) {
  auto l = load(test::greeting());
  CountingAllocator allocator;
  auto session = open(*l.program, within_16_mb(&allocator));
  const std::string large(10 << 20, 'x');  // once, but not twice
  const StringRef one[] = {{large.data(), large.size()}};
  TensorView in[] = {TensorView(const_cast<StringRef*>(one), DType::kString, {1})}, out[1];
  EXPECT_EQ(session->run(in, out).code(), Code::kBudgetExceeded);
  EXPECT_GT(allocator.peak, 10u << 20);
  EXPECT_LT(allocator.held, 1u << 20);
}

// The memory that an arena keeps is within its limit as well.
TEST(Hostile, ArenasHoldWhatTheirLimitSays) {
  CountingAllocator allocator;
  Arena arena(allocator, 3 << 20);
  for (size_t bytes : {10u, 5000u, 1u << 20, 70000u}) ASSERT_TRUE(arena.allocate(bytes, 8).ok());
  EXPECT_EQ(arena.held(), allocator.held);
  EXPECT_EQ(arena.allocate(2 << 20, 8).status().code(), Code::kBudgetExceeded);
  EXPECT_LE(allocator.held, 3u << 20);
  arena.clear();
  EXPECT_EQ(arena.held(), allocator.held);
  EXPECT_GT(arena.held(), 1u << 20);
  ASSERT_TRUE(arena.allocate(10, 8).ok());
  arena.shrink();
  EXPECT_LE(arena.held(), 4096u);
  arena.clear();
  arena.shrink();
  EXPECT_EQ(allocator.held, 0u);
  EXPECT_TRUE(arena.allocate(2 << 20, 8).ok());
  EXPECT_EQ(arena.allocate(SIZE_MAX - 8, 8).status().code(), Code::kBudgetExceeded);
}

}  // namespace
}  // namespace wick
