// DescriptorSets: a pool of sets of storage buffers, which frees them together.
#pragma once

#include "runtime/backend/vulkan/vk/device.h"

namespace wick::vulkan {

class DescriptorSets {
 public:
  // Room for so many sets, of so many bindings altogether. Frees those before.
  Status create(const Device& device, uint32_t sets, uint32_t bindings);
  // One set a layout.
  Status allocate(Span<const VkDescriptorSetLayout> layouts, VkDescriptorSet* sets);
  // The set's bindings from 0 on, at most kMaxBindings. Bytes are read and written as words: a
  // range's last one is taken whole.
  void write(VkDescriptorSet set, Span<const VkDescriptorBufferInfo> ranges);

 private:
  const Device* device_ = nullptr;
  UniqueDescriptorPool pool_;
};

}  // namespace wick::vulkan
