// A Session on the device: steps without a shader run on the CPU in between, other batches bind
// again.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

class CountingAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    ++allocations;
    ++live;
    return default_allocator().allocate(bytes, align);
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    live -= p != nullptr;
    default_allocator().deallocate(p, bytes, align);
  }
  int64_t allocations = 0, live = 0;
};

class CountingTrace final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override {
    const std::string kernel = event.kernel;
    if (std::string(event.backend) == "cpu") ++cpu;
    if (kernel == "queue" || kernel == "command buffer") ++device;
  }
  int device = 0, cpu = 0;  // partitions, steps
};

std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * (static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
  return v;
}

// conv, pool, flatten | sinh, which has no shader | linear, softmax; the flattened value is an
// output too.
std::vector<uint8_t> mixed_program() {
  ProgramBuilder p;
  p.symbol("batch", 1, 64);
  auto x = p.value("x", DType::kF32, {kSym, 1, 8, 8});
  auto w1 = p.constant<float>("w1", {16, 1, 3, 3}, numbers(144, 0.5f));
  auto b1 = p.constant<float>("b1", {16}, numbers(16, 0.1f));
  auto w2 = p.constant<float>("w2", {10, 256}, numbers(2560, 0.2f));
  auto h = p.value("h", DType::kF32, {kSym, 16, 8, 8});
  auto q = p.value("q", DType::kF32, {kSym, 16, 4, 4});
  auto f = p.value("f", DType::kF32, {kSym, 256});
  auto s = p.value("s", DType::kF32, {kSym, 256});
  auto l = p.value("l", DType::kF32, {kSym, 10});
  auto y = p.value("y", DType::kF32, {kSym, 10});
  ConvAttrs same;
  same.pads = {1, 1, 1, 1};
  PoolAttrs half;
  half.kernel_shape = {2, 2};
  half.strides = {2, 2};
  p.node(OpId::kConv, {x, w1, b1}, {h}, same, "conv");
  p.node(OpId::kMaxPool, {h}, {q}, half, "pool");
  p.node(OpId::kFlatten, {q}, {f}, AxisAttrs{1}, "flatten");
  // The device has no such functions for float64.
  auto wide = p.value("wide", DType::kF64, {kSym, 256}),
       sinh = p.value("sinh", DType::kF64, {kSym, 256});
  CastAttrs to_f64, to_f32;
  to_f64.to = static_cast<int64_t>(DType::kF64);
  p.node(OpId::kCast, {f}, {wide}, to_f64, "widen");
  p.node(OpId::kSinh, {wide}, {sinh}, NoAttrs{}, "sinh");
  p.node(OpId::kCast, {sinh}, {s}, to_f32, "narrow");
  p.node(OpId::kLinear, {s, w2}, {l}, NoAttrs{}, "fc");
  p.node(OpId::kSoftmax, {l}, {y}, AxisAttrs{-1}, "softmax");
  p.entry("main", {x}, {y, f});
  return p.finish();
}

TEST(VulkanSession, MixedWithTheCpuOverSeveralBatches) {
  WICK_NEED_DEVICE();
  auto file = mixed_program();
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto cpu = Session::create(**program);
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  for (bool staging : {false, true}) {
    CountingAllocator allocator;
    {
      VulkanOptions vulkan;
      vulkan.force_staging = staging;
      vulkan.offload = VulkanOptions::Offload::kAllItCan;
      auto backend = VulkanBackend::create(allocator, vulkan);
      ASSERT_TRUE(backend.ok()) << backend.status().message();
      CountingTrace trace;
      SessionOptions options;
      options.allocator = &allocator;
      options.backend = backend->get();
      options.trace = &trace;
      options.threads = 1;
      auto session = Session::create(**program, options);
      ASSERT_TRUE(session.ok()) << session.status().message();
      for (int64_t batch : {2, 5, 1, 2}) {
        auto n = static_cast<size_t>(batch);
        auto x = numbers(n * 64, 1);
        TensorView in(x.data(), DType::kF32, {batch, 1, 8, 8});
        std::vector<float> want_y(n * 10), want_f(n * 256), got_y(n * 10), got_f(n * 256);
        TensorView want[] = {TensorView(want_y.data(), DType::kF32, {batch, 10}),
                             TensorView(want_f.data(), DType::kF32, {batch, 256})};
        TensorView got[] = {TensorView(got_y.data(), DType::kF32, {batch, 10}),
                            TensorView(got_f.data(), DType::kF32, {batch, 256})};
        Status s = (*cpu)->run(Span<const TensorView>(&in, 1), want);
        ASSERT_TRUE(s.ok()) << s.message();
        s = (*session)->run(Span<const TensorView>(&in, 1), got);
        ASSERT_TRUE(s.ok()) << s.message();
        for (size_t i = 0; i < want_f.size(); ++i) ASSERT_NEAR(got_f[i], want_f[i], 1e-5) << i;
        for (size_t i = 0; i < want_y.size(); ++i) ASSERT_NEAR(got_y[i], want_y[i], 1e-5) << i;
        // The same shapes again: nothing is allocated.
        int64_t before = allocator.allocations;
        trace.device = trace.cpu = 0;
        s = (*session)->run(Span<const TensorView>(&in, 1), got);
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_EQ(allocator.allocations, before);
        EXPECT_EQ(trace.device, 2);  // before and after sinh
        EXPECT_EQ(trace.cpu, 1);
      }
    }
    EXPECT_EQ(allocator.live, 0);
  }
}

// Indices come at run time: one out of range is an error that names the node, and nothing is read
// from beyond the table; the next run is right again.
TEST(VulkanSession, AnIndexOutOfRangeIsAnError) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto table = p.constant<float>("table", {5, 3}, numbers(15, 1));
  auto i = p.value("i", DType::kI64, {4});
  auto j = p.value("j", DType::kI64, {4});
  auto x = p.value("x", DType::kF32, {4, 3});
  auto y = p.value("y", DType::kF32, {4, 3});
  auto z = p.value("z", DType::kF32, {4, 3});
  p.node(OpId::kGather, {table, i}, {x}, AxisAttrs{0}, "first");
  p.node(OpId::kGather, {table, j}, {y}, AxisAttrs{0}, "second");
  p.node(OpId::kAdd, {x, y}, {z}, NoAttrs{}, "sum");
  p.entry("main", {i, j}, {z});
  auto file = p.finish();
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto rows = numbers(15, 1);
  for (bool staging : {false, true}) {
    VulkanOptions vulkan;
    vulkan.force_staging = staging;
    auto backend = VulkanBackend::create(default_allocator(), vulkan);
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    CountingTrace trace;
    SessionOptions options;
    options.backend = backend->get();
    options.trace = &trace;
    auto session = Session::create(**program, options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    auto run = [&](std::vector<int64_t> first, std::vector<int64_t> second, float* z_out) {
      TensorView in[] = {TensorView(first.data(), DType::kI64, {4}),
                         TensorView(second.data(), DType::kI64, {4})};
      TensorView out(z_out, DType::kF32, {4, 3});
      return (*session)->run(in, Span<TensorView>(&out, 1));
    };
    float got[12];
    for (int64_t wrong : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN, int64_t{1} << 32}) {
      Status s = run({0, 1, 2, 3}, {4, wrong, -5, 0}, got);
      EXPECT_EQ(s.code(), Code::kInvalidArgument);
      EXPECT_STREQ(s.message(), "node second (Gather): an index is out of range") << wrong;
      s = run({0, 1, 2, 3}, {4, -1, -5, 0}, got);
      ASSERT_TRUE(s.ok()) << s.message();
      const size_t a[] = {0, 1, 2, 3}, b[] = {4, 4, 0, 0};
      for (size_t r = 0; r < 4; ++r) {
        for (size_t c = 0; c < 3; ++c)
          EXPECT_EQ(got[r * 3 + c], rows[a[r] * 3 + c] + rows[b[r] * 3 + c]);
      }
    }
    EXPECT_EQ(trace.cpu, 0);
    EXPECT_STREQ((*session)->left_backend(), "");
  }
}

}  // namespace
}  // namespace wick::test
