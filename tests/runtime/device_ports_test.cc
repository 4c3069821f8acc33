// Inputs and outputs that are tensors on a device: which of them stay there, and what happens where
// the device fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/session_pool.h"
#include "tests/runtime/test_device.h"

namespace wick {
namespace {

using test::Chain;
using test::kReference;
using test::load;
using test::open;
using test::TestDevice;
using ::testing::HasSubstr;

Owned<DeviceTensor> tensor(TestDevice& device, DType dtype = DType::kF32,
                           const Shape& shape = {4}) {
  return std::move(*device.create_tensor(dtype, shape));
}
std::vector<float> content(const Owned<DeviceTensor>& t) {
  std::vector<float> v(t->nbytes() / sizeof(float));
  memcpy(v.data(), static_cast<TestDevice::Tensor&>(*t).bytes.data(), t->nbytes());
  return v;
}

struct Ports {
  Ports(Chain& chain, TestDevice& device)
      : x(tensor(device)), y(tensor(device)), b(tensor(device)) {
    memcpy(static_cast<TestDevice::Tensor&>(*x).bytes.data(), chain.x, sizeof(chain.x));
    ins[0] = x.get();
    outs[0] = y.get();
    outs[1] = b.get();
  }
  RunOptions options() const { return {.device_inputs = ins, .device_outputs = outs}; }
  std::vector<float> values() const {
    std::vector<float> all = content(y);
    for (float v : content(b)) all.push_back(v);
    return all;
  }
  Owned<DeviceTensor> x, y, b;
  DeviceTensor *ins[1], *outs[2];
};

// y = exp(neg(b)), b = tanh(relu(x)): only values that the device alone reads or makes stay there.
TEST(DevicePorts, StayWhereTheDeviceAloneUsesThem) {
  Chain chain;
  const auto want = chain.want();
  struct Form {
    std::set<OpId> ops;
    int read, written;
  };
  for (const Form& form : {Form{{}, 0, 0}, Form{{OpId::kRelu, OpId::kTanh}, 0, 2},
                           Form{{OpId::kNeg, OpId::kExp}, 1, 1}, Form{{OpId::kConv}, 1, 2}}) {
    TestDevice device;
    device.ops = form.ops;
    auto session = open(*chain.l.program, chain.options(device));
    const Ports ports(chain, device);
    const TensorView in[1] = {};
    TensorView out[2] = {};
    for (bool halves : {false, true}) {
      device.read = device.written = 0;
      for (const auto& t : {ports.y.get(), ports.b.get()})
        memset(static_cast<TestDevice::Tensor&>(*t).bytes.data(), 0, 16);
      const Status s =
          halves ? session->start(in, ports.options()) : session->run(in, out, ports.options());
      ASSERT_TRUE(s.ok()) << s.message();
      if (halves) {
        ASSERT_TRUE(session->finish(out).ok());
      }
      EXPECT_EQ(ports.values(), want);
      EXPECT_EQ(device.read, form.read);
      EXPECT_EQ(device.written, form.written);
      EXPECT_EQ(out[0].data, nullptr);
    }
    ASSERT_TRUE(chain.run(*session).ok());
    EXPECT_EQ(chain.values(), want) << "the host's again";
  }
}

// What the caller gives for such an output beside it is not looked at, whatever its form.
TEST(DevicePorts, ABufferBesideATensorIsLeftAlone) {
  Chain chain;
  const auto want = chain.want();
  TestDevice device;
  auto session = open(*chain.l.program, chain.options(device));
  const Ports ports(chain, device);
  const TensorView in[1] = {};
  int8_t other[3] = {1, 2, 3};
  TensorView out[2] = {TensorView(other, DType::kI8, {3}), TensorView()};
  const Status s = session->run(in, out, ports.options());
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(ports.values(), want);
  EXPECT_EQ(out[0].data, other);
  EXPECT_EQ(other[1], 2);
}

// The call is repeated on the CPU with what the device still has.
TEST(DevicePorts, AFailureIsRepeatedWithTheirContent) {
  Chain chain;
  const auto want = chain.want();
  enum Where { kCompile, kRun, kStart, kFinish };
  for (Where where : {kCompile, kRun, kStart, kFinish}) {
    SCOPED_TRACE(where);
    TestDevice device;
    const Status failed(Code::kOutOfMemory, "it failed");
    if (where == kCompile) device.at_compile = failed;
    if (where == kRun) device.at_run = failed;
    if (where == kStart) device.at_start = failed;
    if (where == kFinish) device.at_finish = failed;
    auto session = open(*chain.l.program, chain.options(device));
    const Ports ports(chain, device);
    const TensorView in[1] = {};
    TensorView out[2] = {};
    Status s;
    if (where == kStart || where == kFinish) {
      s = session->start(in, ports.options());
      if (s.ok()) s = session->finish(out);
    } else {
      s = session->run(in, out, ports.options());
    }
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(ports.values(), want);
    EXPECT_EQ(device.read, 1);
    EXPECT_EQ(device.written, 2);
    EXPECT_STREQ(session->left_backend(), "it failed");
  }
}

// Without memory for the copy the run fails, and the device, which is healthy, is kept.
TEST(DevicePorts, ATransferWithoutMemoryKeepsTheDevice) {
  Chain chain;
  const auto want = chain.want();
  for (bool reads : {false, true}) {
    for (bool halves : {false, true}) {
      SCOPED_TRACE(reads ? "an input" : "an output");
      TestDevice device;
      device.ops =
          reads ? std::set<OpId>{OpId::kNeg, OpId::kExp} : std::set<OpId>{OpId::kRelu, OpId::kTanh};
      auto session = open(*chain.l.program, chain.options(device));
      const Ports ports(chain, device);
      const TensorView in[1] = {};
      TensorView out[2] = {};
      const auto run = [&]() -> Status {
        if (!halves) return session->run(in, out, ports.options());
        WICK_TRY(session->start(in, ports.options()));
        return session->finish(out);
      };
      device.at_transfer = Status(Code::kOutOfMemory, "no room for the copy");
      device.transfers = 1;
      const Status s = run();
      EXPECT_EQ(s.code(), Code::kOutOfMemory);
      EXPECT_THAT(s.message(), HasSubstr(reads ? "input x: no room" : "output y: no room"));
      EXPECT_STREQ(session->left_backend(), "");
      const int before = device.ran;
      ASSERT_TRUE(run().ok());
      EXPECT_EQ(device.ran, before + 1) << "the device runs the next one";
      EXPECT_EQ(ports.values(), want);
    }
  }
}

TEST(DevicePorts, WhatIsLostWithTheDeviceIsAnError) {
  Chain chain;
  TestDevice device;
  auto session = open(*chain.l.program, chain.options(device));
  const Ports ports(chain, device);
  const TensorView in[1] = {};
  TensorView out[2] = {};
  device.at_run = device.at_transfer = Status(Code::kDevice, "unplugged");
  Status s = session->run(in, out, ports.options());
  EXPECT_EQ(s.code(), Code::kDevice);
  EXPECT_STREQ(s.message(), "input x: unplugged");
  s = session->run({&chain.in, 1}, out, {.device_outputs = ports.outs});
  EXPECT_EQ(s.code(), Code::kDevice);
  EXPECT_STREQ(s.message(), "output y: unplugged");
  EXPECT_TRUE(chain.run(*session).ok());
}

// n = x + h, which is the state h afterwards; c = -x; y = c h. The device has the first node and
// the last one, and the CPU the one between them.
struct Update {
  Update() : l(load(file())), h(tensor(device)), y(tensor(device)) {
    device.ops = {OpId::kAdd, OpId::kMul};
    session = open(*l.program, {.threads = 1, .kernels = kReference, .backend = &device});
    ins[1] = outs[0] = h.get();
    set(h, 2);
  }
  static std::vector<uint8_t> file() {
    test::ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {4}), h = p.value("h", DType::kF32, {4}),
         n = p.value("n", DType::kF32, {4}), c = p.value("c", DType::kF32, {4}),
         y = p.value("y", DType::kF32, {4});
    p.node(OpId::kAdd, {x, h}, {n}, NoAttrs{}, "add");
    p.node(OpId::kNeg, {x}, {c}, NoAttrs{}, "neg");
    p.node(OpId::kMul, {c, h}, {y}, NoAttrs{}, "mul");
    p.entry("main", {x, h}, {n, y});
    return p.finish();
  }
  static void set(const Owned<DeviceTensor>& t, float value) {
    const std::vector<float> all(4, value);
    memcpy(static_cast<TestDevice::Tensor&>(*t).bytes.data(), all.data(), t->nbytes());
  }
  // A step with x = 10, from h = 2: 12 and -20.
  Status step(bool halves = false) {
    const TensorView in[] = {TensorView(x, DType::kF32, {4}), TensorView()};
    const RunOptions options = {.device_inputs = ins, .device_outputs = outs};
    out[0] = out[1] = TensorView();
    if (!halves) return session->run(in, out, options);
    WICK_TRY(session->start(in, options));
    return session->finish(out);
  }
  TestDevice device;
  test::Loaded l;
  Owned<Session> session;
  Owned<DeviceTensor> h, y;
  DeviceTensor *ins[2] = {}, *outs[2] = {};
  float x[4] = {10, 10, 10, 10};
  TensorView out[2];
};

// A part of the device that comes later reads the state as it was when the run began.
TEST(DevicePorts, AStateIsReadByEveryPartBeforeItIsWritten) {
  for (bool halves : {false, true}) {
    Update m;
    const Status s = m.step(halves);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(std::vector<float>(m.out[1].as<float>(), m.out[1].as<float>() + 4),
              std::vector<float>(4, -20));
    EXPECT_EQ(content(m.h), std::vector<float>(4, 12));
    EXPECT_STREQ(m.session->left_backend(), "");
  }
}

// A run that is repeated on the CPU does not begin from its own result.
TEST(DevicePorts, AFailureBehindTheFirstPartDoesNotStepTwice) {
  Update m;
  m.device.at_run = Status(Code::kOutOfMemory, "it failed");
  m.device.fine = 1;
  const Status s = m.step();
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ(m.session->left_backend(), "it failed");
  EXPECT_EQ(content(m.h), std::vector<float>(4, 12));
  EXPECT_EQ(*m.out[1].as<float>(), -20);
}

// The state stayed on the device and has its new value: the run is over, whatever else fails.
TEST(DevicePorts, AFailureBehindTheLastPartIsNotRepeated) {
  Chain chain;  // the CPU makes b, which passes through the host; x and y are the state
  for (Code code : {Code::kOutOfMemory, Code::kDevice}) {
    TestDevice device;
    device.ops = {OpId::kRelu, OpId::kNeg, OpId::kExp};
    auto session = open(*chain.l.program, chain.options(device));
    const auto state = tensor(device), b = tensor(device);
    DeviceTensor *ins[] = {state.get()}, *outs[] = {state.get(), b.get()};
    device.at_transfer = Status(code, "no staging memory");
    device.transfers = 1;
    const TensorView in[1] = {};
    TensorView out[2] = {};
    const Status s = session->run(in, out, {.device_inputs = ins, .device_outputs = outs});
    EXPECT_EQ(s.code(), code);
    EXPECT_STREQ(s.message(),
                 "after an input on the device was overwritten: output b: no staging memory");
    EXPECT_EQ(content(state), std::vector<float>(4, 1)) << "one step from 0, not two";
    EXPECT_STREQ(session->left_backend(),
                 code == Code::kDevice ? "output b: no staging memory" : "");
  }
}

// A loop and a branch read their inputs on the host.
TEST(DevicePorts, RegionsReadThroughTheHost) {
  const auto l = load(test::branches());
  TestDevice device;
  SessionOptions o;
  o.threads = 1;
  o.backend = &device;
  o.kernels = kReference;
  auto session = open(*l.program, o);
  ASSERT_EQ(session->input(0).dtype, DType::kBool);
  for (bool taken : {true, false}) {
    bool condition = taken;
    float x[2] = {1, 2};
    const size_t n = session->input_count();
    std::vector<TensorView> in(n), out(session->output_count()), plain(session->output_count());
    in[0] = TensorView(&condition, DType::kBool, {1});
    for (size_t i = 1; i < n; ++i) in[i] = TensorView(x, DType::kF32, {2});
    Status s = session->run(in, plain);
    ASSERT_TRUE(s.ok()) << s.message();
    const std::vector<float> want(plain[0].as<float>(), plain[0].as<float>() + plain[0].numel());
    auto t = tensor(device, DType::kF32, {2});
    memcpy(static_cast<TestDevice::Tensor&>(*t).bytes.data(), x, sizeof(x));
    DeviceTensor* ports[] = {nullptr, t.get()};
    in[1] = TensorView();
    s = session->run(in, out, {.device_inputs = ports});
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(std::vector<float>(out[0].as<float>(), out[0].as<float>() + out[0].numel()), want);
  }
}

TEST(DevicePorts, WhatDoesNotFitIsRefused) {
  Chain chain;
  TestDevice device, other;
  auto session = open(*chain.l.program, chain.options(device));
  const Ports ports(chain, device);
  const auto strange = tensor(other), wide = tensor(device, DType::kF32, {5}),
             whole = tensor(device, DType::kI32);
  TensorView out[2] = {};
  auto refused = [&](Code code, const char* text, std::vector<DeviceTensor*> ins,
                     std::vector<DeviceTensor*> outs) {
    const RunOptions options = {.device_inputs = ins, .device_outputs = outs};
    for (const bool halves : {false, true}) {
      const Status s = halves ? session->start({&chain.in, 1}, options)
                              : session->run({&chain.in, 1}, out, options);
      EXPECT_EQ(s.code(), code) << halves;
      EXPECT_THAT(s.message(), HasSubstr(text)) << halves;
    }
    EXPECT_EQ(session->finish(out).code(), Code::kInvalidArgument) << "nothing was started";
  };
  refused(Code::kInvalidArgument, "input x: its tensor is on another device", {strange.get()}, {});
  refused(Code::kInvalidArgument, "output b: its tensor is on another device", {},
          {nullptr, strange.get()});
  refused(Code::kInvalidArgument, "2 device inputs given, the program has 1", {nullptr, nullptr},
          {});
  refused(Code::kInvalidArgument, "outputs y and b have the same device tensor", {},
          {ports.y.get(), ports.y.get()});
  refused(Code::kShapeMismatch, "input x: dimension 0 of [5] should be 4", {wide.get()}, {});
  refused(Code::kTypeMismatch, "input x is int32", {whole.get()}, {});
  refused(Code::kShapeMismatch, "output y has shape [4], its tensor on the device [5]", {},
          {wide.get()});
  refused(Code::kTypeMismatch, "output b is float32, its tensor on the device int32", {},
          {nullptr, whole.get()});
  EXPECT_TRUE(chain.run(*session).ok());
  SessionOptions o;
  o.threads = 1;
  auto plain = open(*chain.l.program, o);
  EXPECT_THAT(plain->run({&chain.in, 1}, out, ports.options()).message(),
              HasSubstr("the session has no device"));
}

// Where only the run tells the shapes, start() has run it, and refuses what does not fit.
TEST(DevicePorts, StartRefusesWhatTheRunDoesNotMake) {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4});
  auto y = p.value("y", DType::kI64, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kNonZero, {x}, {y}, NoAttrs{}, "nonzero");
  p.entry("main", {x}, {y});
  const auto l = load(p.finish());
  TestDevice device;
  auto session = open(*l.program, {.threads = 1, .backend = &device});
  float values[] = {0, 3, 0, 5};
  const TensorView in(values, DType::kF32, {4});
  TensorView out[1] = {};
  const auto four = tensor(device, DType::kI64, {1, 4}), two = tensor(device, DType::kI64, {1, 2});
  DeviceTensor *wrong[] = {four.get()}, *right[] = {two.get()};
  const Status s = session->start({&in, 1}, {.device_outputs = wrong});
  EXPECT_EQ(s.code(), Code::kShapeMismatch);
  EXPECT_THAT(s.message(), HasSubstr("output y has shape [1,2], its tensor on the device [1,4]"));
  EXPECT_EQ(session->finish(out).code(), Code::kInvalidArgument) << "nothing was started";
  ASSERT_TRUE(session->start({&in, 1}, {.device_outputs = right}).ok());
  ASSERT_TRUE(session->finish(out).ok());
  int64_t places[2] = {};
  ASSERT_TRUE(two->read({places, DType::kI64, {1, 2}}).ok());
  EXPECT_EQ(places[0], 1);
  EXPECT_EQ(places[1], 3);
}

// n = x + h becomes the state h, and y = -n.
std::vector<uint8_t> running_sum() {
  test::ProgramBuilder p;
  auto s = p.state("h", DType::kF32, {4}, kNoIndex);
  auto x = p.value("x", DType::kF32, {4}), h = p.value("h", DType::kF32, {4}, kNoIndex, s),
       n = p.value("n", DType::kF32, {4}), y = p.value("y", DType::kF32, {4});
  p.node(OpId::kAdd, {x, h}, {n}, NoAttrs{}, "add");
  p.node(OpId::kNeg, {n}, {y}, NoAttrs{}, "neg");
  p.state_update(s, n);
  p.entry("main", {x}, {n, y});
  return p.finish(kFeatureState);
}

// The state is in the host's memory: an output that becomes one passes through the host.
TEST(DevicePorts, WhatBecomesAStateIsReadByTheHost) {
  const auto l = load(running_sum());
  TestDevice device;
  auto session = open(*l.program, {.threads = 1, .kernels = kReference, .backend = &device});
  auto state = RecurrentState::create(*l.program);
  ASSERT_TRUE(state.ok()) << state.status().message();
  const auto n = tensor(device), y = tensor(device);
  DeviceTensor* outs[] = {n.get(), y.get()};
  float x[] = {1, 2, 3, 4};
  const TensorView in(x, DType::kF32, {4});
  TensorView out[2] = {};
  for (int step = 1; step <= 4; ++step) {
    const RunOptions options = {.state = state->get(), .device_outputs = outs};
    Status s =
        step % 2 != 0 ? session->run({&in, 1}, out, options) : session->start({&in, 1}, options);
    if (s.ok() && step % 2 == 0) s = session->finish(out);
    ASSERT_TRUE(s.ok()) << s.message();
    std::vector<float> sum, less;
    for (float v : x) {
      sum.push_back(v * static_cast<float>(step));
      less.push_back(-v * static_cast<float>(step));
    }
    const float* kept = (*state)->value(0).as<float>();
    EXPECT_EQ(std::vector<float>(kept, kept + 4), sum) << step;
    EXPECT_EQ(content(n), sum) << step;
    EXPECT_EQ(content(y), less) << step;
    EXPECT_EQ(device.written, step) << "only what becomes the state";
  }
}

// A port has one source: the state that links it, or a tensor on the device.
TEST(DevicePorts, APortThatTheStateLinksHasNoTensor) {
  Chain chain;
  TestDevice device;
  auto session = open(*chain.l.program, chain.options(device));
  const StateLink link = {"x", "b"};
  auto state = RecurrentState::create(*chain.l.program, {&link, 1});
  ASSERT_TRUE(state.ok()) << state.status().message();
  const Ports ports(chain, device);
  DeviceTensor *b[] = {nullptr, ports.b.get()}, *y[] = {ports.y.get()};
  TensorView out[1] = {};
  auto refused = [&](const char* text, RunOptions options) {
    options.state = state->get();
    for (const bool halves : {false, true}) {
      const Status s = halves ? session->start({}, options)
                              : session->run(Span<const TensorView>(), out, options);
      EXPECT_EQ(s.code(), Code::kInvalidArgument);
      EXPECT_THAT(s.message(), HasSubstr(text));
    }
  };
  refused("input x is linked by the state and has a tensor on the device as well",
          {.device_inputs = ports.ins});
  refused("output b is linked by the state and has a tensor on the device as well",
          {.device_outputs = b});
  const Status s =
      session->run(Span<const TensorView>(), out, {.state = state->get(), .device_outputs = y});
  EXPECT_TRUE(s.ok()) << "the state is free: " << s.message();
  EXPECT_EQ(content(ports.y), std::vector<float>(4, 1)) << "exp(-tanh(0))";
}

}  // namespace
}  // namespace wick
