// The host memory that the check of a kernel uses, what happens without it, and which threads may
// read its results meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/backend/explain.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Counts live bytes and their most, and gives no more than `limit` at once.
class Meter final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    if (bytes > limit) return nullptr;
    live += bytes;
    if (live > most) most = live;
    return default_allocator().allocate(bytes, align);
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p != nullptr) live -= bytes;
    default_allocator().deallocate(p, bytes, align);
  }
  size_t live = 0, most = 0, limit = SIZE_MAX;
};

// A driver that loses every n-th submission.
vulkan::Api real;
std::atomic<int64_t> lose_every{0}, submissions{0};
VkResult forget_to_run(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (lose_every == 0 || ++submissions % lose_every != 0)
    return real.QueueSubmit(queue, count, submits, fence);
  VkSubmitInfo nothing = *submits;
  nothing.commandBufferCount = 0;
  return real.QueueSubmit(queue, 1, &nothing, fence);
}
void forgetful(vulkan::Api& api) {
  if (api.QueueSubmit == nullptr) return;
  real = api;
  api.QueueSubmit = forget_to_run;
}

Owned<VulkanBackend> open_backend(Allocator& allocator, bool staging = false) {
  lose_every = submissions = 0;
  VulkanOptions options;
  options.cache_folder = "";
  options.force_staging = staging;
  options.intercept = forgetful;
  auto backend = VulkanBackend::create(allocator, options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return std::move(*backend);
}

TensorView view(DType dtype, const Shape& shape) { return TensorView(nullptr, dtype, shape); }

struct Call {
  KernelQuery query() const { return {op, attrs, in, out, 1, nullptr}; }
  size_t bytes(const std::vector<TensorView>& views) const {
    size_t n = 0;
    for (const TensorView& v : views) n += v.nbytes();
    return n;
  }
  OpId op;
  const void* attrs;
  std::vector<TensorView> in, out;
};

Call add(int64_t n) {
  const TensorView v = view(DType::kF32, {n});
  return {OpId::kAdd, nullptr, {v, v}, {v}};
}

constexpr int64_t kLarge = 1 << 20;  // elements
constexpr size_t kMiB = 1 << 20;

// The inputs once and the outputs twice, where they are large.
TEST(VulkanTrustMemory, InputsOnceAndOutputsTwice) {
  WICK_NEED_DEVICE();
  MaxPoolIndicesAttrs pool;
  pool.pool.kernel_shape = {2, 2};
  pool.pool.strides = {2, 2};
  const Call calls[] = {
      add(kLarge),
      {OpId::kMaxPoolIndices,
       &pool,
       {view(DType::kF32, {1, 32, 256, 256})},
       {view(DType::kF32, {1, 32, 128, 128}), view(DType::kI64, {1, 32, 128, 128})}},
  };
  for (bool staging : {false, true}) {
    for (const Call& call : calls) {
      Meter meter;
      auto backend = open_backend(meter, staging);
      const size_t before = meter.most = meter.live;
      const Status s = backend->why_not(call.query());
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(backend->checked(), 1u);
      const size_t least = call.bytes(call.in) + 2 * call.bytes(call.out);
      EXPECT_GE(meter.most - before, least);
      EXPECT_LT(meter.most - before, least + kMiB / 4);
      EXPECT_LT(meter.live - before, kMiB / 4) << "all of it goes back";
    }
  }
}

// One run in four is lost: what is compared by its digest shows it as well.
TEST(VulkanTrustMemory, LargeCallsAreFoundOut) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(default_allocator());
  lose_every = 4;
  for (int64_t n : {int64_t{1000}, kLarge}) {
    submissions = 0;
    const Status s = backend->why_not(add(n).query());
    EXPECT_EQ(s.code(), Code::kUnsupported);
    // staged, a submission clears the device's memory first
    EXPECT_THAT(s.message(), AnyOf(HasSubstr("(run 4 of 8)"), HasSubstr("(run 3 of 8)"))) << n;
  }
  EXPECT_EQ(backend->complaint_count(), 2u);
}

// Without the memory the call is the CPU's, and nothing else: not others, not this one later.
TEST(VulkanTrustMemory, WhatCannotBeComparedIsTheCpus) {
  WICK_NEED_DEVICE();
  Meter meter;
  auto backend = open_backend(meter);
  meter.limit = kMiB;
  const Call large = add(kLarge);
  const Status s = backend->why_not(large.query());
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), HasSubstr("it could not be compared with the CPU: cannot allocate"));
  EXPECT_TRUE(backend->why_not(add(1000).query()).ok());

  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {kLarge});
  auto h = p.value("h", DType::kF32, {4});
  auto y = p.value("y", DType::kF32, {4});
  SliceAttrs slice;
  slice.starts = {8}, slice.ends = {12}, slice.axes = {0}, slice.steps = {1};
  auto d = p.value("d", DType::kF32, {kLarge});
  p.node(OpId::kAdd, {x, x}, {d}, NoAttrs{}, "double");
  p.node(OpId::kSlice, {d}, {h}, slice, "slice");
  p.node(OpId::kExp, {h}, {y}, NoAttrs{}, "exp");
  p.entry("main", {x}, {y});
  const std::vector<uint8_t> file = p.finish();
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok()) << program.status().message();
  struct Told final : ExplainHook {
    void on_step(const PlacedStep& s) override {
      where += std::string(s.op) + " " + s.backend + "\n";
      if (*s.why != '\0' && std::string(s.op) == "Add") why = s.why;
    }
    void on_kernel(const PlacedKernel&) override {}
    void on_copy(const PlacedCopy&) override {}
    void on_part(const PlacedPart&) override {}
    std::string where, why;
  } told;
  SessionOptions options;
  options.backend = backend.get();
  auto session = Session::create(**program, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  std::vector<float> data(kLarge, 0.25f);
  TensorView in(data.data(), DType::kF32, {kLarge}), out;
  ASSERT_TRUE((*session)->run({&in, 1}, {&out, 1}).ok());
  EXPECT_NEAR(out.as<float>()[3], 1.6487213f, 1e-5f);
  EXPECT_STREQ((*session)->left_backend(), "");
  ASSERT_TRUE((*session)->explain(told).ok());
  EXPECT_THAT(told.where, HasSubstr("Add cpu"));
  EXPECT_THAT(told.why, HasSubstr("it could not be compared with the CPU: cannot allocate"));
  EXPECT_EQ(backend->complaint_count(), 0u) << "nothing was seen to be wrong";

  meter.limit = SIZE_MAX;
  const Status later = backend->why_not(large.query());
  EXPECT_TRUE(later.ok()) << later.message();
}

// Complaints are read while others come: the lines stay where they are.
TEST(VulkanTrustThreads, ComplaintsStay) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(default_allocator());
  lose_every = 1;
  constexpr size_t kCalls = 24;
  std::atomic<bool> done{false};
  std::vector<const char*> lines;
  std::vector<std::string> texts;
  std::thread reader([&] {
    while (!done || lines.size() < backend->complaint_count()) {
      if (lines.size() == backend->complaint_count()) {
        std::this_thread::yield();
        continue;
      }
      lines.push_back(backend->complaint(lines.size()));
      texts.emplace_back(lines.back());
      EXPECT_LE(backend->checked(), kCalls);
    }
  });
  for (size_t i = 0; i < kCalls; ++i)
    EXPECT_FALSE(backend->why_not(add(static_cast<int64_t>(100 + i)).query()).ok());
  done = true;
  reader.join();
  ASSERT_EQ(lines.size(), kCalls);
  for (size_t i = 0; i < kCalls; ++i) {
    EXPECT_EQ(lines[i], backend->complaint(i));
    EXPECT_EQ(lines[i], texts[i]);
    EXPECT_THAT(texts[i], HasSubstr("[" + std::to_string(100 + i) + "]"));
  }
}

}  // namespace
}  // namespace wick::test
