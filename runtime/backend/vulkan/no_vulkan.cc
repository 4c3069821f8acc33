// A build without Vulkan: the same door, and the reason why it is shut.
#include "runtime/backend/vulkan/backend.h"

namespace wick {

Result<Owned<VulkanBackend>> VulkanBackend::create(Allocator&, const VulkanOptions&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
void VulkanBackend::destroy(VulkanBackend*) {}
const char* VulkanBackend::device_name() const { return ""; }
const char* VulkanBackend::device_type() const { return "other"; }
bool VulkanBackend::has_shaders(const KernelQuery&, Allocator&) { return false; }
bool VulkanBackend::supports(const KernelQuery&) { return false; }
Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec&, Allocator&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}

}  // namespace wick
