// Sessions that find no memory, wherever binding asks for it: an error, and nothing leaks. What is
// asked for lies in blocks that grow, so that each piece is the one that needs a new block in a
// program of some length. See also Bind.EveryBudgetIsKept and Device.MemoryThatIsNotThere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session_memory.h"
#include "tests/runtime/state_programs.h"
#include "tests/runtime/string_programs.h"
#include "tests/runtime/test_device.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using test::kSym;
using test::load;
using test::ProgramBuilder;

// Calls run(allocator) with each of its allocations failing in its turn, until one call needs no
// more.
template <class F>
int64_t each_failing(const F& run) {
  for (int64_t n = 0; n < 2000; ++n) {
    test::CountingAllocator allocator(n);
    const Status s = run(allocator);
    EXPECT_EQ(allocator.alive, 0) << "allocation " << n;
    if (allocator.calls <= n) {
      EXPECT_TRUE(s.ok()) << s.message();
      return n;
    }
    EXPECT_TRUE(s.ok() || s.code() == Code::kOutOfMemory) << n << ": " << s.message();
  }
  ADD_FAILURE() << "two thousand allocations, and no end";
  return 2000;
}

uint32_t unknown(ProgramBuilder& p, const char* name, DType dtype) {
  return p.value(name, dtype, {}, kNoIndex, kNoIndex, 0, true);
}

// Sizes in int32 and scales that are reals, `length` steps, and a product of constants. `spare`
// values that nobody makes take their places in lists.
std::vector<uint8_t> of_length(int length, int spare = 0) {
  ProgramBuilder p;
  for (int i = 0; i < spare; ++i) p.value("spare", DType::kF32, {});
  p.symbol("n");
  const auto x = p.value("x", DType::kF32, {kSym, 1, 2, 2});
  const auto scales = p.constant<float>("scales", {4}, {1, 1, 2, 2});
  const auto many = p.constant<int32_t>("many", {200}, std::vector<int32_t>(200, 3));
  const auto a = p.constant<float>("a", {32, 32}, std::vector<float>(1024, 0.5f));
  const auto wide = unknown(p, "wide", DType::kI64), big = unknown(p, "big", DType::kF32),
             product = unknown(p, "product", DType::kF32);
  p.node(OpId::kResize, {x, kNoIndex, scales}, {big}, ResizeAttrs{}, "resize");
  p.node(OpId::kCast, {many}, {wide}, CastAttrs{static_cast<int64_t>(DType::kI64)}, "cast");
  uint32_t h = x;
  for (int i = 0; i < length; ++i) {
    const auto next = p.value("h", DType::kF32, {kSym, 1, 2, 2});
    p.node(OpId::kRelu, {h}, {next}, NoAttrs{}, "relu");
    h = next;
  }
  p.node(OpId::kMatMul, {a, a}, {product}, NoAttrs{}, "product");
  p.entry("main", {x}, {big, h, product, wide});
  return p.finish();
}

// `count` inputs; of each its size, its negative and itself in another shape.
std::vector<uint8_t> of_inputs(int count) {
  ProgramBuilder p;
  p.symbol("n");
  const auto to = p.constant<int64_t>("to", {2}, {-1, 1});
  std::vector<uint32_t> in, out;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    in.push_back(p.value(("x" + name).c_str(), DType::kF32, {kSym}));
    out.push_back(p.value(("size" + name).c_str(), DType::kI64, {1}));
    p.node(OpId::kShape, {in.back()}, {out.back()}, ShapeOpAttrs{}, "size");
  }
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    const auto x = in[static_cast<size_t>(i)];
    const auto less = p.value(("less" + name).c_str(), DType::kF32, {kSym}),
               turned = unknown(p, ("turned" + name).c_str(), DType::kF32);
    p.node(OpId::kNeg, {x}, {less}, NoAttrs{}, "neg");
    p.node(OpId::kReshape, {x, to}, {turned}, ReshapeAttrs{}, "turn");
    out.insert(out.end(), {less, turned});
  }
  p.entry("main", in, out);
  return p.finish();
}

TEST(BindMemory, EachAllocationOfProgramsOfAnyLength) {
  std::vector<float> x(8, 1);
  const TensorView in(x.data(), DType::kF32, {2, 1, 2, 2});
  const auto run = [&](Session& session) -> Status {
    TensorView out[4];
    WICK_TRY(session.run({&in, 1}, out));
    EXPECT_EQ(out[0].shape, (Shape{2, 1, 4, 4}));
    EXPECT_EQ(out[2].as<float>()[7], 8);
    return {};
  };
  for (int length = 0; length < 240; length += 1 + length / 10)
    EXPECT_GT(test::with_each_allocation_failing(of_length(length), 1, run), 4) << length;
  for (int spare = 1400; spare < 1700; spare += 32)
    EXPECT_GT(test::with_each_allocation_failing(of_length(0, spare), 1, run), 4) << spare;
}

TEST(BindMemory, EachAllocationOfManySteps) {
  float x[1] = {1};
  const TensorView in(x, DType::kF32, {1});
  for (const int steps : {330, 360, 390, 420, 450, 480}) {
    ProgramBuilder p;
    uint32_t h = p.value("x", DType::kF32, {1});
    const auto given = h;
    for (int i = 0; i < steps; ++i) {
      const auto next = p.value("h", DType::kF32, {1});
      p.node(OpId::kNeg, {h}, {next}, NoAttrs{}, "neg");
      h = next;
    }
    p.entry("main", {given}, {h});
    const auto run = [&](Session& session) -> Status {
      TensorView out;
      WICK_TRY(session.run({&in, 1}, {&out, 1}));
      EXPECT_EQ(*out.as<float>(), 1);
      return {};
    };
    EXPECT_GT(test::with_each_allocation_failing(p.finish(), 1, run), 4) << steps;
  }
}

TEST(BindMemory, EachAllocationOfProgramsWithManyInputs) {
  float x[2] = {1, 2};
  const auto run = [&](Session& session) -> Status {
    const size_t count = session.input_count();
    const std::vector<TensorView> in(count, TensorView(x, DType::kF32, {2}));
    std::vector<TensorView> out(session.output_count());
    WICK_TRY(session.run(in, {out.data(), out.size()}));
    EXPECT_EQ(*out[0].as<int64_t>(), 2);
    EXPECT_EQ(out[count].as<float>()[1], -2);
    EXPECT_EQ(out[count + 1].shape, (Shape{2, 1}));
    return {};
  };
  for (int count = 1; count < 64; count += 1 + count / 8)
    EXPECT_GT(test::with_each_allocation_failing(of_inputs(count), 1, run), 4) << count;
}

// The device runs some of the steps; parts of it cost more than they win, or not.
TEST(BindMemory, EachAllocationWithADevice) {
  for (int before = 0; before < 300; before += 1 + before / 12) {
    test::Chain chain(before);
    const auto want = chain.want();
    for (const bool cheap : {true, false}) {
      each_failing([&](Allocator& allocator) -> Status {
        test::TestDevice device;
        device.ops = {OpId::kTanh, OpId::kExp};
        device.cheap = cheap;
        SessionOptions options = chain.options(device);
        options.allocator = &allocator;
        WICK_ASSIGN(auto session, Session::create(*chain.l.program, options));
        WICK_TRY(chain.run(*session));
        EXPECT_EQ(chain.values(), want);
        return {};
      });
    }
  }
}

// Two states that are written in place behind `more` steps; a device may run these.
struct States {
  explicit States(int more) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {2});
    const auto given = x;
    for (int i = 0; i < more; ++i) {
      const auto next = p.value("next", DType::kF32, {2});
      p.node(OpId::kRelu, {x}, {next}, NoAttrs{}, "relu");
      x = next;
    }
    std::vector<uint32_t> out;
    for (int i = 0; i < 2; ++i) {
      const std::string name = std::to_string(i);
      const auto state = p.state(name.c_str(), DType::kF32, {2}, kNoIndex);
      const auto sum = p.value(name.c_str(), DType::kF32, {2}, kNoIndex, state),
                 made = p.value("made", DType::kF32, {2});
      out.push_back(p.value(("y" + name).c_str(), DType::kF32, {2}));
      p.node(OpId::kAdd, {sum, x}, {made}, NoAttrs{}, "add");
      p.node(OpId::kNeg, {made}, {out.back()}, NoAttrs{}, "neg");
      p.state_update(state, made);
    }
    p.entry("main", {given}, out);
    l = load(p.finish(kFeatureState));
  }
  Status run(SessionOptions options) const {
    options.threads = 1;
    WICK_ASSIGN(auto session, Session::create(*l.program, options));
    WICK_ASSIGN(auto kept, RecurrentState::create(*l.program));
    RunOptions with;
    with.state = kept.get();
    float data[2] = {1, 2};
    const TensorView in(data, DType::kF32, {2});
    for (const float times : {1.0f, 2.0f}) {
      std::vector<TensorView> out(session->output_count());
      WICK_TRY(session->run({&in, 1}, {out.data(), out.size()}, with));
      for (const TensorView& y : out) EXPECT_EQ(y.as<float>()[1], -2 * times);
    }
    return {};
  }
  test::Loaded l;
};

TEST(BindMemory, EachAllocationWithStates) {
  for (int more = 0; more < 48; ++more) {
    const States states(more);
    for (const bool on_device : {false, true}) {
      EXPECT_GT(each_failing([&](Allocator& allocator) {
                  test::TestDevice device;
                  device.ops = {OpId::kRelu};
                  SessionOptions options;
                  options.allocator = &allocator;
                  if (on_device) options.backend = &device;
                  return states.run(options);
                }),
                2);
    }
  }
}

// Small constants of a mapped file are copied: `count` of them.
TEST(BindMemory, EachAllocationOfAMappedFile) {
  const std::string path = test::temp_folder() + "wick_bind_memory_test.wick";
  for (int count = 1; count < 40; count += 3) {
    ProgramBuilder p;
    uint32_t x = p.value("x", DType::kF32, {16});
    const auto given = x;
    for (int i = 0; i < count; ++i) {
      const auto one = p.constant<float>("one", {16}, std::vector<float>(16, 1)),
                 next = p.value("next", DType::kF32, {16});
      p.node(OpId::kAdd, {x, one}, {next}, NoAttrs{}, "add");
      x = next;
    }
    p.entry("main", {given}, {x});
    const auto file = p.finish();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
    LoadOptions load_options;
    load_options.weights = WeightsIn::kMap;
    auto program = Program::load(path.c_str(), load_options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    each_failing([&](Allocator& allocator) -> Status {
      SessionOptions options;
      options.allocator = &allocator;
      options.threads = 1;
      WICK_ASSIGN(auto session, Session::create(**program, options));
      float data[16] = {};
      const TensorView in(data, DType::kF32, {16});
      TensorView out;
      WICK_TRY(session->run({&in, 1}, {&out, 1}));
      EXPECT_EQ(out.as<float>()[15], static_cast<float>(count));
      return {};
    });
  }
  remove(path.c_str());
}

// A buffer that grows ahead asks for twice the size. Where that is no size, it asks for the size.
TEST(BindMemory, BuffersGrowAheadOfSizesThatCannotBeDoubled) {
  test::CountingAllocator allocator;
  SessionMemory memory(allocator, 1 << 20);
  Buffer buffer;
  ASSERT_TRUE(memory.grow_ahead(buffer, 1000).ok());
  EXPECT_EQ(buffer.bytes, 2000u);
  for (const size_t bytes : {SIZE_MAX / 2 + 65, SIZE_MAX / 2 + 1, SIZE_MAX / 4}) {
    EXPECT_EQ(memory.grow_ahead(buffer, bytes).code(), Code::kBudgetExceeded) << bytes;
  }
  memory.release(buffer);
}

}  // namespace
}  // namespace wick
