// The self-test runs every kernel and finds one that is broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/shaders/shaders.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;

struct Report final : VulkanSelfTest {
  void on_call(const Call& c) override {
    ++calls;
    const bool wrong = c.wrong[0] != '\0';
    if (wrong) complaints.push_back(std::string(c.op) + ": " + c.wrong);
    for (const char* k : c.kernels) {
      ++by_kernel[k];
      if (wrong) broken.insert(k);
    }
  }
  void on_unused(const char* kernel) override { unused.insert(kernel); }
  size_t calls = 0;
  std::map<std::string, int> by_kernel;
  std::set<std::string> unused, broken;
  std::vector<std::string> complaints;
};

// A driver that adds where one kernel multiplies.
vulkan::Api real;
VkResult compile_wrongly(VkDevice device, const VkShaderModuleCreateInfo* info,
                         const VkAllocationCallbacks* allocator, VkShaderModule* out) {
  const vulkan::Shader& victim = vulkan::shader(vulkan::ShaderId::k_reduce_f32);
  if (info->codeSize != victim.spirv.size_bytes() ||
      std::memcmp(info->pCode, victim.spirv.data(), info->codeSize) != 0)
    return real.CreateShaderModule(device, info, allocator, out);
  constexpr uint32_t kFAdd = 129, kFSub = 131;
  std::vector<uint32_t> words(info->pCode, info->pCode + info->codeSize / 4);
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == kFAdd) words[at] = (words[at] & 0xffff0000) | kFSub;
  }
  VkShaderModuleCreateInfo changed = *info;
  changed.pCode = words.data();
  return real.CreateShaderModule(device, &changed, allocator, out);
}
void wrong_driver(vulkan::Api& api) {
  if (api.CreateShaderModule == nullptr) return;
  real = api;
  api.CreateShaderModule = compile_wrongly;
}

Owned<VulkanBackend> open_backend(bool broken) {
  VulkanOptions options;
  options.cache_folder = "";
  if (broken) options.intercept = wrong_driver;
  auto backend = VulkanBackend::create(default_allocator(), options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return std::move(*backend);
}

// Variants that this device has no use for: of what it cannot do, and of what it does better.
bool not_for(const VulkanDevice& d, const std::string& kernel) {
  auto has = [&](const char* part) { return kernel.find(part) != std::string::npos; };
  static const std::set<std::string> bytes = {"byte_gemm", "byte_gemm_run", "byte_conv",
                                              "dynamic_linear", "dynamic_linear_thin"};
  const bool elsewhere = kernel == "gather_small" || kernel == "peak";  // tensors, benchmarks
  return elsewhere || (has("matrix") && !d.matrix_units) || (has("_f16") && !d.f16_storage) ||
         (has("_in_f16") && !d.f16_ieee) || (has("_dot") && !d.integer_dot) ||
         (bytes.count(kernel) == 1 && d.integer_dot);
}

// A kernel that no call here runs is one that nobody looks at: it needs a line in
// trust/selftest_cases.cc.
TEST(VulkanSelfTests, EveryKernelIsRunAndRight) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(false);
  Report report;
  Status s = backend->self_test(report);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(report.complaints, ::testing::IsEmpty());
  for (const std::string& kernel : report.unused)
    EXPECT_TRUE(not_for(backend->device(), kernel)) << kernel << " is never run";
  EXPECT_GE(report.calls, 150u);
  EXPECT_EQ(backend->checked(), report.calls);
}

TEST(VulkanSelfTests, ABrokenKernelIsFoundAndLeftToTheCpu) {
  WICK_NEED_DEVICE();
  auto backend = open_backend(true);
  Report report;
  Status s = backend->self_test(report);
  ASSERT_TRUE(s.ok()) << s.message();
  ASSERT_FALSE(report.complaints.empty());
  EXPECT_TRUE(report.broken.count("reduce_f32") == 1);
  EXPECT_TRUE(report.broken.count("matmul_f32") == 0);
  EXPECT_THAT(report.complaints[0], HasSubstr("the device computes it wrongly: "));
  EXPECT_THAT(report.complaints[0], HasSubstr(", the CPU's "));
  // A model's steps get the message that the self-test found.
  ReduceAttrs last;
  last.axes = {-1};
  const TensorView x(nullptr, DType::kF32, {9, 37}), y(nullptr, DType::kF32, {9, 1});
  const KernelQuery query{OpId::kReduceSum, &last, {&x, 1}, {&y, 1}, 1, nullptr};
  const size_t before = backend->checked();
  const Status why = backend->why_not(query);
  EXPECT_EQ(backend->checked(), before) << "it is known";
  ASSERT_FALSE(why.ok());
  EXPECT_THAT(why.message(), HasSubstr("the device computes it wrongly: ReduceSum to float32"));
  EXPECT_FALSE(backend->supports(query));
}

}  // namespace
}  // namespace wick::test
