// Several sessions on one device: weights they share, runs that overlap, threads.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "runtime/backend/vulkan/vk/api.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"
#include "wick/vulkan.h"

namespace wick::test {
namespace {

constexpr int64_t kWidth = 96;
constexpr uint64_t kWeightBytes = kWidth * kWidth * 4;

std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * (static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
  return v;
}

class Net {
 public:
  explicit Net(float scale = 0.1f) {
    ProgramBuilder p;
    p.symbol("batch", 1, 64);
    auto x = p.value("x", DType::kF32, {kSym, kWidth});
    auto w = p.constant<float>("w", {kWidth, kWidth}, numbers(kWidth * kWidth, scale));
    auto h = p.value("h", DType::kF32, {kSym, kWidth});
    auto y = p.value("y", DType::kF32, {kSym, kWidth});
    p.node(OpId::kLinear, {x, w}, {h}, NoAttrs{}, "linear");
    p.node(OpId::kSoftmax, {h}, {y}, AxisAttrs{-1}, "softmax");
    p.entry("main", {x}, {y});
    const std::vector<uint8_t> file = p.finish();
    bytes_ = aligned_copy(file);
    auto made = Program::load(Span<const uint8_t>(bytes_.get(), file.size()));
    EXPECT_TRUE(made.ok()) << made.status().message();
    program = std::move(*made);
  }
  Owned<Session> open(VulkanBackend& backend, TraceHook* trace = nullptr) {
    SessionOptions options;
    options.backend = &backend;
    options.trace = trace;
    options.threads = 2;
    auto session = Session::create(*program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(*session);
  }
  Owned<Program> program;

 private:
  AlignedBytes bytes_;
};

// An input of its own, with what the device makes of it in one run.
struct Call {
  Call(int64_t rows, float scale)
      : x(numbers(static_cast<size_t>(rows * kWidth), scale)),
        y(x.size()),
        in(x.data(), DType::kF32, {rows, kWidth}),
        out(y.data(), DType::kF32, {rows, kWidth}) {}
  Call(const Call&) = delete;
  std::vector<float> x, y;
  TensorView in, out;
};

Owned<VulkanBackend> open_backend(bool staging, bool timeline = true, VulkanOptions options = {}) {
  options.force_staging = staging;
  options.timeline = timeline;
  auto backend = VulkanBackend::create(default_allocator(), options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return std::move(*backend);
}

TEST(VulkanSessions, WeightsOfOneProgramAreUploadedOnce) {
  WICK_NEED_DEVICE();
  for (bool staging : {false, true}) {
    Net net;
    auto backend = open_backend(staging);
    Call call(3, 1), again(3, 1);
    auto first = net.open(*backend);
    ASSERT_TRUE(first->run({&call.in, 1}, {&call.out, 1}).ok());
    auto second = net.open(*backend);
    ASSERT_TRUE(second->run({&again.in, 1}, {&again.out, 1}).ok());
    EXPECT_EQ(again.y, call.y);
    EXPECT_GE(first->packed_bytes(), kWeightBytes);
    EXPECT_LT(second->packed_bytes(), kWeightBytes) << "it holds what the first brought";
    // Another batch is another plan, of the same weights.
    Call other(5, 1);
    ASSERT_TRUE(second->run({&other.in, 1}, {&other.out, 1}).ok());
    EXPECT_LT(second->packed_bytes(), kWeightBytes);
    // They stay as long as somebody has them, and not longer.
    first.reset();
    again.y.assign(again.y.size(), 0);
    ASSERT_TRUE(second->run({&again.in, 1}, {&again.out, 1}).ok());
    EXPECT_EQ(again.y, call.y);
    second.reset();
    auto third = net.open(*backend);
    ASSERT_TRUE(third->run({&again.in, 1}, {&again.out, 1}).ok());
    EXPECT_GE(third->packed_bytes(), kWeightBytes);
    EXPECT_EQ(again.y, call.y);
  }
}

// Two sessions in turn: the next run's inputs go up while the device is at the last one.
TEST(VulkanSessions, StartedRunsGiveTheSameBits) {
  WICK_NEED_DEVICE();
  struct Events final : TraceHook {
    void on_op(const TraceEvent& event) override {
      count += std::strcmp(event.kernel, "queue") == 0 ||
               std::strcmp(event.kernel, "command buffer") == 0;
      ordered = ordered && event.begin_ns <= event.end_ns;
    }
    int count = 0;
    bool ordered = true;
  };
  for (bool staging : {false, true}) {
    Net net;
    auto backend = open_backend(staging, !staging);
    Events events;
    Owned<Session> sessions[] = {net.open(*backend, &events), net.open(*backend)};
    Call a(7, 1), b(7, 0.5f), want_a(7, 1), want_b(7, 0.5f);
    ASSERT_TRUE(sessions[1]->run({&want_a.in, 1}, {&want_a.out, 1}).ok());
    ASSERT_TRUE(sessions[1]->run({&want_b.in, 1}, {&want_b.out, 1}).ok());
    for (int round = 0; round < 5; ++round) {
      Status s = sessions[0]->start({&a.in, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(events.count, round) << "the event comes when the device is known to be done";
      s = sessions[1]->start({&b.in, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      s = sessions[0]->finish({&a.out, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(events.count, round + 1);
      s = sessions[1]->finish({&b.out, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(a.y, want_a.y);
      EXPECT_EQ(b.y, want_b.y);
      a.y.assign(a.y.size(), 0), b.y.assign(b.y.size(), 0);
    }
    EXPECT_TRUE(events.ordered);
    // A run that nobody finishes is waited for when the session is destroyed.
    ASSERT_TRUE(sessions[0]->start({&a.in, 1}).ok());
    sessions[0].reset();
  }
}

// The example of wick/vulkan.h and docs/use/vulkan.md: with and without a device.
TEST(VulkanSessions, TheHeadersExample) {
  Net net;
  const Owned<Program>* program = &net.program;
  auto vulkan = wick::VulkanBackend::create(wick::default_allocator());
  wick::SessionOptions options;
  if (vulkan.ok()) options.backend = vulkan->get();  // else the CPU runs all
  auto session = wick::Session::create(**program, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  Call call(2, 1);
  EXPECT_TRUE((*session)->run({&call.in, 1}, {&call.out, 1}).ok());
}

// The order that C++ makes of `Owned<Session> s; auto vulkan = VulkanBackend::create(...)`: the
// device stays open until the last session is gone.
TEST(VulkanSessions, MayBeDestroyedAfterTheirBackend) {
  WICK_NEED_DEVICE();
  Net net;
  for (bool started : {false, true}) {
    Call a(2, 1), b(3, 0.5f);
    auto backend = open_backend(true);
    auto first = net.open(*backend), second = net.open(*backend);
    ASSERT_TRUE(first->run({&a.in, 1}, {&a.out, 1}).ok());
    ASSERT_TRUE(second->run({&b.in, 1}, {&b.out, 1}).ok());
    if (started) {
      ASSERT_TRUE(second->start({&b.in, 1}).ok());
    }
    backend.reset();
    first.reset();
    second.reset();
  }
}

TEST(VulkanSessions, HalvesOutOfOrderAreErrors) {
  WICK_NEED_DEVICE();
  Net net;
  auto backend = open_backend(false);
  auto session = net.open(*backend);
  Call call(2, 1), want(2, 1);
  EXPECT_EQ(session->finish({&call.out, 1}).code(), Code::kInvalidArgument);
  ASSERT_TRUE(session->run({&want.in, 1}, {&want.out, 1}).ok());
  ASSERT_TRUE(session->start({&call.in, 1}).ok());
  EXPECT_EQ(session->start({&call.in, 1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(session->run({&call.in, 1}, {&call.out, 1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(session->bind({}).code(), Code::kInvalidArgument);
  TensorView wrong(call.y.data(), DType::kI32, {2, kWidth});
  EXPECT_EQ(session->finish({&wrong, 1}).code(), Code::kTypeMismatch);
  ASSERT_TRUE(session->finish({&call.out, 1}).ok());
  EXPECT_EQ(call.y, want.y);
  EXPECT_EQ(session->finish({&call.out, 1}).code(), Code::kInvalidArgument);
}

// The CPU alone: start() does it all.
TEST(VulkanSessions, HalvesWithoutADevice) {
  Net net;
  auto session = Session::create(*net.program);
  ASSERT_TRUE(session.ok());
  Call call(2, 1), want(2, 1);
  ASSERT_TRUE((*session)->run({&want.in, 1}, {&want.out, 1}).ok());
  ASSERT_TRUE((*session)->start({&call.in, 1}).ok());
  ASSERT_TRUE((*session)->finish({&call.out, 1}).ok());
  EXPECT_EQ(call.y, want.y);
}

// A queue that takes its time for each submission, one after another.
namespace slow {
vulkan::Api real;
uint64_t each_ns = 0;  // 0: as fast as it can
std::vector<uint64_t> done;
std::map<VkFence, uint64_t> fences;

VkResult submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  const uint64_t now = now_ns();
  done.push_back((done.empty() || done.back() < now ? now : done.back()) + each_ns);
  fences[fence] = done.back();
  return real.QueueSubmit(queue, count, infos, fence);
}
// The submission's time, not that of a thread which comes late, says whether it was done.
VkResult until(uint64_t when, uint64_t timeout) {
  const uint64_t now = now_ns(), left = when > now ? when - now : 0;
  std::this_thread::sleep_for(std::chrono::nanoseconds(left < timeout ? left : timeout));
  return left <= timeout ? VK_SUCCESS : VK_TIMEOUT;
}
VkResult wait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  const VkResult r = until(done.at(info->pValues[0] - 1), timeout);
  return r == VK_SUCCESS ? real.WaitSemaphoresKHR(device, info, UINT64_MAX) : r;
}
VkResult wait_fence(VkDevice device, uint32_t count, const VkFence* of, VkBool32 all,
                    uint64_t timeout) {
  const VkResult r = until(fences.at(of[0]), timeout);
  return r == VK_SUCCESS ? real.WaitForFences(device, count, of, all, UINT64_MAX) : r;
}
void queue(vulkan::Api& api) {
  if (api.QueueSubmit == nullptr) return;
  real = api;
  api.QueueSubmit = submit;
  if (api.WaitSemaphoresKHR != nullptr) api.WaitSemaphoresKHR = wait;
  api.WaitForFences = wait_fence;
}
}  // namespace slow

// The time after which a device seems to hang begins where the queue comes to a submission: work of
// another session that nobody waits for is none of its own. With fences it is given as much.
TEST(VulkanSessions, TheWorkOfOthersIsNoHang) {
  WICK_NEED_DEVICE();
  for (bool timeline : {true, false}) {
    Net net;
    slow::each_ns = 0;
    slow::done.clear();
    VulkanOptions options;
    options.intercept = slow::queue;
    options.hang_ns = 900'000'000;
    options.check_kernels = false;
    auto backend = open_backend(false, timeline, options);
    Owned<Session> sessions[] = {net.open(*backend), net.open(*backend), net.open(*backend)};
    Call call(4, 1), want(4, 1);
    for (const Owned<Session>& s : sessions)
      ASSERT_TRUE(s->run({&want.in, 1}, {&want.out, 1}).ok());
    slow::each_ns = 500'000'000;
    ASSERT_TRUE(sessions[0]->start({&call.in, 1}).ok());
    ASSERT_TRUE(sessions[1]->start({&call.in, 1}).ok());
    RunOptions limited;
    limited.timeout_ns = 200'000'000;
    EXPECT_EQ(sessions[2]->run({&call.in, 1}, {&call.out, 1}, limited).code(), Code::kDeadline);
    ASSERT_TRUE(sessions[2]->run({&call.in, 1}, {&call.out, 1}).ok());
    EXPECT_EQ(call.y, want.y);
    for (const Owned<Session>& s : sessions) EXPECT_STREQ(s->left_backend(), "");
    for (int other : {0, 1}) ASSERT_TRUE(sessions[other]->finish({&call.out, 1}).ok());
    // A submission that takes longer than that by itself counts as hung, also when it waits for
    // others.
    ASSERT_TRUE(sessions[0]->start({&call.in, 1}).ok());
    slow::each_ns = 20'000'000'000;
    ASSERT_TRUE(sessions[1]->run({&call.in, 1}, {&call.out, 1}).ok());
    EXPECT_STRNE(sessions[1]->left_backend(), "");
    ASSERT_TRUE(sessions[0]->finish({&call.out, 1}).ok());
  }
}

// Sessions come, run and go in several threads, of one program and of another.
TEST(VulkanSessions, InSeveralThreads) {
  WICK_NEED_DEVICE();
  Net nets[2] = {Net(0.1f), Net(0.3f)};
  auto backend = open_backend(false);
  std::vector<float> want[2];
  for (int n = 0; n < 2; ++n) {  // each alone
    Call call(4, 1);
    ASSERT_TRUE(nets[n].open(*backend)->run({&call.in, 1}, {&call.out, 1}).ok());
    want[n] = call.y;
  }
  ASSERT_NE(want[0], want[1]);
  std::vector<std::thread> threads;
  int wrong[4] = {};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 6; ++round) {
        const int net = (t + round) % 2;
        auto session = nets[net].open(*backend);
        Call call(4, 1);
        for (int run = 0; run < 4; ++run) {
          const bool ok = run % 2 == 0 ? session->run({&call.in, 1}, {&call.out, 1}).ok()
                                       : session->start({&call.in, 1}).ok() &&
                                             session->finish({&call.out, 1}).ok();
          wrong[t] += !ok || call.y != want[net];
        }
        wrong[t] += *session->left_backend() != '\0';
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int w : wrong) EXPECT_EQ(w, 0);
}

}  // namespace
}  // namespace wick::test
