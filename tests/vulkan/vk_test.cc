#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using namespace vulkan;

DeviceInfo fake(const char* name, VkPhysicalDeviceType type, uint64_t bytes) {
  DeviceInfo d;
  std::strncpy(d.name, name, sizeof(d.name) - 1);
  d.type = type;
  d.local_bytes = bytes;
  d.api_version = VK_API_VERSION_1_2;
  d.has_compute = true;
  d.limits.maxPerStageDescriptorStorageBuffers = 16;
  d.limits.maxComputeWorkGroupInvocations = 1024;
  d.limits.maxPushConstantsSize = 128;
  return d;
}

TEST(VulkanChoice, BestByKindThenMemory) {
  DeviceInfo devices[] = {fake("llvmpipe", VK_PHYSICAL_DEVICE_TYPE_CPU, 1 << 30),
                          fake("Iris Xe", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 1 << 28),
                          fake("Radeon A", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 1 << 20),
                          fake("Radeon B", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 1 << 21)};
  EXPECT_EQ(choose_device(devices, nullptr).value(), 3u);
  EXPECT_EQ(choose_device(devices, "").value(), 3u);
  EXPECT_EQ(choose_device(devices, "0").value(), 0u);
  EXPECT_EQ(choose_device(devices, "radeon").value(), 2u);
  EXPECT_EQ(choose_device(devices, "XE").value(), 1u);
  devices[3].api_version = VK_API_VERSION_1_0;
  EXPECT_EQ(choose_device(devices, nullptr).value(), 2u);
  EXPECT_EQ(choose_device(devices, "3").status().code(), Code::kDevice);
}

TEST(VulkanChoice, UnknownDevice) {
  DeviceInfo devices[] = {fake("llvmpipe", VK_PHYSICAL_DEVICE_TYPE_CPU, 1 << 30)};
  EXPECT_EQ(choose_device(devices, "1").status().code(), Code::kNotFound);
  auto r = choose_device(devices, "geforce");
  EXPECT_EQ(r.status().code(), Code::kNotFound);
  EXPECT_STREQ(r.status().message(),
               "no Vulkan device \"geforce\" among 1 (device 0 is \"llvmpipe\")");
  EXPECT_EQ(choose_device({}, nullptr).status().code(), Code::kDevice);
}

TEST(VulkanContext, NoLoaderIsAStatus) {
  ContextOptions options;
  options.loader = "libno_such_vulkan.so";
  auto made = Context::create(default_allocator(), options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kDevice);
  EXPECT_STREQ(made.status().message(), "no Vulkan loader (libno_such_vulkan.so)");
}

TEST(VulkanContext, UploadInPiecesArrivesWhole) {
  WICK_NEED_DEVICE();
  Context& context = *shared_context(true);
  std::vector<uint32_t> sent(5'000'000);  // more than one 16 MiB piece
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint32_t>(i * 2654435761u);
  Buffer device, back;
  uint64_t bytes = sent.size() * 4;
  ASSERT_TRUE(device.create(context.device(), bytes + 256, MemoryKind::kDevice).ok());
  ASSERT_TRUE(back.create(context.device(), bytes, MemoryKind::kReadback).ok());
  EXPECT_EQ(device.mapped(), nullptr);
  Context::Upload pieces[] = {{sent.data(), {&device, 256}, bytes}};
  ASSERT_TRUE(context.upload(pieces).ok());
  CommandBuffer commands;
  Submission submission;
  ASSERT_TRUE(commands.create(context.device()).ok());
  ASSERT_TRUE(commands.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT).ok());
  commands.barrier(kCopyAccess, kCopyAccess);
  commands.copy({&device, 256}, {&back, 0}, bytes);
  commands.barrier(kCopyAccess, kHostRead);
  ASSERT_TRUE(commands.end().ok());
  ASSERT_TRUE(context.run(commands, submission).ok());
  EXPECT_EQ(std::memcmp(back.mapped(), sent.data(), bytes), 0);
}

TEST(VulkanContext, TooLargeABufferIsOutOfMemory) {
  WICK_NEED_DEVICE();
  Buffer buffer;
  Status s = buffer.create(shared_context(false)->device(), UINT64_MAX / 2, MemoryKind::kDevice);
  EXPECT_EQ(s.code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace wick::test
