// The report of where a session runs its steps and why, of when the device pays, and a trace of a
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "runtime/backend/explain.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/offload.h"
#include "runtime/backend/vulkan/shaders/module_info.h"
#include "runtime/backend/vulkan/vk/timer.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Offload = VulkanOptions::Offload;

struct Told final : ExplainHook {
  struct Step {
    std::string op, backend, kernel, why;
    int64_t index;
  };
  struct Copy {
    std::string value, op;
    bool to_device;
    size_t bytes;
  };
  void on_step(const PlacedStep& s) override {
    steps.push_back({s.op, s.backend, s.kernel, s.why, s.index});
  }
  void on_kernel(const PlacedKernel& k) override { kernels.push_back(k); }
  void on_copy(const PlacedCopy& c) override {
    copies.push_back({c.value, c.op, c.to_device, c.type.nbytes()});
  }
  void on_part(const PlacedPart& p) override { parts.push_back(p); }
  const Step& step(const std::string& op) const {
    for (const Step& s : steps) {
      if (s.op == op) return s;
    }
    throw std::runtime_error("no " + op);
  }
  std::vector<Step> steps;
  std::vector<Copy> copies;
  std::vector<PlacedKernel> kernels;
  std::vector<PlacedPart> parts;
};

struct Event {
  std::string op, node, kernel, backend;
  int64_t index;
  uint64_t begin, end;
};
struct Heard final : TraceHook {
  void on_op(const TraceEvent& e) override {
    events.push_back({e.op, e.node, e.kernel, e.backend, e.index, e.begin_ns, e.end_ns});
  }
  std::vector<Event> events;
};

// A program of one input, bound and run on a device.
class Placed {
 public:
  Placed(std::vector<uint8_t> file, const VulkanOptions& options, const Shape& input,
         TraceHook* trace = nullptr)
      : bytes_(aligned_copy(file)), data_(static_cast<size_t>(numel(input)) + 1, 0.5f) {
    auto program = Program::load(Span<const uint8_t>(bytes_.get(), file.size()));
    if (!program.ok()) throw std::runtime_error(program.status().message());
    program_ = std::move(*program);
    auto backend = VulkanBackend::create(default_allocator(), options);
    if (!backend.ok()) throw std::runtime_error(backend.status().message());
    backend_ = std::move(*backend);
    SessionOptions o;
    o.backend = backend_.get();
    o.trace = trace;
    o.threads = 1;
    auto session = Session::create(*program_, o);
    if (!session.ok()) throw std::runtime_error(session.status().message());
    session_ = std::move(*session);
    in_ = TensorView(data_.data(), DType::kF32, input);
    run();
    Status s = session_->explain(told);
    EXPECT_TRUE(s.ok()) << s.message();
  }
  void run() {
    outputs.assign(session_->output_count(), TensorView());
    Status s = session_->run({&in_, 1}, outputs);
    EXPECT_TRUE(s.ok()) << s.message();
  }
  Told told;
  std::vector<TensorView> outputs;

 private:
  AlignedBytes bytes_;
  std::vector<float> data_;
  Owned<Program> program_;
  Owned<VulkanBackend> backend_;
  Owned<Session> session_;
  TensorView in_;
};

VulkanOptions with(Offload offload) {
  VulkanOptions o;
  o.offload = offload;
  o.cache_folder = "";
  return o;
}

// conv, relu | sinh of float64, which has no shader | flatten; where the casts run is the device's
// matter.
std::vector<uint8_t> mixed(int64_t size, int64_t channels) {
  ProgramBuilder p;
  const auto n = static_cast<size_t>(channels);
  auto x = p.value("x", DType::kF32, {1, channels, size, size});
  auto w = p.constant<float>("w", {channels, channels, 3, 3}, std::vector<float>(n * n * 9, 0.01f));
  auto h = p.value("h", DType::kF32, {1, channels, size, size});
  auto r = p.value("r", DType::kF32, {1, channels, size, size});
  auto s = p.value("s", DType::kF32, {1, channels, size, size});
  auto f = p.value("f", DType::kF32, {1, channels * size * size});
  ConvAttrs same;
  same.pads = {1, 1, 1, 1};
  p.node(OpId::kConv, {x, w}, {h}, same, "conv");
  p.node(OpId::kRelu, {h}, {r}, NoAttrs{}, "relu");
  auto wide = p.value("wide", DType::kF64, {1, channels, size, size}),
       sinh = p.value("sinh", DType::kF64, {1, channels, size, size});
  p.node(OpId::kCast, {r}, {wide}, CastAttrs{static_cast<int64_t>(DType::kF64)}, "widen");
  p.node(OpId::kSinh, {wide}, {sinh}, NoAttrs{}, "sinh");
  p.node(OpId::kCast, {sinh}, {s}, CastAttrs{static_cast<int64_t>(DType::kF32)}, "narrow");
  p.node(OpId::kFlatten, {s}, {f}, AxisAttrs{1}, "flatten");
  p.entry("main", {x}, {f});
  return p.finish();
}

TEST(VulkanExplain, StepsCopiesAndKernels) {
  WICK_NEED_DEVICE();
  Placed placed(mixed(8, 16), with(Offload::kAllItCan), {1, 16, 8, 8});
  const Told& t = placed.told;
  ASSERT_EQ(t.steps.size(), 6u);
  EXPECT_EQ(t.step("Conv").backend, "vulkan");
  EXPECT_EQ(t.step("Conv").why, "");
  EXPECT_EQ(t.step("Sinh").backend, "cpu");
  EXPECT_THAT(t.step("Sinh").why, StartsWith("no shader for this "));
  EXPECT_THAT(t.step("Sinh").kernel, StartsWith("sinh."));
  EXPECT_EQ(t.step("Flatten").backend, "vulkan");
  EXPECT_EQ(t.step("Flatten").index, 5);
  // x goes in, what Sinh's side reads comes out and what it makes goes in, f comes out.
  const size_t bytes = 16 * 8 * 8 * 4;
  ASSERT_EQ(t.copies.size(), 4u);
  EXPECT_EQ(t.copies[0].value, "x");
  EXPECT_EQ(t.copies[0].op, "");
  EXPECT_TRUE(t.copies[0].to_device);
  EXPECT_THAT(t.copies[1].op, AnyOf("Cast", "Sinh"));
  EXPECT_FALSE(t.copies[1].to_device);
  EXPECT_THAT(t.copies[2].op, AnyOf("Cast", "Sinh"));
  EXPECT_TRUE(t.copies[2].to_device);
  EXPECT_EQ(t.copies[3].op, "");
  EXPECT_EQ(t.copies[0].bytes, bytes);
  EXPECT_EQ(t.copies[3].bytes, bytes);
  ASSERT_EQ(t.parts.size(), 2u);
  ASSERT_EQ(t.kernels.size(), t.parts[0].kernels + t.parts[1].kernels);
  EXPECT_GE(t.parts[0].barriers, 1u) << "Relu reads what Conv wrote";
  // Conv: 9 products and sums of 16 channels an element; Relu: one.
  const uint64_t elements = 16 * 8 * 8;
  EXPECT_EQ(t.parts[0].flops, elements * 2 * 9 * 16 + elements);
  uint64_t written = 0;
  for (const PlacedKernel& k : t.kernels) {
    written += k.written_bytes;
    EXPECT_GE(k.group_size[0] * k.group_size[1] * k.group_size[2], 32u) << k.name;
    EXPECT_GE(k.groups[0], 1u);
  }
  EXPECT_EQ(written, t.parts[0].written_bytes + t.parts[1].written_bytes);
  EXPECT_GE(written, 2 * bytes);
  EXPECT_GE(t.parts[0].read_bytes, bytes + 16 * 16 * 9 * 4);
  EXPECT_GE(t.parts[0].constant_bytes, 16u * 16 * 9 * 4);
}

// Decisions made without a device in the session, and those of no run.
TEST(VulkanExplain, WithoutADeviceThereIsNoReason) {
  const auto file = mixed(4, 2);
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok());
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok()) << session.status().message();
  Told t;
  ASSERT_TRUE((*session)->explain(t).ok());
  ASSERT_EQ(t.steps.size(), 6u);
  for (const Told::Step& s : t.steps) {
    EXPECT_EQ(s.backend, "cpu");
    EXPECT_EQ(s.why, "");
    EXPECT_NE(s.kernel, "");
  }
  EXPECT_TRUE(t.copies.empty() && t.parts.empty());
}

// A few steps between others stay on the CPU, and say what their way would have cost; many go.
TEST(VulkanExplain, WhatDoesNotPayStaysOnTheCpu) {
  WICK_NEED_DEVICE();
  Placed small(mixed(8, 16), with(Offload::kWhatPays), {1, 16, 8, 8});
  EXPECT_EQ(small.told.parts.size(), 0u);
  EXPECT_EQ(small.told.step("Conv").backend, "cpu");
  EXPECT_THAT(small.told.step("Conv").why, StartsWith("it does not pay: "));
  EXPECT_EQ(small.told.step("Relu").why, small.told.step("Conv").why) << "they are one part";
  EXPECT_THAT(small.told.step("Flatten").why, StartsWith("it does not pay: "));
  Placed large(mixed(48, 64), with(Offload::kWhatPays), {1, 64, 48, 48});
  EXPECT_EQ(large.told.step("Conv").backend, "vulkan");
  EXPECT_EQ(large.told.step("Relu").backend, "vulkan");
  EXPECT_EQ(large.told.step("Sinh").backend, "cpu");
  EXPECT_EQ(large.told.step("Flatten").backend, "cpu") << "moves nothing: never worth a copy";
}

// The user's wish counts where the whole program can run there, however small it is.
TEST(VulkanExplain, AWholeProgramIsTheDevices) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4});
  auto y = p.value("y", DType::kF32, {4});
  p.node(OpId::kRelu, {x}, {y}, NoAttrs{}, "relu");
  p.entry("main", {x}, {y});
  Placed placed(p.finish(), with(Offload::kWhatPays), {4});
  ASSERT_EQ(placed.told.steps.size(), 1u);
  EXPECT_EQ(placed.told.steps[0].backend, "vulkan");
}

// An output that a part makes is copied out although the part reads it too.
TEST(VulkanExplain, AnOutputThatIsReadInsideIsCopied) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {4});
  auto n = p.value("n", DType::kF32, {4});
  auto y = p.value("y", DType::kF32, {4});
  p.node(OpId::kNeg, {x}, {n}, NoAttrs{}, "neg");
  p.node(OpId::kRelu, {n}, {y}, NoAttrs{}, "relu");
  p.entry("main", {x}, {n, y});
  Placed placed(p.finish(), with(Offload::kWhatPays), {4});
  ASSERT_EQ(placed.told.copies.size(), 3u);
  EXPECT_EQ(placed.told.copies[1].value, "n");
  EXPECT_EQ(placed.told.copies[2].value, "y");
  const TensorView n_out = placed.outputs[0];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(n_out.as<float>()[i], -0.5f);
}

// An element-wise step alone never pays, whatever its size; a product does from some size on.
TEST(VulkanExplain, TheRuleWeighsWorkAgainstCopies) {
  NoAttrs none;
  auto pays = [&](OpId op, const Shape& a, const Shape& b, const Shape& y) {
    PlanValue values[3];
    values[0].dtype = values[1].dtype = values[2].dtype = DType::kF32;
    values[0].shape = a;
    values[1].shape = b;
    values[2].shape = y;
    NodeDef node;
    node.op = op;
    node.attrs = &none;
    const uint32_t in[] = {0, 1}, out[] = {2};
    PlanStep step;
    step.node = &node;
    step.in = in;
    step.out = out;
    PartitionSpec spec;
    spec.values = values;
    spec.steps = {&step, 1};
    spec.inputs = in;
    spec.outputs = out;
    return vulkan::worth_copying(spec).ok();
  };
  for (int64_t n : {int64_t{1}, int64_t{1} << 12, int64_t{1} << 24, int64_t{1} << 28})
    EXPECT_FALSE(pays(OpId::kAdd, {n}, {n}, {n})) << n;
  EXPECT_FALSE(pays(OpId::kMatMul, {32, 32}, {32, 32}, {32, 32}));
  EXPECT_TRUE(pays(OpId::kMatMul, {512, 512}, {512, 512}, {512, 512}));
}

TEST(VulkanExplain, ReasonsAreTheRealOnes) {
  WICK_NEED_DEVICE();
  VulkanOptions options = with(Offload::kAllItCan);
  auto backend = VulkanBackend::create(default_allocator(), options);
  ASSERT_TRUE(backend.ok());
  NoAttrs none;
  auto why = [&](OpId op, DType t, const Shape& s) {
    const TensorView v(nullptr, t, s);
    return std::string((*backend)->why_not({op, &none, {&v, 1}, {&v, 1}, 1, nullptr}).message());
  };
  EXPECT_EQ(why(OpId::kRelu, DType::kF32, {2, 3}), "");
  EXPECT_EQ(why(OpId::kTfIdfVectorizer, DType::kF32, {2, 3}), "no shader for this op");
  EXPECT_THAT(why(OpId::kSinh, DType::kF64, {2, 3}), StartsWith("no shader for this "));
  EXPECT_NE(why(OpId::kRelu, DType::kF32, {int64_t{1} << 31}), "");
  // An order that a file chose.
  EpilogueAttrs attrs;
  const TensorView x(nullptr, DType::kF32, {64, 64}), in[] = {x, x};
  const auto linear = [&] {
    const Status s = (*backend)->why_not({OpId::kFusedLinear, &attrs, in, {&x, 1}, 1, nullptr});
    return std::string(s.message());
  };
  EXPECT_EQ(linear(), "");
  attrs.products = static_cast<int64_t>(Products::kBf16);
  EXPECT_THAT(linear(), StartsWith("products of bf16"));
}

// An event a kernel, in the order of execution, inside the run by the host's clock; what is left
// are copies and the wait.
TEST(VulkanTrace, AnEventADispatch) {
  WICK_NEED_DEVICE();
  for (bool staging : {false, true}) {
    VulkanOptions options = with(Offload::kAllItCan);
    options.force_staging = staging;
    Heard heard;
    Placed placed(mixed(24, 32), options, {1, 32, 24, 24}, &heard);
    heard.events.clear();
    const uint64_t begin = now_ns();
    placed.run();
    const uint64_t end = now_ns();
    std::vector<std::string> kernels;
    uint64_t before = begin, sum = 0;
    for (const Event& e : heard.events) {
      EXPECT_LE(before, e.begin) << e.op;
      EXPECT_LE(e.begin, e.end) << e.op;
      before = e.begin;
      sum += e.end - e.begin;
      if (e.backend == "vulkan" && !e.node.empty()) {
        kernels.push_back(e.node + ": " + e.kernel);
        EXPECT_TRUE(e.node != "conv" || e.index == 0);
        EXPECT_TRUE(e.node != "relu" || e.index == 1);
        EXPECT_GT(e.end, e.begin) << e.kernel;
      }
    }
    // The convolution has a hundred times the work of all else that the device does.
    auto longest = std::max_element(
        heard.events.begin(), heard.events.end(), [](const Event& a, const Event& b) {
          auto ns = [](const Event& e) {
            return e.backend != "vulkan" || e.node.empty() ? 0 : e.end - e.begin;
          };
          return ns(a) < ns(b);
        });
    EXPECT_EQ(longest->node, "conv") << longest->op << " " << longest->kernel;
    EXPECT_LE(before, end);
    EXPECT_LE(sum, end - begin) << "events do not overlap";
    ASSERT_EQ(kernels.size(), placed.told.kernels.size());
    for (size_t i = 0; i < kernels.size(); ++i)
      EXPECT_THAT(kernels[i], HasSubstr(placed.told.kernels[i].name));
    EXPECT_THAT(kernels[0], StartsWith("conv: "));
    EXPECT_THAT(kernels, Contains(StartsWith("relu: ")));
  }
}

vulkan::Api real;
int mode =
    0;  // 1: queues without a clock, 2: results that are not there yet, 3: the device is lost

void no_clock(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* families) {
  real.GetPhysicalDeviceQueueFamilyProperties(device, count, families);
  for (uint32_t i = 0; families != nullptr && i < *count; ++i) families[i].timestampValidBits = 0;
}
VkResult not_ready(VkDevice, VkQueryPool, uint32_t, uint32_t, size_t, void*, VkDeviceSize,
                   VkQueryResultFlags) {
  return mode == 2 ? VK_NOT_READY : VK_ERROR_DEVICE_LOST;
}
void without_clock(vulkan::Api& api) {
  if (mode == 1 && api.GetPhysicalDeviceQueueFamilyProperties != nullptr &&
      api.GetPhysicalDeviceQueueFamilyProperties != no_clock) {
    real = api;
    api.GetPhysicalDeviceQueueFamilyProperties = no_clock;
  }
  if (mode >= 2 && api.GetQueryPoolResults != nullptr) api.GetQueryPoolResults = not_ready;
}

TEST(VulkanTrace, WithoutAClockAnEventAPartition) {
  WICK_NEED_DEVICE();
  for (mode = 1; mode <= 2; ++mode) {
    VulkanOptions options = with(Offload::kAllItCan);
    options.intercept = without_clock;
    Heard heard;
    Placed placed(mixed(8, 16), options, {1, 16, 8, 8}, &heard);
    heard.events.clear();
    placed.run();
    std::vector<std::string> on_device;
    for (const Event& e : heard.events) {
      if (e.backend == "vulkan") on_device.push_back(e.op + " " + e.kernel);
    }
    const std::string one = "partition command buffer";
    EXPECT_EQ(on_device, std::vector<std::string>({one, one})) << mode;
  }
}

// The call that met it begins again on the CPU.
TEST(VulkanTrace, ADeviceLostWhileItsClockIsRead) {
  WICK_NEED_DEVICE();
  mode = 3;
  VulkanOptions options = with(Offload::kAllItCan);
  options.intercept = without_clock;
  options.check_kernels = false;
  Heard heard;
  Placed placed(mixed(8, 16), options, {1, 16, 8, 8}, &heard);
  for (const Told::Step& s : placed.told.steps) {
    EXPECT_EQ(s.backend, "cpu");
    EXPECT_THAT(s.why, HasSubstr("vkGetQueryPoolResults: VK_ERROR_DEVICE_LOST"));
  }
  EXPECT_NEAR(placed.outputs[0].as<float>()[9 * 8 + 9], std::sinh(0.5 * 0.01 * 16 * 9), 1e-5);
}

// Before and behind the turn of a clock of few bits.
TEST(VulkanTrace, AClockThatTurns) {
  EXPECT_EQ(vulkan::ticks_between(10, 25, 64), 15u);
  EXPECT_EQ(vulkan::ticks_between(UINT64_MAX - 4, 5, 64), 10u);
  EXPECT_EQ(vulkan::ticks_between((uint64_t{1} << 36) - 3, 4, 36), 7u);
  EXPECT_EQ(vulkan::ticks_between(0xfff0000000000005, 0xabc000000000000a, 36), 5u)
      << "bits above the valid ones mean nothing";
  EXPECT_EQ(vulkan::ticks_between(20, 18, 36), 0u) << "a step back is none";
}

// The figures by hand: 8 rows of 4 times 16 floats, and 16 times 64.
TEST(VulkanKernels, WhatAModuleSaysOfItself) {
  auto info = [](vulkan::ShaderId id) {
    auto r = vulkan::module_info(vulkan::shader(id).spirv, {}, default_allocator());
    EXPECT_TRUE(r.ok()) << r.status().message();
    return *r;
  };
  const vulkan::ModuleInfo softmax = info(vulkan::ShaderId::k_softmax_f32);
  EXPECT_EQ(softmax.group_size[0], 16u);
  EXPECT_EQ(softmax.group_size[1], 8u);
  EXPECT_EQ(softmax.shared_bytes, 16u * 8 * 4);
  EXPECT_EQ(info(vulkan::ShaderId::k_copy_32).group_size[0], 128u);
  EXPECT_EQ(info(vulkan::ShaderId::k_copy_32).shared_bytes, 0u);
  for (const vulkan::Shader& shader : vulkan::shaders()) {
    const auto all = shader.spirv;
    for (size_t words : {size_t{0}, size_t{4}, size_t{7}, all.size() / 2}) {  // cut off: no crash
      auto r = vulkan::module_info(all.subspan(0, words), {}, default_allocator());
      EXPECT_TRUE(words >= 5 || !r.ok());
    }
  }
}

// A driver may make one fma of a product and a sum that do not forbid it, and its bits are its own.
TEST(VulkanKernels, NoDriverMayContract) {
  constexpr uint32_t kDecorate = 71, kNoContraction = 42, kFAdd = 129, kFSub = 131, kFMul = 133;
  size_t checked = 0;
  for (const vulkan::Shader& shader : vulkan::shaders()) {
    std::set<uint32_t> forbidden;
    const auto words = shader.spirv;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
      const uint32_t op = words[at] & 0xffff;
      if (op == kDecorate && words[at + 2] == kNoContraction) forbidden.insert(words[at + 1]);
      if (op != kFAdd && op != kFSub && op != kFMul) continue;
      EXPECT_TRUE(forbidden.count(words[at + 2])) << shader.name << ", word " << at;
      ++checked;
    }
  }
  EXPECT_GT(checked, 5000u);
}

}  // namespace
}  // namespace wick::test
