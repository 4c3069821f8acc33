// LeNet and a small GPT on a Vulkan that fails: whatever fails, the result is the CPU's or there is
// an error status, and a later session gets the error at once.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/runtime/programs.h"
#include "tests/vulkan/fault.h"
#include "tests/vulkan/models.h"
#include "trainer/profile/timer.h"

namespace wick::test {
namespace {

struct Outcome {
  std::string status;  // of the run or the opening that failed
  std::string left;    // why it went to the CPU
  std::vector<float> y;
};

Outcome run_once(const TestModel& m, VulkanOptions options, int runs = 1) {
  Outcome o;
  options.intercept = inject_faults;
  auto backend = VulkanBackend::create(default_allocator(), options);
  SessionOptions session_options;
  session_options.threads = 1;
  if (backend.ok()) session_options.backend = backend->get();
  if (!backend.ok()) o.left = backend.status().message();
  auto session = Session::create(*m.program, session_options);
  if (!session.ok()) {
    o.status = session.status().message();
    return o;
  }
  for (int r = 0; r < runs; ++r) {
    Status s = run_into(**session, m, o.y);
    if (!s.ok()) {
      o.status = s.message();
      return o;
    }
  }
  if ((*session)->left_backend()[0] != '\0') o.left = (*session)->left_backend();
  return o;
}

void expect_right(const TestModel& m, const Outcome& o, const std::string& what) {
  if (!o.status.empty()) return;
  ASSERT_EQ(o.y.size(), m.want.size()) << what;
  for (size_t i = 0; i < o.y.size(); ++i) {
    if (!o.left.empty()) {  // the CPU's bits
      ASSERT_EQ(o.y[i], m.want[i]) << what << ": " << o.left << ", element " << i;
    } else {
      ASSERT_NEAR(o.y[i], m.want[i], 1e-4) << what << ", element " << i;
    }
  }
}

constexpr VkResult kErrors[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST,
                                VK_ERROR_UNKNOWN};

// Every n-th call fails, for every n up to the calls that a run makes (in the full test run), or
// for some of them.
void fault_loop(const TestModel& m) {
  for (bool staging : {false, true}) {
    VulkanOptions options;
    options.force_staging = staging;
    options.timeline = !staging;
    // The checks of the kernels are calls too. What one run finds out the next must not know.
    options.check_kernels = !staging;
    options.cache_folder = "";
    set_faults({});
    Outcome plain = run_once(m, options, 2);
    ASSERT_EQ(plain.status + plain.left, "");
    expect_right(m, plain, "no fault");
    const int64_t calls = fallible_calls();
    const bool every = std::getenv("WICK_TEST_FULL") != nullptr;
    int64_t runs = 0, on_device = 0, on_cpu = 0, statuses = 0;
    for (VkResult error : kErrors) {
      int64_t step = 1;
      for (int64_t n = 1; n <= calls; n += step) {
        if (!every && n > 12) step = 1 + calls / 12;
        set_faults({n, error});
        Outcome o = run_once(m, options, 2);
        expect_right(m, o,
                     fmt::format("{} {} of every {} calls", m.name, vulkan::result_name(error), n));
        if (::testing::Test::HasFatalFailure()) return;
        // The number of rounds that a check takes depends on the device's speed.
        EXPECT_TRUE(failed_calls() > 0 || 2 * n > calls);
        ++runs;
        ++(!o.status.empty() ? statuses : o.left.empty() ? on_device : on_cpu);
      }
    }
    set_faults({});
    fmt::print("{}{}: {} fallible calls; of {} runs {} went to the CPU, {} stayed, {} statuses\n",
               m.name, staging ? ", staged" : "", calls, runs, on_cpu, on_device, statuses);
    EXPECT_EQ(statuses, 0) << "host memory is never short here: the CPU can always answer";
  }
}

TEST(VulkanFaults, LeNetWhateverFails) {
  WICK_NEED_MODEL(m, lenet_model());
  fault_loop(*m);
}

TEST(VulkanFaults, GptWhateverFails) {
  WICK_NEED_MODEL(m, gpt_model());
  fault_loop(*m);
}

// A device whose calls fail when they are told to, and the sessions on it.
class FailingDevice {
 public:
  explicit FailingDevice(VulkanOptions options = {}) {
    set_faults({});
    options.intercept = inject_faults;
    backend_ = open_device(options);
  }
  ~FailingDevice() { set_faults({}); }
  Owned<Session> open(const TestModel& m) { return open_session(m, *backend_); }
  VulkanBackend& backend() { return *backend_; }

 private:
  Owned<VulkanBackend> backend_;
};

VulkanOptions waiting_by(bool timeline) {
  VulkanOptions options;
  options.timeline = timeline;
  return options;
}

// A session that goes on, and one that comes later: the CPU's bits, and nothing is asked of it.
void expect_left_for_good(FailingDevice& device, Session& session, const TestModel& m,
                          const char* what) {
  set_faults({});
  auto later = device.open(m);
  for (Session* s : {&session, later.get()}) {
    std::vector<float> y;
    ASSERT_TRUE(run_into(*s, m, y).ok()) << what;
    EXPECT_EQ(y, m.want) << what;
  }
  EXPECT_STREQ(later->left_backend(), "the device was lost") << what;
  EXPECT_EQ(fallible_calls(), 0) << what << ": a lost device is asked nothing";
}

// Lost while it runs: this call is answered by the CPU, and so is every later session.
TEST(VulkanFaults, ALostDeviceIsLeftForGood) {
  WICK_NEED_MODEL(m, lenet_model());
  FailingDevice device;
  auto session = device.open(*m);
  std::vector<float> y;
  ASSERT_TRUE(run_into(*session, *m, y).ok());
  EXPECT_STREQ(session->left_backend(), "");
  set_faults({1, VK_ERROR_DEVICE_LOST, "WaitSemaphoresKHR"});
  Status s = run_into(*session, *m, y);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ(session->left_backend(), "vkWaitSemaphores: VK_ERROR_DEVICE_LOST (-4)");
  EXPECT_EQ(y, m->want);
  expect_left_for_good(device, *session, *m, "while it ran");
}

// Lost while a session is bound, whichever call is told first: this session and every later one
// run on the CPU, and nothing more is asked of the device.
TEST(VulkanFaults, LostWhileItBinds) {
  WICK_NEED_MODEL(m, lenet_model());
  for (const char* call :
       {"CreateBuffer", "AllocateMemory", "BindBufferMemory", "MapMemory", "CreateShaderModule",
        "CreatePipelineLayout", "CreateComputePipelines", "CreateDescriptorPool",
        "AllocateDescriptorSets", "CreateCommandPool", "AllocateCommandBuffers",
        "BeginCommandBuffer", "EndCommandBuffer", "QueueSubmit", "WaitSemaphoresKHR"}) {
    VulkanOptions options;
    options.force_staging = true;  // fills and uploads are submitted
    options.cache_folder = "";
    for (bool check : {false, true}) {
      options.check_kernels = check;
      FailingDevice device(options);
      set_faults({1, VK_ERROR_DEVICE_LOST, call});
      auto session = device.open(*m);  // all shapes are known: it is bound
      EXPECT_GT(failed_calls(), 0) << call;
      const std::string left = session->left_backend();
      EXPECT_NE(left.find("VK_ERROR_DEVICE_LOST (-4)"), std::string::npos) << call << ": " << left;
      expect_left_for_good(device, *session, *m, call);
    }
  }
}

// go, x[8, 8] -> go: x x; else x + x.
std::vector<uint8_t> two_branches() {
  ProgramBuilder p;
  auto matrix = [&](const char* name) { return p.value(name, DType::kF32, {8, 8}); };
  auto go = p.value("go", DType::kBool, {1}), x = matrix("x"), y = matrix("y");
  auto a = matrix("a"), b = matrix("b"), product = matrix("product"), sum = matrix("sum");
  p.node(OpId::kMatMul, {a, a}, {product}, NoAttrs{}, "product");
  p.region({a}, {product}, false);
  p.node(OpId::kAdd, {b, b}, {sum}, NoAttrs{}, "sum");
  p.region({b}, {sum}, false);
  p.control(OpId::kIf, {go, x}, {y}, 1, NoAttrs{}, "if");
  p.entry("main", {go, x}, {y});
  return p.finish(kFeatureRegions);
}

// Lost in one branch of an If: what the other branch had on the device is left as well.
TEST(VulkanFaults, LostInABranch) {
  WICK_NEED_MODEL(m, lenet_model());
  const Loaded loaded = load(two_branches());
  std::vector<float> data(64);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7) - 3;
  uint8_t go = 0;
  const TensorView in[] = {{&go, DType::kBool, {1}}, {data.data(), DType::kF32, {8, 8}}};
  auto answer = [&](Session& session, bool branch) {
    go = branch ? 1 : 0;
    TensorView out;
    Status s = session.run(in, {&out, 1});
    EXPECT_TRUE(s.ok()) << s.message();
    return s.ok() ? std::vector<float>(out.as<float>(), out.as<float>() + 64)
                  : std::vector<float>();
  };
  auto on_cpu = open(*loaded.program);
  VulkanOptions options;
  options.check_kernels = false;
  options.offload = VulkanOptions::Offload::kAllItCan;
  FailingDevice device(options);
  SessionOptions on_device;
  on_device.backend = &device.backend();
  auto session = open(*loaded.program, on_device);
  for (bool branch : {true, false}) {
    set_faults({});
    EXPECT_EQ(answer(*session, branch), answer(*on_cpu, branch));
    EXPECT_GT(fallible_calls(), 0) << "the device runs it";
  }
  set_faults({1, VK_ERROR_DEVICE_LOST, "WaitSemaphoresKHR"});
  EXPECT_EQ(answer(*session, true), answer(*on_cpu, true));
  EXPECT_STREQ(session->left_backend(),
               "node if (If): vkWaitSemaphores: VK_ERROR_DEVICE_LOST (-4)");
  set_faults({});
  for (bool branch : {true, false}) EXPECT_EQ(answer(*session, branch), answer(*on_cpu, branch));
  EXPECT_EQ(fallible_calls(), 0) << "a lost device is asked nothing";
}

// No memory at one submission: this session goes on on the CPU, the device is there for others.
TEST(VulkanFaults, OutOfMemoryConcernsOneSession) {
  WICK_NEED_MODEL(m, lenet_model());
  FailingDevice device;
  auto session = device.open(*m);
  std::vector<float> y;
  set_faults({1, VK_ERROR_OUT_OF_DEVICE_MEMORY, "QueueSubmit"});
  ASSERT_TRUE(run_into(*session, *m, y).ok());
  EXPECT_STREQ(session->left_backend(), "vkQueueSubmit: VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)");
  set_faults({});
  auto other = device.open(*m);
  ASSERT_TRUE(run_into(*other, *m, y).ok());
  EXPECT_STREQ(other->left_backend(), "");
}

// A wait that ends without an answer: the device is left alone, with all that it may still use.
TEST(VulkanFaults, AHangIsLeft) {
  WICK_NEED_MODEL(m, lenet_model());
  VulkanOptions options;
  options.hang_ns = 3'000'000'000;
  FailingDevice device(options);
  auto session = device.open(*m);
  set_faults({1, VK_TIMEOUT, "WaitSemaphoresKHR"});
  std::vector<float> y;
  Status s = run_into(*session, *m, y);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ(session->left_backend(),
               "the Vulkan device was still busy after 3000 ms: it seems to hang");
  EXPECT_EQ(y, m->want);
}

// A timeout while the device works: the call says so, the device is not taken for one that hangs,
// and the next run waits for what is still under way.
TEST(VulkanFaults, ATimeoutIsNoHang) {
  WICK_NEED_MODEL(m, lenet_model());
  for (bool timeline : {true, false}) {
    FailingDevice device(waiting_by(timeline));
    auto session = device.open(*m);
    std::vector<float> y, want;
    ASSERT_TRUE(run_into(*session, *m, want).ok());
    set_faults({1, VK_TIMEOUT, timeline ? "WaitSemaphoresKHR" : "WaitForFences"});
    y = m->want;
    TensorView in = m->input, out(y.data(), DType::kF32, {2, 10});
    RunOptions limited;
    limited.timeout_ns = 5'000'000'000;
    EXPECT_EQ(session->run({&in, 1}, {&out, 1}, limited).code(), Code::kDeadline);
    EXPECT_EQ(failed_calls(), 1);
    EXPECT_EQ(y, m->want) << "outputs are as they were";
    set_faults({});
    ASSERT_TRUE(run_into(*session, *m, y).ok());
    EXPECT_EQ(y, want);
    EXPECT_STREQ(session->left_backend(), "");
  }
}

// The device is lost between the halves of a run: the CPU gives the outputs of these inputs.
TEST(VulkanFaults, LostBetweenTheHalves) {
  WICK_NEED_MODEL(m, lenet_model());
  for (bool timeline : {true, false}) {
    FailingDevice device(waiting_by(timeline));
    auto session = device.open(*m);
    TensorView in = m->input, out;
    ASSERT_TRUE(session->start({&in, 1}).ok());
    set_faults({1, VK_ERROR_DEVICE_LOST, timeline ? "WaitSemaphoresKHR" : "WaitForFences"});
    ASSERT_TRUE(session->finish({&out, 1}).ok());
    EXPECT_STRNE(session->left_backend(), "");
    for (size_t i = 0; i < m->want.size(); ++i) EXPECT_EQ(out.as<float>()[i], m->want[i]);
  }
}

// A timer around a run that was only started reads the clock when the device is done.
TEST(VulkanFaults, ATimerWaitsForTheDevice) {
  WICK_NEED_MODEL(m, lenet_model());
  for (bool timeline : {true, false}) {
    FailingDevice device(waiting_by(timeline));
    auto session = device.open(*m);
    TensorView in = m->input, out;
    ASSERT_TRUE(session->run({&in, 1}, {&out, 1}).ok());
    Timer timer;
    ASSERT_TRUE(session->start({&in, 1}).ok());
    set_faults({});
    EXPECT_GT(timer.nanoseconds(), 0u);
    EXPECT_EQ(fallible_calls(), 1) << "one wait";
    out = TensorView();
    ASSERT_TRUE(session->finish({&out, 1}).ok());
    for (size_t i = 0; i < m->want.size(); ++i) EXPECT_NEAR(out.as<float>()[i], m->want[i], 1e-4);
  }
}

}  // namespace
}  // namespace wick::test
