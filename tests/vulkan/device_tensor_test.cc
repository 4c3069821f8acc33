// Tensors that stay on the device between runs: states, several sessions, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/device_tensor.h"
#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/exec/session_pool.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/fault.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;
using Tensor = Owned<DeviceTensor>;

// Counts what reaches the queue; loses the device when told to.
vulkan::Api real;
std::atomic<int> submissions{0};
std::atomic<bool> lose{false};
VkResult count_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (lose) return VK_ERROR_DEVICE_LOST;
  ++submissions;
  return real.QueueSubmit(queue, count, submits, fence);
}
void counted(vulkan::Api& api) {
  if (api.QueueSubmit == nullptr || api.QueueSubmit == count_submit) return;
  real = api;
  api.QueueSubmit = count_submit;
}

// x, h [4, 64] -> y = 2 h', h' = (x + h) / 2. Exact: the device has the CPU's bits.
std::vector<uint8_t> cell() {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4, 64}), h = p.value("h", DType::kF32, {4, 64}),
       s = p.value("s", DType::kF32, {4, 64}), n = p.value("n", DType::kF32, {4, 64}),
       y = p.value("y", DType::kF32, {4, 64});
  auto half = p.constant<float>("half", {}, {0.5f}), two = p.constant<float>("two", {}, {2});
  p.node(OpId::kAdd, {x, h}, {s});
  p.node(OpId::kMul, {s, half}, {n});
  p.node(OpId::kMul, {n, two}, {y});
  p.entry("main", {x, h}, {y, n});
  return p.finish();
}

// x [4, 64] -> a step of strings' kind for the device: Sinh of float64, which the CPU runs.
std::vector<uint8_t> partly_on_the_cpu() {
  ProgramBuilder p;
  auto x = p.value("x", DType::kF64, {4, 64}), s = p.value("s", DType::kF64, {4, 64}),
       y = p.value("y", DType::kF64, {4, 64});
  p.node(OpId::kSinh, {x}, {s}, NoAttrs{}, "sinh");
  p.node(OpId::kAdd, {s, s}, {y}, NoAttrs{}, "twice");
  p.entry("main", {x}, {y, s});
  return p.finish();
}

class VulkanDeviceTensors : public ::testing::Test {
 protected:
  void SetUp() override {
    WICK_NEED_DEVICE();
    lose = false;
    device = open();
    load(cell());
  }
  static Owned<VulkanBackend> open(bool staging = false) {
    VulkanOptions options;
    options.force_staging = staging;
    options.offload = VulkanOptions::Offload::kAllItCan;
    options.intercept = counted;
    auto backend = VulkanBackend::create(default_allocator(), options);
    EXPECT_TRUE(backend.ok()) << backend.status().message();
    return std::move(*backend);
  }
  void load(std::vector<uint8_t> file) {
    file_ = std::move(file);
    bytes_ = aligned_copy(file_);
    auto loaded = Program::load(Span<const uint8_t>(bytes_.get(), file_.size()));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    program = std::move(*loaded);
  }
  Owned<Session> session(Backend* on) {
    SessionOptions options;
    options.backend = on;
    options.threads = 1;
    auto made = Session::create(*program, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  Tensor tensor(DType dtype = DType::kF32, const Shape& shape = {4, 64}) {
    auto made = device->create_tensor(dtype, shape);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  static TensorView view(std::vector<float>& v) { return {v.data(), DType::kF32, {4, 64}}; }
  static std::vector<float> content(DeviceTensor& t) {
    std::vector<float> v(256, -7);
    const Status s = t.read(view(v));
    EXPECT_TRUE(s.ok()) << s.message();
    return v;
  }
  // Step k of a stream.
  static std::vector<float> step(int k) {
    std::vector<float> v(256);
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>((static_cast<int>(i) * 7 + k * 13) % 64);
    return v;
  }

  Owned<VulkanBackend> device;
  Owned<Program> program;

 private:
  std::vector<uint8_t> file_;
  AlignedBytes bytes_{nullptr, AlignedFree{0}};
};

// One tensor is the state's input and output. Each run is one submission: nothing of the state
// passes the host, which has no memory for it.
TEST_F(VulkanDeviceTensors, AStateStaysThere) {
  for (bool staging : {false, true}) {
    const Owned<VulkanBackend> own = open(staging);
    auto here = session(nullptr), there = session(own.get());
    auto made = own->create_tensor(DType::kF32, {4, 64});
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Tensor state = std::move(*made);
    DeviceTensor* ports[] = {nullptr, state.get()};
    std::vector<float> h(256, 0);
    for (int k = 0; k < 5; ++k) {
      std::vector<float> x = step(k), want_y(256), want_h(256), y(256);
      const TensorView in[] = {view(x), view(h)};
      TensorView want[] = {view(want_y), view(want_h)};
      ASSERT_TRUE(here->run(in, want).ok());
      h = want_h;
      const TensorView given[] = {view(x), TensorView()};
      TensorView got[] = {view(y), TensorView()};
      submissions = 0;
      const Status s =
          k % 2 == 0 ? there->run(given, got, {.device_inputs = ports, .device_outputs = ports})
                     : there->start(given, {.device_inputs = ports, .device_outputs = ports});
      ASSERT_TRUE(s.ok()) << s.message();
      if (k % 2 != 0) {
        ASSERT_TRUE(there->finish(got).ok());
      }
      EXPECT_EQ(submissions, 1);
      EXPECT_EQ(y, want_y) << k;
      EXPECT_EQ(got[1].data, nullptr) << "the host's entry is not touched";
    }
    EXPECT_EQ(content(*state), h);
    EXPECT_STREQ(there->left_backend(), "");
  }
}

// An LSTM whose two states stay on the device for a stream of steps, beside one on the CPU that
// gets its own back.
TEST_F(VulkanDeviceTensors, AnLstmKeepsBothOfItsStates) {
  ProgramBuilder p;
  constexpr int64_t kIn = 5, kHidden = 12, kBatch = 2;
  auto weights = [](size_t n) {
    std::vector<float> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>((i * 37 + 11) % 64) / 64 - 0.5f;
    return v;
  };
  auto x = p.value("x", DType::kF32, {1, kBatch, kIn}),
       h = p.value("h", DType::kF32, {1, kBatch, kHidden}),
       c = p.value("c", DType::kF32, {1, kBatch, kHidden}),
       y = p.value("y", DType::kF32, {1, 1, kBatch, kHidden}),
       hn = p.value("hn", DType::kF32, {1, kBatch, kHidden}),
       cn = p.value("cn", DType::kF32, {1, kBatch, kHidden});
  auto w = p.constant<float>("w", {1, 4 * kHidden, kIn}, weights(4 * kHidden * kIn)),
       r = p.constant<float>("r", {1, 4 * kHidden, kHidden}, weights(4 * kHidden * kHidden));
  p.node(OpId::kLSTM, {x, w, r, kNoIndex, kNoIndex, h, c}, {y, hn, cn}, RnnAttrs{}, "cell");
  p.entry("main", {x, h, c}, {y, hn, cn});
  load(p.finish());
  auto here = session(nullptr), there = session(device.get());
  const Shape state{1, kBatch, kHidden}, whole{1, 1, kBatch, kHidden};
  const Tensor ht = tensor(DType::kF32, state), ct = tensor(DType::kF32, state);
  DeviceTensor* ports[] = {nullptr, ht.get(), ct.get()};
  std::vector<float> hs(kBatch * kHidden), cs(kBatch * kHidden), want(kBatch * kHidden),
      got(kBatch * kHidden);
  for (int k = 0; k < 20; ++k) {
    std::vector<float> xs = weights(kBatch * kIn);
    for (float& v : xs) v *= static_cast<float>(k % 5);
    const TensorView xv(xs.data(), DType::kF32, {1, kBatch, kIn}),
        hv(hs.data(), DType::kF32, state), cv(cs.data(), DType::kF32, state);
    const TensorView in[] = {xv, hv, cv}, given[] = {xv, TensorView(), TensorView()};
    TensorView out[] = {TensorView(want.data(), DType::kF32, whole), hv, cv};
    TensorView made[] = {TensorView(got.data(), DType::kF32, whole), TensorView(), TensorView()};
    ASSERT_TRUE(here->run(in, out).ok());
    const Status s = there->run(given, made, {.device_inputs = ports, .device_outputs = ports});
    ASSERT_TRUE(s.ok()) << s.message();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << k << " " << i;
  }
  EXPECT_STREQ(there->left_backend(), "");
  ASSERT_TRUE(ct->read({got.data(), DType::kF32, state}).ok());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], cs[i], 1e-5) << i;
}

TEST_F(VulkanDeviceTensors, TensorsChangeFromRunToRun) {
  auto s = session(device.get());
  const Tensor one = tensor(), two = tensor();
  std::vector<float> x(256, 4), y(256), n(256), h(256, 8);
  const TensorView in[] = {view(x), view(h)};
  TensorView out[] = {view(y), view(n)};
  DeviceTensor *first[] = {nullptr, one.get()}, *second[] = {nullptr, two.get()};
  ASSERT_TRUE(s->run(in, out, {.device_outputs = first}).ok());
  EXPECT_EQ(content(*one), std::vector<float>(256, 6)) << "from the host's state";
  ASSERT_TRUE(s->run(in, out, {.device_inputs = first, .device_outputs = second}).ok());
  EXPECT_EQ(content(*two), std::vector<float>(256, 5));
  ASSERT_TRUE(s->run(in, out, {.device_inputs = second, .device_outputs = first}).ok());
  EXPECT_EQ(content(*one), std::vector<float>(256, 4.5f));
  EXPECT_EQ(content(*two), std::vector<float>(256, 5));
  ASSERT_TRUE(s->run(in, out).ok());
  EXPECT_EQ(n, std::vector<float>(256, 6)) << "the host's again";
  EXPECT_EQ(content(*one), std::vector<float>(256, 4.5f));
  DeviceTensor* outs[] = {one.get()};
  std::vector<float> in_two(256, 1);
  ASSERT_TRUE(two->write(view(in_two)).ok());
  ASSERT_TRUE(s->run(in, out, {.device_inputs = second, .device_outputs = outs}).ok());
  EXPECT_EQ(content(*one), std::vector<float>(256, 5));
  EXPECT_EQ(n, std::vector<float>(256, 2.5f)) << "an output of the host's beside one of the device";
}

// Steps on the CPU read and make these values: they pass through the host.
TEST_F(VulkanDeviceTensors, ValuesOfTheCpuPassThroughTheHost) {
  load(partly_on_the_cpu());
  auto s = session(device.get());
  const Tensor x = tensor(DType::kF64), y = tensor(DType::kF64), sinh = tensor(DType::kF64);
  std::vector<double> values(256), got(256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 64 - 2;
  ASSERT_TRUE(x->write({values.data(), DType::kF64, {4, 64}}).ok());
  DeviceTensor *ins[] = {x.get()}, *outs[] = {y.get(), sinh.get()};
  const TensorView in[1] = {};
  TensorView out[2] = {};
  const Status ran = s->run(in, out, {.device_inputs = ins, .device_outputs = outs});
  ASSERT_TRUE(ran.ok()) << ran.message();
  ASSERT_TRUE(y->read({got.data(), DType::kF64, {4, 64}}).ok());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], 2 * std::sinh(values[i]), 1e-9);
  ASSERT_TRUE(sinh->read({got.data(), DType::kF64, {4, 64}}).ok());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], std::sinh(values[i]), 1e-9);
}

TEST_F(VulkanDeviceTensors, WhatDoesNotFitIsRefused) {
  auto s = session(device.get());
  auto other_device = open();
  auto stranger = other_device->create_tensor(DType::kF32, {4, 64});
  ASSERT_TRUE(stranger.ok());
  const Tensor good = tensor(), small = tensor(DType::kF32, {4, 63}), bytes = tensor(DType::kU8);
  std::vector<float> x(256, 1), h(256, 1), y(256), n(256);
  const TensorView in[] = {view(x), view(h)};
  TensorView out[] = {view(y), view(n)};
  auto refused = [&](Code code, const char* text, std::vector<DeviceTensor*> ins,
                     std::vector<DeviceTensor*> outs, Session& session) {
    const Status r = session.run(in, out, {.device_inputs = ins, .device_outputs = outs});
    EXPECT_EQ(r.code(), code) << r.message();
    EXPECT_THAT(r.message(), HasSubstr(text));
    const Status t = session.start(in, {.device_inputs = ins, .device_outputs = outs});
    EXPECT_EQ(t.code(), code) << t.message();
    EXPECT_EQ(session.finish(out).code(), Code::kInvalidArgument) << "nothing was started";
  };
  refused(Code::kInvalidArgument, "input h: its tensor is on another device than the session's",
          {nullptr, stranger->get()}, {}, *s);
  refused(Code::kInvalidArgument, "output y: its tensor is on another device", {},
          {stranger->get()}, *s);
  refused(Code::kInvalidArgument, "3 device inputs given, the program has 2",
          {nullptr, nullptr, good.get()}, {}, *s);
  refused(Code::kInvalidArgument, "3 device outputs given", {}, {nullptr, nullptr, good.get()}, *s);
  refused(Code::kInvalidArgument, "outputs y and n have the same device tensor", {},
          {good.get(), good.get()}, *s);
  refused(Code::kShapeMismatch, "input h: dimension 1 of [4,63] should be 64",
          {nullptr, small.get()}, {}, *s);
  refused(Code::kTypeMismatch, "input h is uint8, the program takes float32",
          {nullptr, bytes.get()}, {}, *s);
  refused(Code::kShapeMismatch, "output y has shape [4,64], its tensor on the device [4,63]", {},
          {small.get()}, *s);
  refused(Code::kTypeMismatch, "output n is float32, its tensor on the device uint8", {},
          {nullptr, bytes.get()}, *s);
  auto on_the_cpu = session(nullptr);
  refused(Code::kInvalidArgument, "the session has no device", {good.get()}, {}, *on_the_cpu);
  const Status ran = s->run(in, out);
  EXPECT_TRUE(ran.ok()) << "nothing of this is left: " << ran.message();
  EXPECT_EQ(n, std::vector<float>(256, 1));
}

// What the session has checked, the graph checks again: a copy past a buffer's end is the driver's.
TEST_F(VulkanDeviceTensors, AGraphRefusesBuffersThatAreTooSmall) {
  vulkan::VulkanGraph graph(device->context(), default_allocator());
  auto x = graph.add_input(DType::kF32, {4, 64}), y = graph.add_temporary(DType::kF32, {4, 64});
  ASSERT_TRUE(x.ok() && y.ok());
  ASSERT_TRUE(graph.add_call(OpId::kNeg, nullptr, {&*x, 1}, {&*y, 1}).ok());
  ASSERT_TRUE(graph.add_output(*y).ok());
  ASSERT_TRUE(graph.finish().ok());
  const Tensor good = tensor(), small = tensor(DType::kF32, {4, 63});
  auto external = [](const Tensor& t) {
    const auto& own = static_cast<const vulkan::VulkanTensor&>(*t);
    return vulkan::VulkanGraph::External{&own.buffer(), own.number()};
  };
  const auto fits = external(good), short_one = external(small);
  EXPECT_EQ(graph.use({&short_one, 1}, {}).code(), Code::kInternal);
  EXPECT_EQ(graph.use({}, {&short_one, 1}).code(), Code::kInternal);
  std::vector<float> in(256, 3);
  ASSERT_TRUE(good->write(view(in)).ok());
  ASSERT_TRUE(graph.use({&fits, 1}, {&fits, 1}).ok());
  const void* from[] = {nullptr};
  void* to[] = {nullptr};
  ASSERT_TRUE(graph.run(from, to).ok());
  EXPECT_EQ(content(*good), std::vector<float>(256, -3));
}

TEST_F(VulkanDeviceTensors, TransfersAreChecked) {
  const Tensor t = tensor(), bools = tensor(DType::kBool, {3}), none = tensor(DType::kF32, {0, 4});
  EXPECT_EQ(content(*t), std::vector<float>(256, 0)) << "zeros at first";
  std::vector<float> v(256, 3);
  EXPECT_EQ(t->write({v.data(), DType::kF32, {256}}).code(), Code::kShapeMismatch);
  EXPECT_EQ(t->write({v.data(), DType::kI32, {4, 64}}).code(), Code::kTypeMismatch);
  EXPECT_EQ(t->write({nullptr, DType::kF32, {4, 64}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(t->read({v.data(), DType::kF32, {64, 4}, {1, 64}}).code(), Code::kShapeMismatch);
  uint8_t odd[] = {1, 0, 2}, even[] = {1, 0, 1}, got[3] = {};
  EXPECT_THAT(bools->write({odd, DType::kBool, {3}}).message(),
              HasSubstr("byte 2 of the bools is 2, not 0 or 1"));
  ASSERT_TRUE(bools->write({even, DType::kBool, {3}}).ok());
  ASSERT_TRUE(bools->read({got, DType::kBool, {3}}).ok());
  EXPECT_EQ(std::vector<uint8_t>(got, got + 3), std::vector<uint8_t>(even, even + 3));
  EXPECT_TRUE(none->read({nullptr, DType::kF32, {0, 4}}).ok());
  EXPECT_EQ(device->create_tensor(DType::kString, {2}).status().code(), Code::kTypeMismatch);
  EXPECT_EQ(device->create_tensor(DType::kF32, {int64_t{1} << 40}).status().code(),
            Code::kUnsupported);
  EXPECT_FALSE(device->create_tensor(DType::kF32, {-1}).ok());
  // More than one piece of a transfer.
  const Tensor large = tensor(DType::kI32, {5 << 20});
  std::vector<int32_t> numbers(5 << 20), back(5 << 20);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i * 2654435761u);
  ASSERT_TRUE(large->write({numbers.data(), DType::kI32, {5 << 20}}).ok());
  ASSERT_TRUE(large->read({back.data(), DType::kI32, {5 << 20}}).ok());
  EXPECT_EQ(numbers, back);
}

// The sessions, then the backend are gone; a run that was started and never finished goes on.
TEST_F(VulkanDeviceTensors, OutlivesSessionsAndTheBackend) {
  auto s = session(device.get());
  Tensor state = tensor(), unused = tensor();
  DeviceTensor *ports[] = {nullptr, state.get()}, *others[] = {nullptr, unused.get()};
  std::vector<float> x(256, 2), y(256);
  const TensorView in[] = {view(x), TensorView()};
  TensorView out[] = {view(y), TensorView()};
  ASSERT_TRUE(s->run(in, out, {.device_inputs = ports, .device_outputs = ports}).ok());
  ASSERT_TRUE(s->start(in, {.device_inputs = others, .device_outputs = others}).ok());
  unused.reset();  // waits for the run
  s.reset();
  device.reset();
  EXPECT_EQ(content(*state), std::vector<float>(256, 1));
}

// Each run reads and writes the whole state: whoever comes first, all runs are in it once.
TEST_F(VulkanDeviceTensors, SessionsInThreadsShareAState) {
  ProgramBuilder p;
  auto h = p.value("h", DType::kF32, {4, 64}), n = p.value("n", DType::kF32, {4, 64});
  auto one = p.constant<float>("one", {}, {1});
  p.node(OpId::kAdd, {h, one}, {n});
  p.entry("main", {h}, {n});
  load(p.finish());
  const Tensor state = tensor();
  constexpr int kThreads = 3, kRuns = 20;
  std::atomic<int> failed{0};
  std::vector<Owned<Session>> sessions;
  for (int t = 0; t < kThreads; ++t) sessions.push_back(session(device.get()));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      DeviceTensor* ports[] = {state.get()};
      const TensorView in[1] = {};
      TensorView out[1] = {};
      for (int k = 0; k < kRuns; ++k) {
        const Status ran = sessions[static_cast<size_t>(t)]->run(
            in, out, {.device_inputs = ports, .device_outputs = ports});
        failed += ran.ok() ? 0 : 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(content(*state), std::vector<float>(256, kThreads * kRuns));
}

TEST_F(VulkanDeviceTensors, PoolsAndRunsByNameTakeThem) {
  SessionPoolOptions options;
  options.session.backend = device.get();
  auto pool = SessionPool::create(*program, options);
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  const Tensor state = tensor();
  DeviceTensor* ports[] = {nullptr, state.get()};
  std::vector<float> x(256, 8), y(256);
  const TensorView in[] = {view(x), TensorView()};
  TensorView out[] = {view(y), TensorView()};
  ASSERT_TRUE((*pool)->run(in, out, {.device_inputs = ports, .device_outputs = ports}).ok());
  EXPECT_EQ(content(*state), std::vector<float>(256, 4));
  TensorView none[] = {view(y), TensorView()};
  EXPECT_THAT((*pool)->run(in, none, {.device_inputs = ports}).message(),
              HasSubstr("output n has no memory"));
  auto s = session(device.get());
  const NamedView named[] = {{"x", view(x)}};
  NamedView wanted[] = {{"y", view(y)}};
  const Status ran = s->run(Span<const NamedView>(named), Span<NamedView>(wanted),
                            {.device_inputs = ports, .device_outputs = ports});
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(y, std::vector<float>(256, 12));
  EXPECT_EQ(content(*state), std::vector<float>(256, 6));
  EXPECT_THAT(s->run(Span<const NamedView>(named), Span<NamedView>(wanted)).message(),
              HasSubstr("input h is missing"));
}

// The state is lost with its device: the run cannot be repeated on the CPU.
TEST_F(VulkanDeviceTensors, ALostDeviceIsAnError) {
  auto s = session(device.get());
  const Tensor state = tensor();
  DeviceTensor* ports[] = {nullptr, state.get()};
  std::vector<float> x(256, 8), y(256, -1);
  const TensorView in[] = {view(x), TensorView()};
  TensorView out[] = {view(y), TensorView()};
  lose = true;
  const Status ran = s->run(in, out, {.device_inputs = ports, .device_outputs = ports});
  lose = false;
  EXPECT_EQ(ran.code(), Code::kDevice);
  EXPECT_THAT(ran.message(), HasSubstr("input h: "));
  EXPECT_EQ(y[0], -1) << "outputs are as they were";
  std::vector<float> v(256);
  EXPECT_EQ(state->read(view(v)).code(), Code::kDevice);
}

// Every n-th call of Vulkan fails: a Status, or a state that is as it should be.
TEST_F(VulkanDeviceTensors, WhateverFails) {
  int right = 0, refused = 0;
  for (const VkResult error : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
    for (int64_t every = 1; every < 200; every += every < 60 ? 1 : 9) {
      VulkanOptions options;
      options.check_kernels = false;
      options.cache_folder = "";
      options.intercept = inject_faults;
      set_faults({});
      auto backend = VulkanBackend::create(default_allocator(), options);
      ASSERT_TRUE(backend.ok()) << backend.status().message();
      set_faults({every, error});
      std::vector<float> x(256, 2), y(256), h(256, -7);
      const Status done = [&]() -> Status {
        WICK_ASSIGN(const Tensor state, (*backend)->create_tensor(DType::kF32, {4, 64}));
        WICK_ASSIGN(auto s, Session::create(*program, {.threads = 1, .backend = backend->get()}));
        DeviceTensor* ports[] = {nullptr, state.get()};
        const TensorView in[] = {view(x), TensorView()};
        TensorView out[] = {view(y), TensorView()};
        WICK_TRY(s->run(in, out, {.device_inputs = ports, .device_outputs = ports}));
        EXPECT_EQ(y, std::vector<float>(256, 2)) << every;
        return state->read(view(h));
      }();
      set_faults({});
      if (done.ok()) {
        EXPECT_EQ(h, std::vector<float>(256, 1)) << every;
      }
      ++(done.ok() ? right : refused);
    }
  }
  EXPECT_GT(right, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace wick::test
