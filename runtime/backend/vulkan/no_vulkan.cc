// The interface in a build without Vulkan: every function fails with the reason.
#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/eager/eager.h"

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
const char* VulkanBackend::why_no_shader(OpId) { return "this build of Wick is without Vulkan"; }
Status VulkanBackend::why_not(const KernelQuery&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::pays(const PartitionSpec&) { return {}; }
Result<Owned<DeviceTensor>> VulkanBackend::create_tensor(DType, const Shape&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::load_cache(const char*) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Status VulkanBackend::save_cache(const char*) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}
Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec&, Allocator&) {
  return Status(Code::kUnsupported, "this build of Wick is without Vulkan");
}

namespace {
Status without() { return Status(Code::kUnsupported, "this build of Wick is without Vulkan"); }
}  // namespace

Result<Owned<VulkanEager>> VulkanEager::create(Allocator&, const VulkanOptions&) {
  return without();
}
void VulkanEager::destroy(VulkanEager*) {}
Result<int> VulkanEager::find(const char*) { return without(); }
Result<int> VulkanEager::count() { return without(); }
const char* VulkanEager::device_name() const { return ""; }
Result<VulkanMemory*> VulkanEager::allocate(uint64_t) { return without(); }
void VulkanEager::free(VulkanMemory*) {}
uint64_t VulkanEager::live_bytes() const { return 0; }
uint64_t VulkanEager::kept_bytes() const { return 0; }
Status VulkanEager::upload(VulkanMemory&, const void*, uint64_t, bool) { return without(); }
Status VulkanEager::download(VulkanMemory&, uint64_t, void*, uint64_t) { return without(); }
Status VulkanEager::fill(VulkanMemory&, uint64_t, uint32_t) { return without(); }
Status VulkanEager::copy(const VulkanOperand&, const VulkanOperand&) { return without(); }
Status VulkanEager::run(const VulkanCall&) { return without(); }
bool VulkanEager::reads_input(OpId, size_t) { return true; }
Status VulkanEager::flush() { return without(); }
Status VulkanEager::synchronize() { return without(); }
size_t VulkanEager::in_flight() const { return 0; }

}  // namespace wick
