// CommandBuffer: a primary command buffer with its own pool, recorded once and submitted many
// times.
#pragma once

#include "runtime/backend/vulkan/vk/buffer.h"
#include "runtime/backend/vulkan/vk/pipeline.h"

namespace wick::vulkan {

// The accesses on one side of a barrier.
struct Access {
  VkPipelineStageFlags stages;
  VkAccessFlags access;
};
constexpr Access kShaderAccess = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
constexpr Access kCopyAccess = {VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr Access kHostRead = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT};

class CommandBuffer {
 public:
  Status create(const Device& device);

  // Discards what was recorded. The queue must have finished with it.
  Status begin(VkCommandBufferUsageFlags usage);
  Status end();

  void dispatch(const PipelineRef& pipeline, VkDescriptorSet set, Span<const uint32_t> push,
                const uint32_t groups[3]);
  void copy(const Place& from, const Place& to, uint64_t bytes);
  // bytes and offset are multiples of 4.
  void fill(const Place& to, uint64_t bytes, uint32_t word);
  void barrier(const Access& before, const Access& after);
  void reset(VkQueryPool queries, uint32_t count);
  // Records the time when everything recorded so far is done.
  void timestamp(VkQueryPool queries, uint32_t index);

  VkCommandBuffer handle() const { return buffer_; }

 private:
  const Device* device_ = nullptr;
  UniqueCommandPool pool_;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;  // freed with the pool
};

// Counts a queue's submissions: each sets the timeline to the next number when it is done.
class Timeline {
 public:
  Status create(const Device& device);
  // Fails with kDeadline if it does not reach `value` within `timeout_ns`.
  Status wait(uint64_t value, uint64_t timeout_ns);
  VkSemaphore handle() const { return semaphore_.get(); }

 private:
  const Device* device_ = nullptr;
  UniqueSemaphore semaphore_;
};

// Waits for one submission at a time, for devices without a timeline.
class Fence {
 public:
  Status create(const Device& device);
  Status reset();
  // Fails with kDeadline if it is not signalled within `timeout_ns`.
  Status wait(uint64_t timeout_ns);
  VkFence handle() const { return fence_.get(); }

 private:
  const Device* device_ = nullptr;
  UniqueFence fence_;
};

}  // namespace wick::vulkan
