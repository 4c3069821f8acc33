#include "runtime/backend/vulkan/vk/descriptors.h"

#include "runtime/backend/vulkan/vk/pipeline.h"

namespace wick::vulkan {

Status DescriptorSets::create(const Device& device, uint32_t sets, uint32_t bindings) {
  device_ = &device;
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, bindings};
  VkDescriptorPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = sets;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  return pool_.create(device, &Api::CreateDescriptorPool, info, "vkCreateDescriptorPool");
}

Status DescriptorSets::allocate(Span<const VkDescriptorSetLayout> layouts, VkDescriptorSet* sets) {
  VkDescriptorSetAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool_.get();
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  return check(device_->api().AllocateDescriptorSets(device_->handle(), &info, sets),
               "vkAllocateDescriptorSets");
}

void DescriptorSets::write(VkDescriptorSet set, Span<const VkDescriptorBufferInfo> ranges) {
  VkDescriptorBufferInfo words[kMaxBindings] = {};
  VkWriteDescriptorSet writes[kMaxBindings] = {};
  for (uint32_t k = 0; k < ranges.size(); ++k) {
    words[k] = ranges[k];
    words[k].range = (words[k].range + 3) / 4 * 4;
    writes[k].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[k].dstSet = set;
    writes[k].dstBinding = k;
    writes[k].descriptorCount = 1;
    writes[k].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[k].pBufferInfo = &words[k];
  }
  device_->api().UpdateDescriptorSets(device_->handle(), static_cast<uint32_t>(ranges.size()),
                                      writes, 0, nullptr);
}

}  // namespace wick::vulkan
