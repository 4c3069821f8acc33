#include "runtime/backend/vulkan/vk/pipeline.h"

namespace wick::vulkan {

Status create_set_layout(const Device& device, uint32_t bindings, UniqueSetLayout& out) {
  VkDescriptorSetLayoutBinding binding[kMaxBindings] = {};
  if (bindings > kMaxBindings) return Status(Code::kInternal, "a shader with too many bindings");
  for (uint32_t i = 0; i < bindings; ++i) {
    binding[i].binding = i;
    binding[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding[i].descriptorCount = 1;
    binding[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = bindings;
  info.pBindings = binding;
  return out.create(device, &Api::CreateDescriptorSetLayout, info, "vkCreateDescriptorSetLayout");
}

Status Pipeline::create(const Device& device, const Source& source, VkPipelineCache cache) {
  constexpr size_t kMaxConstants = 16;
  if (source.specialisation.size() > kMaxConstants) {
    return Status(Code::kInternal, "a shader with too many constants");
  }
  UniqueShaderModule shader;  // only needed until the pipeline exists
  VkShaderModuleCreateInfo module = {};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = source.spirv.size_bytes();
  module.pCode = source.spirv.data();
  WICK_TRY(shader.create(device, &Api::CreateShaderModule, module, "vkCreateShaderModule"));

  VkPushConstantRange range = {};
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = kMaxPushBytes;
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &source.set_layout;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  WICK_TRY(layout_.create(device, &Api::CreatePipelineLayout, layout, "vkCreatePipelineLayout"));

  VkSpecializationMapEntry entries[kMaxConstants] = {};
  for (uint32_t i = 0; i < source.specialisation.size(); ++i) {
    entries[i] = {i, i * 4, 4};
  }
  VkSpecializationInfo constants = {};
  constants.mapEntryCount = static_cast<uint32_t>(source.specialisation.size());
  constants.pMapEntries = entries;
  constants.dataSize = source.specialisation.size_bytes();
  constants.pData = source.specialisation.data();
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = shader.get();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_.get();
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkResult r =
      device.api().CreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &pipeline);
  WICK_TRY(check(r, "vkCreateComputePipelines"));
  pipeline_.adopt(device, pipeline);
  return {};
}

}  // namespace wick::vulkan
