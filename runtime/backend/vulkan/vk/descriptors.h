// DescriptorSets: a pool of sets of storage buffers, which are freed together.
#pragma once

#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

class DescriptorSets {
 public:
  // Allocates a pool for `sets` sets with `bindings` bindings in total. Frees earlier ones.
  Status create(const Device& device, uint32_t sets, uint32_t bindings);
  // Allocates one set per layout.
  Status allocate(Span<const VkDescriptorSetLayout> layouts, VkDescriptorSet* sets);
  // Writes the set's bindings from 0 on, at most kMaxBindings. Shaders read and write words, so a
  // range's last word is included completely.
  void write(VkDescriptorSet set, Span<const VkDescriptorBufferInfo> ranges);

 private:
  const Device* device_ = nullptr;
  UniqueDescriptorPool pool_;
};

}  // namespace wick::vulkan
