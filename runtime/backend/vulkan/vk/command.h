// CommandBuffer: a primary command buffer recorded once and submitted many times, with its own
// pool.
#pragma once

#include "runtime/backend/vulkan/vk/buffer.h"
#include "runtime/backend/vulkan/vk/pipeline.h"

namespace wick::vulkan {

// Which earlier accesses must be seen by which later ones.
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

  // Forgets what was recorded. The queue must be done with it.
  Status begin(VkCommandBufferUsageFlags usage);
  Status end();

  void dispatch(const PipelineRef& pipeline, VkDescriptorSet set, Span<const uint32_t> push,
                const uint32_t groups[3]);
  void copy(const Place& from, const Place& to, uint64_t bytes);
  // bytes and offset are multiples of 4.
  void fill(const Place& to, uint64_t bytes, uint32_t word);
  void barrier(const Access& before, const Access& after);
  void reset(VkQueryPool queries, uint32_t count);
  // The time when all that was recorded so far is done.
  void timestamp(VkQueryPool queries, uint32_t index);

  VkCommandBuffer handle() const { return buffer_; }

 private:
  const Device* device_ = nullptr;
  UniqueCommandPool pool_;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;  // dies with the pool
};

// Counts a queue's submissions: each sets it to the next number when it is done.
class Timeline {
 public:
  Status create(const Device& device);
  // kDeadline when it has not come to `value` within `timeout_ns`.
  Status wait(uint64_t value, uint64_t timeout_ns);
  VkSemaphore handle() const { return semaphore_.get(); }

 private:
  const Device* device_ = nullptr;
  UniqueSemaphore semaphore_;
};

// Waits for one submission at a time, where there is no timeline.
class Fence {
 public:
  Status create(const Device& device);
  Status reset();
  // kDeadline when it is not signalled within `timeout_ns`.
  Status wait(uint64_t timeout_ns);
  VkFence handle() const { return fence_.get(); }

 private:
  const Device* device_ = nullptr;
  UniqueFence fence_;
};

}  // namespace wick::vulkan
