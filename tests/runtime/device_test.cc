// Sessions on a device that the test defines (test_device.h). Its results must be the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/backend/explain.h"
#include "runtime/exec/recurrent_state.h"
#include "runtime/kernels/prepared.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/state_programs.h"
#include "tests/runtime/test_device.h"

namespace wick {
namespace {

using test::Chain;
using test::kReference;
using test::load;
using test::open;
using test::ProgramBuilder;
using test::TestDevice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Places final : ExplainHook {
  void on_step(const PlacedStep& s) override {
    text.push_back(std::string(s.node) + ":" + s.backend + (s.why[0] != '\0' ? ":" : "") + s.why);
  }
  std::vector<std::string> text;
};
std::vector<std::string> places(const Session& session) {
  Places hook;
  EXPECT_TRUE(session.explain(hook).ok());
  return hook.text;
}

TEST(Device, TakesAllOrWhatItCan) {
  Chain chain;
  const auto want = chain.want();
  struct Form {
    std::set<OpId> ops;
    std::vector<std::string> places, copies;
  };
  const std::string no = ":cpu:no kernel for this step";
  for (const Form& form :
       {Form{{}, {"relu:test", "tanh:test", "neg:test", "exp:test"}, {"x", "b", "y"}},
        Form{{OpId::kTanh}, {"relu" + no, "tanh:test", "neg" + no, "exp" + no}, {"a", "b"}},
        Form{{OpId::kRelu, OpId::kExp},
             {"relu:test", "tanh" + no, "neg" + no, "exp:test"},
             {"x", "a", "c", "y"}},
        Form{{OpId::kRelu, OpId::kTanh, OpId::kNeg},
             {"relu:test", "tanh:test", "neg:test", "exp" + no},
             {"x", "b", "c"}},
        Form{{OpId::kConv}, {"relu" + no, "tanh" + no, "neg" + no, "exp" + no}, {}}}) {
    TestDevice device;
    device.ops = form.ops;
    auto session = open(*chain.l.program, chain.options(device));
    EXPECT_EQ(places(*session), form.places);
    EXPECT_EQ(device.copies, form.copies);
    for (int again = 0; again < 2; ++again) {
      ASSERT_TRUE(chain.run(*session).ok());
      EXPECT_EQ(chain.values(), want);
    }
    EXPECT_STREQ(session->left_backend(), "");
    EXPECT_EQ(session->packed_bytes(), form.copies.empty() ? 0u : 100u * device.alive);
    session.reset();
    EXPECT_EQ(device.alive, 0);
  }
}

// Parts whose copies cost more than is won stay here, but for what only the device can run.
TEST(Device, TakesWhatPays) {
  Chain chain;
  const auto want = chain.want();
  TestDevice device;
  device.cheap = false;
  device.ops = {OpId::kTanh, OpId::kNeg};
  auto session = open(*chain.l.program, chain.options(device));
  const std::string no = ":cpu:no kernel for this step", dear = ":cpu:its copies cost more";
  EXPECT_THAT(places(*session), ElementsAre("relu" + no, "tanh" + dear, "neg" + dear, "exp" + no));
  EXPECT_THAT(device.seen, ElementsAre(2u));
  ASSERT_TRUE(chain.run(*session).ok());
  EXPECT_EQ(chain.values(), want);
  device.ops.clear();  // it takes all of the program: nothing is asked
  session = open(*chain.l.program, chain.options(device));
  EXPECT_THAT(places(*session), ElementsAre("relu:test", "tanh:test", "neg:test", "exp:test"));
  EXPECT_EQ(device.seen.size(), 1u);

  // Kernels that the session does not have.
  static const KernelSet none = {"none", {}};
  static const KernelSet* const nothing[] = {&none};
  SessionOptions options = chain.options(device);
  options.kernels = nothing;
  session = open(*chain.l.program, options);
  EXPECT_THAT(places(*session), ElementsAre("relu:test", "tanh:test", "neg:test", "exp:test"));
  device.ops.clear();
  ProgramBuilder turned;
  auto x = turned.value("x", DType::kF32, {4}), y = turned.value("y", DType::kF32, {2, 2});
  auto to = turned.constant<int64_t>("to", {2}, {2, 2});
  turned.node(OpId::kReshape, {x, to}, {y}, ReshapeAttrs{}, "turn");
  turned.entry("main", {x}, {y});
  auto view = load(turned.finish());
  EXPECT_THAT(places(*open(*view.program, options)), ElementsAre("turn:test"));
  device.ops = {OpId::kTanh};
  const Status s = Session::create(*chain.l.program, options).status();
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_STREQ(
      s.message(),
      "3 steps have no kernel: Relu of float32 (node relu), Neg of float32 (node neg), Exp "
      "of float32 (node exp)");
}

// A step that only the device can run goes there whatever it costs; so does a program all of whose
// float steps the device can run.
TEST(Device, TakesWhatNobodyElseCan) {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4}), a = p.value("a", DType::kF32, {4}),
       b = p.value("b", DType::kI32, {4}), n = p.value("n", DType::kI32, {4}),
       y = p.value("y", DType::kI32, {4}), z = p.value("z", DType::kF32, {2, 2});
  auto most = p.constant<int32_t>("most", {}, {9});
  auto to = p.constant<int64_t>("to", {2}, {2, 2});
  p.node(OpId::kRelu, {x}, {a}, NoAttrs{}, "relu");
  p.node(OpId::kCast, {a}, {b}, CastAttrs{static_cast<int64_t>(DType::kI32)}, "cast");
  p.node(OpId::kNeg, {b}, {n}, NoAttrs{}, "neg");
  p.node(OpId::kClip, {n, kNoIndex, most}, {y}, NoAttrs{}, "clip");
  p.node(OpId::kReshape, {a, to}, {z}, ReshapeAttrs{}, "turn");
  p.entry("main", {x}, {y, z});
  auto l = load(p.finish());
  TestDevice device;
  device.cheap = false;
  device.ops = {OpId::kRelu, OpId::kCast, OpId::kReshape};
  SessionOptions options;
  options.threads = 1;
  options.backend = &device;
  auto session = open(*l.program, options);
  const std::string no = ":cpu:no kernel for this step";
  EXPECT_THAT(places(*session),
              ElementsAre("relu:test", "cast:test", "neg" + no, "clip" + no, "turn:test"));
  EXPECT_TRUE(device.seen.empty()) << "integers alone are left here";
  float data[4] = {-1, 2, 3, 4};
  TensorView in(data, DType::kF32, {4}), out[2];
  ASSERT_TRUE(session->run(Span<const TensorView>(&in, 1), out).ok());
  EXPECT_EQ(out[0].as<int32_t>()[3], -4);
  EXPECT_EQ(out[1].as<float>()[0], 0);
  EXPECT_EQ(out[1].as<float>()[3], 4);

  // Here neg has no kernel but the device's.
  std::vector<KernelEntry> kept;
  for (const KernelEntry& e : kReferenceKernels.entries) {
    if (e.op != OpId::kCast) kept.push_back(e);
  }
  const KernelSet some = {"some", kept};
  const KernelSet* const sets[] = {&some};
  options.kernels = sets;
  device.ops = {OpId::kCast, OpId::kReshape, OpId::kNeg, OpId::kClip};
  session = open(*l.program, options);
  EXPECT_THAT(places(*session),
              ElementsAre("relu" + no, "cast:test", "neg:test", "clip:test", "turn:test"));
}

// Stages, branches and loops each have parts on it.
TEST(Device, RunsPartsOfStages) {
  for (bool loop : {false, true}) {
    auto l = load(loop ? test::growing_loop() : test::branches());
    int64_t trips = 3;
    uint8_t go = 1;
    float row[2] = {1, 0}, more[2] = {3, 4};
    std::vector<TensorView> in;
    if (loop) {
      in = {TensorView(&trips, DType::kI64, {}), TensorView(&go, DType::kBool, {}),
            TensorView(row, DType::kF32, {1, 2}), TensorView(more, DType::kF32, {1, 2})};
    } else {
      in = {TensorView(&go, DType::kBool, {1}), TensorView(row, DType::kF32, {2})};
    }
    std::vector<float> all[3];
    for (int with : {0, 1, 2}) {  // the CPU alone, a device, a device that is lost in the loop
      TestDevice device;
      SessionOptions options;
      options.threads = 1;
      options.kernels = kReference;
      if (with != 0) options.backend = &device;
      if (with == 2) device.at_run = Status(Code::kDevice, "the device is lost");
      auto session = open(*l.program, options);
      std::vector<TensorView> out(session->output_count());
      const Status s = session->run(in, {out.data(), out.size()});
      ASSERT_TRUE(s.ok()) << s.message();
      for (const TensorView& v : out)
        all[with].insert(all[with].end(), v.as<float>(), v.as<float>() + v.numel());
      if (with == 1) {
        EXPECT_GT(device.ran, 1);
        EXPECT_GT(places(*session).size(), 3u);
      }
      const std::string left = session->left_backend();
      EXPECT_EQ(left.empty(), with != 2);
      if (with == 2) {
        EXPECT_THAT(left, ::testing::EndsWith(": the device is lost"));
      }
    }
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0], all[2]);
  }
}

// Wherever the device fails, the call is begun again on the CPU and right; other errors are the
// caller's.
TEST(Device, FailuresAreLeftBehind) {
  Chain chain;
  const auto want = chain.want();
  enum Where { kAsked, kCompile, kRun, kStart, kFinish };
  for (Where where : {kAsked, kCompile, kRun, kStart, kFinish}) {
    for (Code code : {Code::kDevice, Code::kOutOfMemory, Code::kUnsupported}) {
      SCOPED_TRACE(where);
      SCOPED_TRACE(code_name(code));
      if (where == kAsked && code != Code::kDevice) continue;  // it answers, then
      TestDevice device;
      const Status failed(code, "it failed");
      device.lost_when_asked = where == kAsked;
      if (where == kCompile) device.at_compile = failed;
      if (where == kRun) device.at_run = failed;
      if (where == kStart) device.at_start = failed;
      if (where == kFinish) device.at_finish = failed;
      const bool left = code != Code::kUnsupported;
      auto made = Session::create(*chain.l.program, chain.options(device));
      if (where == kCompile && !left) {
        EXPECT_EQ(made.status().code(), code);
        continue;
      }
      ASSERT_TRUE(made.ok()) << made.status().message();
      Session& session = **made;
      Status s;
      if (where == kStart || where == kFinish) {
        chain.clear();
        s = session.start(Span<const TensorView>(&chain.in, 1));
        if (s.ok()) s = session.finish(chain.out);
      } else {
        s = chain.run(session);
      }
      EXPECT_EQ(s.code(), left ? Code::kOk : code) << s.message();
      if (!left) continue;
      EXPECT_EQ(chain.values(), want);
      EXPECT_STREQ(session.left_backend(), where == kAsked ? "the device is lost" : "it failed");
      EXPECT_EQ(device.alive, 0);
      EXPECT_THAT(places(session)[0], HasSubstr("relu:cpu:"));
      ASSERT_TRUE(chain.run(session).ok());
      EXPECT_EQ(chain.values(), want);
    }
  }
}

// Rows are written into a state in the host's memory; the device reads it from there. Where it
// fails after that, the run starts again from the state as it was.
TEST(Device, StatesStayOnTheHost) {
  for (const bool fails : {false, true}) {
    for (const bool copied : {false, true}) {
      auto l = load(test::rows_program(copied));
      TestDevice device;
      SessionOptions options;
      options.threads = 1;
      options.backend = &device;
      options.kernels = kReference;
      auto session = open(*l.program, options);
      const DimBinding dim{"n", 2};
      RecurrentStateOptions of_state;
      of_state.dims = {&dim, 1};
      auto state = RecurrentState::create(*l.program, {}, of_state);
      ASSERT_TRUE(state.ok()) << state.status().message();
      RunOptions run;
      run.state = state->get();
      for (int step = 1; step <= 3; ++step) {
        if (fails && step == 2) device.at_run = Status(Code::kDevice, "it failed");
        float x[2] = {1, 10};
        const TensorView in(x, DType::kF32, {1, 2});
        TensorView out[2];
        const Status s = session->run({&in, 1}, {out, copied ? 2u : 1u}, run);
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_EQ(out[0].as<float>()[1], static_cast<float>(10 * step));
        const auto* rows = (*state)->value(0).as<float>();
        for (int r = 0; r < 4; ++r) EXPECT_EQ(rows[2 * r], r < step ? 1.0f : 0.0f) << step;
      }
      EXPECT_GT(device.ran, 0);
      EXPECT_STREQ(session->left_backend(), fails ? "it failed" : "");
    }
  }
}

TEST(Device, StartsTheLastPartOnly) {
  Chain chain;
  const auto want = chain.want();
  for (bool whole : {true, false}) {
    TestDevice device;
    if (!whole) device.ops = {OpId::kRelu, OpId::kNeg, OpId::kExp};
    auto session = open(*chain.l.program, chain.options(device));
    EXPECT_STREQ(session->finish(chain.out).message(), "no run was started");
    ASSERT_TRUE(session->start(Span<const TensorView>(&chain.in, 1)).ok());
    EXPECT_EQ(device.ran, whole ? 0 : 1);
    EXPECT_EQ(session->start(Span<const TensorView>(&chain.in, 1)).code(), Code::kInvalidArgument);
    TensorView one;
    EXPECT_THAT(session->finish(Span<TensorView>(&one, 1)).message(),
                HasSubstr("1 outputs given, the program has 2: y, b"));
    chain.clear();
    ASSERT_TRUE(session->finish(chain.out).ok());
    EXPECT_EQ(device.finished, 1);
    EXPECT_EQ(chain.values(), want);
  }
}

TEST(Device, ItsScratchIsWithinTheBudget) {
  Chain chain;
  TestDevice device;
  device.scratch = SIZE_MAX / 4 + 1;
  Status s = Session::create(*chain.l.program, chain.options(device)).status();
  EXPECT_EQ(s.code(), Code::kBudgetExceeded);
  EXPECT_THAT(s.message(), HasSubstr("bytes to work in"));
  device.scratch = 1 << 20;
  SessionOptions options = chain.options(device);
  options.max_ram = 1 << 20;
  EXPECT_EQ(Session::create(*chain.l.program, options).status().code(), Code::kBudgetExceeded);
  EXPECT_EQ(device.alive, 0);
}

// Each allocation of a session with a device, and each budget.
TEST(Device, MemoryThatIsNotThere) {
  for (int before = 0; before < 24; ++before) {
    Chain chain(before);
    const auto want = chain.want();
    for (bool dear : {false, true}) {
      for (int64_t n = 0; before % 8 == 0; ++n) {
        TestDevice device;
        device.ops = {OpId::kTanh, OpId::kExp, OpId::kClip};
        device.cheap = !dear;
        test::CountingAllocator allocator(n);
        SessionOptions options = chain.options(device);
        options.allocator = &allocator;
        auto made = Session::create(*chain.l.program, options);
        Status s = made.status();
        if (made.ok()) {
          s = chain.run(**made);
          if (s.ok()) {
            EXPECT_EQ(chain.values(), want);
          }
          { Owned<Session> gone = std::move(*made); }
        }
        EXPECT_EQ(allocator.alive, 0) << n;
        EXPECT_EQ(device.alive, 0) << n;
        if (allocator.calls <= n) break;  // it did not come to that one
        EXPECT_TRUE(s.ok() || s.code() == Code::kOutOfMemory) << n << ": " << s.message();
      }

      uint64_t most = 64;
      for (;; most += 16) {
        TestDevice device;
        device.ops = {OpId::kTanh, OpId::kExp, OpId::kClip};
        device.cheap = !dear;
        SessionOptions options = chain.options(device);
        options.max_ram = most;
        const Status s = Session::create(*chain.l.program, options).status();
        EXPECT_EQ(device.alive, 0);
        if (s.ok()) break;
        ASSERT_EQ(s.code(), Code::kBudgetExceeded) << s.message();
      }
      EXPECT_GT(most, 500u);
    }
  }
}

}  // namespace
}  // namespace wick
