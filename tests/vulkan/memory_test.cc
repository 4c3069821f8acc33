// A driver may hand out memory with old contents, and round sizes up.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

vulkan::Api real;
std::map<VkDeviceMemory, VkDeviceSize> sizes;
VkDeviceSize largest = 0;
size_t allocations = 0;

VkResult allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                  const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
  const VkResult r = real.AllocateMemory(device, info, allocator, memory);
  if (r != VK_SUCCESS) return r;
  sizes[*memory] = info->allocationSize;
  largest = std::max(largest, info->allocationSize);
  ++allocations;
  return r;
}

VkResult map_used(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                  VkMemoryMapFlags flags, void** at) {
  const VkResult r = real.MapMemory(device, memory, offset, size, flags, at);
  if (r == VK_SUCCESS) std::memset(*at, 0xa5, sizes[memory]);
  return r;
}

void round_up(VkDevice device, VkBuffer buffer, VkMemoryRequirements* need) {
  real.GetBufferMemoryRequirements(device, buffer, need);
  constexpr VkDeviceSize kPage = 1 << 16;
  need->size = (need->size + kPage - 1) / kPage * kPage;
}

void another_driver(vulkan::Api& api) {
  if (api.AllocateMemory == nullptr) return;
  real = api;
  api.AllocateMemory = allocate;
  api.MapMemory = map_used;
  api.GetBufferMemoryRequirements = round_up;
}

std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * (static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
  return v;
}

class VulkanMemory : public ::testing::Test {
 protected:
  // The outputs of three runs on a device of such a driver.
  std::vector<std::vector<float>> run(const std::vector<uint8_t>& file, Span<TensorView> in,
                                      VulkanOptions vulkan) {
    std::vector<std::vector<float>> got;
    auto bytes = aligned_copy(file);
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
    EXPECT_TRUE(program.ok()) << program.status().message();
    vulkan.intercept = another_driver;
    vulkan.cache_folder = "";
    sizes.clear();
    largest = allocations = 0;
    auto backend = VulkanBackend::create(default_allocator(), vulkan);
    EXPECT_TRUE(backend.ok()) << backend.status().message();
    SessionOptions options;
    options.backend = backend->get();
    auto session = Session::create(**program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    for (int round = 0; round < 3; ++round) {
      TensorView out;
      Status s = (*session)->run(in, {&out, 1});
      EXPECT_TRUE(s.ok()) << s.message();
      if (s.ok()) got.emplace_back(out.as<float>(), out.as<float>() + out.numel());
    }
    EXPECT_STREQ((*session)->left_backend(), "");
    EXPECT_EQ((*backend)->complaint_count(), 0u);
    return got;
  }
};

// The word in which a shader notes a bad index lies in memory that holds anything at first.
TEST_F(VulkanMemory, HoldsAnythingAtFirst) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto table = p.constant<float>("table", {5, 3}, numbers(15, 1));
  auto i = p.value("i", DType::kI64, {4});
  auto x = p.value("x", DType::kF32, {4, 3});
  auto y = p.value("y", DType::kF32, {4, 3});
  p.node(OpId::kGather, {table, i}, {x}, AxisAttrs{0}, "rows");
  p.node(OpId::kNeg, {x}, {y}, NoAttrs{}, "neg");
  p.entry("main", {i}, {y});
  int64_t rows[] = {4, 0, -1, 2};
  TensorView in(rows, DType::kI64, {4});
  const std::vector<float> from = numbers(15, 1);
  std::vector<float> want;
  for (size_t row : {4, 0, 4, 2}) {
    for (size_t c = 0; c < 3; ++c) want.push_back(-from[row * 3 + c]);
  }
  const std::vector<uint8_t> file = p.finish();
  for (bool staging : {false, true}) {
    VulkanOptions options;
    options.force_staging = staging;
    for (const std::vector<float>& got : run(file, {&in, 1}, options)) EXPECT_EQ(got, want);
  }
}

// No allocation is larger than the device says it gives, with what the driver adds to a buffer;
// weights and activations lie in as many as that takes.
TEST_F(VulkanMemory, NoAllocationIsTooLarge) {
  WICK_NEED_DEVICE();
  constexpr int64_t kWidth = 400;
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {kWidth, kWidth});
  auto at = x;
  for (const char* layer : {"first", "second", "third", "fourth"}) {
    auto w = p.constant<float>("w", {kWidth, kWidth}, numbers(kWidth * kWidth, 0.05f));
    auto h = p.value("h", DType::kF32, {kWidth, kWidth});
    p.node(OpId::kLinear, {at, w}, {h}, NoAttrs{}, layer);
    at = h;
  }
  auto y = p.value("y", DType::kF32, {kWidth, kWidth});
  p.node(OpId::kAdd, {at, x}, {y}, NoAttrs{}, "sum");
  p.entry("main", {x}, {y});
  const std::vector<uint8_t> file = p.finish();
  std::vector<float> data = numbers(kWidth * kWidth, 1);
  TensorView in(data.data(), DType::kF32, {kWidth, kWidth});
  VulkanOptions options;
  options.check_kernels = false;
  const auto want = run(file, {&in, 1}, options);
  EXPECT_GT(largest, uint64_t{2} << 20) << "all weights at once";
  for (bool staging : {false, true}) {
    options.force_staging = staging;
    options.max_allocation = (1 << 20) + 768;  // no whole page
    EXPECT_EQ(run(file, {&in, 1}, options), want);
    EXPECT_LE(largest, options.max_allocation);
    EXPECT_GE(allocations, 6u) << "four of weights, and tensors that live together";
  }
}

}  // namespace
}  // namespace wick::test
