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
    const Status s =
        session->run({&chain.in, 1}, out, {.device_inputs = ins, .device_outputs = outs});
    EXPECT_EQ(s.code(), code);
    EXPECT_THAT(s.message(), HasSubstr(text));
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

}  // namespace
}  // namespace wick
