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
VulkanDevice VulkanBackend::device() const { return {}; }
const char* VulkanBackend::device_name() const { return ""; }
const char* VulkanBackend::device_type() const { return "other"; }
size_t VulkanBackend::complaint_count() const { return 0; }
const char* VulkanBackend::complaint(size_t) const { return ""; }
size_t VulkanBackend::checked() const { return 0; }
Status VulkanBackend::self_test(VulkanSelfTest&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::kernels(Array<VulkanKernel>& out) {
  out.clear();
  return {};
}
bool VulkanBackend::has_shaders(const KernelQuery&, Allocator&) { return false; }
Status VulkanBackend::why_not(const KernelQuery&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::pays(const PartitionSpec&) { return {}; }
Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec&, Allocator&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}

}  // namespace wick
