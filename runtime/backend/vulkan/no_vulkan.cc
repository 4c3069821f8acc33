// A build without Vulkan: the same door, and the reason why it is shut.
#include "runtime/backend/vulkan/backend.h"

namespace wick {

Result<Owned<VulkanBackend>> VulkanBackend::create(Allocator&, const VulkanOptions&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::devices(Array<VulkanDevice>& out) {
  out.clear();
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
void VulkanBackend::destroy(VulkanBackend*) {}
const char* VulkanBackend::device_name() const { return ""; }
const char* VulkanBackend::device_type() const { return "other"; }
size_t VulkanBackend::complaint_count() const { return 0; }
const char* VulkanBackend::complaint(size_t) const { return ""; }
size_t VulkanBackend::checked() const { return 0; }
bool VulkanBackend::has_shaders(const KernelQuery&, Allocator&) { return false; }
bool VulkanBackend::supports(const KernelQuery&) { return false; }
Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec&, Allocator&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}

}  // namespace wick
