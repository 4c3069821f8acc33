#include "runtime/backend/vulkan/vk/command.h"

namespace wick::vulkan {

Status CommandBuffer::create(const Device& device) {
  device_ = &device;
  buffer_ = VK_NULL_HANDLE;
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = device.info().queue_family;
  WICK_TRY(pool_.create(device, &Api::CreateCommandPool, pool, "vkCreateCommandPool"));
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_.get();
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  return check(device.api().AllocateCommandBuffers(device.handle(), &info, &buffer_),
               "vkAllocateCommandBuffers");
}

Status CommandBuffer::begin(VkCommandBufferUsageFlags usage) {
  WICK_TRY(check(device_->api().ResetCommandPool(device_->handle(), pool_.get(), 0),
                 "vkResetCommandPool"));
  VkCommandBufferBeginInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = usage;
  return check(device_->api().BeginCommandBuffer(buffer_, &info), "vkBeginCommandBuffer");
}

Status CommandBuffer::end() {
  return check(device_->api().EndCommandBuffer(buffer_), "vkEndCommandBuffer");
}

void CommandBuffer::dispatch(const PipelineRef& pipeline, VkDescriptorSet set,
                             Span<const uint32_t> push, const uint32_t groups[3]) {
  const Api& api = device_->api();
  api.CmdBindPipeline(buffer_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  api.CmdBindDescriptorSets(buffer_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0,
                            nullptr);
  if (!push.empty()) {
    api.CmdPushConstants(buffer_, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         static_cast<uint32_t>(push.size_bytes()), push.data());
  }
  api.CmdDispatch(buffer_, groups[0], groups[1], groups[2]);
}

void CommandBuffer::copy(const Place& from, const Place& to, uint64_t bytes) {
  VkBufferCopy region = {from.offset, to.offset, bytes};
  device_->api().CmdCopyBuffer(buffer_, from.buffer->handle(), to.buffer->handle(), 1, &region);
}

void CommandBuffer::fill(const Place& to, uint64_t bytes, uint32_t word) {
  device_->api().CmdFillBuffer(buffer_, to.buffer->handle(), to.offset, bytes, word);
}

void CommandBuffer::barrier(const Access& before, const Access& after) {
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = before.access;
  barrier.dstAccessMask = after.access;
  device_->api().CmdPipelineBarrier(buffer_, before.stages, after.stages, 0, 1, &barrier, 0,
                                    nullptr, 0, nullptr);
}

Status Timeline::create(const Device& device) {
  device_ = &device;
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  return semaphore_.create(device, &Api::CreateSemaphore, info, "vkCreateSemaphore");
}

Status Timeline::wait(uint64_t value, uint64_t timeout_ns) {
  VkSemaphore semaphore = semaphore_.get();
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &value;
  VkResult r = device_->api().WaitSemaphoresKHR(device_->handle(), &info, timeout_ns);
  if (r == VK_TIMEOUT) return Status(Code::kDeadline, "the Vulkan device did not finish in time");
  return check(r, "vkWaitSemaphores");
}

void CommandBuffer::reset(VkQueryPool queries, uint32_t count) {
  device_->api().CmdResetQueryPool(buffer_, queries, 0, count);
}

void CommandBuffer::timestamp(VkQueryPool queries, uint32_t index) {
  device_->api().CmdWriteTimestamp(buffer_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, index);
}

Status Fence::create(const Device& device) {
  device_ = &device;
  VkFenceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  return fence_.create(device, &Api::CreateFence, info, "vkCreateFence");
}

Status Fence::reset() {
  VkFence fence = fence_.get();
  return check(device_->api().ResetFences(device_->handle(), 1, &fence), "vkResetFences");
}

Status Fence::wait(uint64_t timeout_ns) {
  VkFence fence = fence_.get();
  VkResult r = device_->api().WaitForFences(device_->handle(), 1, &fence, VK_TRUE, timeout_ns);
  if (r == VK_TIMEOUT) return Status(Code::kDeadline, "the Vulkan device did not finish in time");
  return check(r, "vkWaitForFences");
}

}  // namespace wick::vulkan
