// Pipeline: one compute shader with fixed specialisation constants. Every shader of ours has
// storage buffers at bindings 0..n-1 of set 0, and at most 128 bytes of push constants.
#pragma once

#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

constexpr uint32_t kMaxBindings = 10;    // more than 7 only if the device supports it
constexpr uint32_t kMaxPushBytes = 128;  // supported by every device

// Creates a set layout of `bindings` storage buffers.
Status create_set_layout(const Device& device, uint32_t bindings, UniqueSetLayout& out);

// The handles that recording needs from a pipeline; it does not own them.
struct PipelineRef {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

class Pipeline {
 public:
  struct Source {
    Span<const uint32_t> spirv;
    Span<const uint32_t> specialisation;  // constant_id i has the value of element i
    VkDescriptorSetLayout set_layout;     // must outlive the pipeline
  };
  Status create(const Device& device, const Source& source, VkPipelineCache cache);

  PipelineRef ref() const { return {pipeline_.get(), layout_.get()}; }

 private:
  UniquePipelineLayout layout_;
  UniquePipeline pipeline_;
};

}  // namespace wick::vulkan
