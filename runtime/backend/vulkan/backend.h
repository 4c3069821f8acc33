// The Vulkan backend: opens the system's Vulkan loader at run time and runs f32 steps on a device;
// the session gives every step it has no shader for to the CPU. Vulkan floats keep a derived bound
// (P3), not the CPU's bits.
#pragma once

#include "runtime/backend/backend.h"

namespace wick {

namespace vulkan {
class Context;
class Fingerprint;
class Trust;
struct Api;
}  // namespace vulkan

struct VulkanOptions {
  // Index or part of a name (any case). Null or "": the environment's WICK_VULKAN_DEVICE, else the
  // best device.
  const char* device = nullptr;
  // Copies through staging buffers even where host and device share memory. For tests: slower, same
  // results.
  bool force_staging = false;
  // A run on the device that takes longer is taken for a hang: the session goes on on the CPU.
  uint64_t hang_ns = 60'000'000'000;
  // Checks each kernel against the CPU before a model's first run on this driver (trust/trust.h).
  bool check_kernels = true;
  // Where verdicts and compiled pipelines are kept: null for the environment's WICK_CACHE_DIR, else
  // the user's cache folder; "": nowhere.
  const char* cache_folder = nullptr;
  void (*intercept)(vulkan::Api&) = nullptr;  // for tests: replaces Vulkan functions
};

// A device as the loader lists it.
struct VulkanDevice {
  char name[256] = "";
  const char* type = "";          // VulkanBackend::device_type's
  const char* why_unusable = "";  // "" for one that can be used
  bool best = false;              // taken where none is asked for
  uint32_t vulkan_major = 0, vulkan_minor = 0, driver_version = 0;
  uint64_t memory_bytes = 0, largest_allocation_bytes = 0, largest_tensor_bytes = 0;
  uint32_t subgroup_size = 0, shared_memory_bytes = 0;
  bool subgroup_arithmetic = false, f16_storage = false, f16_arithmetic = false;
  bool i8_storage = false, integer_dot = false, matrix_units = false;
};

class VulkanBackend final : public Backend {
 public:
  // All that there are, in the loader's order, which VulkanOptions::device counts by. kUnsupported
  // and kDevice as create().
  static Status devices(Array<VulkanDevice>& out);
  // Fails with one line to show the user: kUnsupported in a build without Vulkan; kDevice without a
  // loader or a usable device; kNotFound when no device is the one asked for. The caller then runs
  // on the CPU alone.
  static Result<Owned<VulkanBackend>> create(Allocator& allocator,
                                             const VulkanOptions& options = {});
  static void destroy(VulkanBackend* backend);  // after every session that used it

  const char* device_name() const;
  // "discrete gpu", "integrated gpu", "virtual gpu", "cpu", "other"
  const char* device_type() const;

  const char* name() const override { return "vulkan"; }
  // Whether there are shaders for a call, whatever the device. False in a build without Vulkan.
  static bool has_shaders(const KernelQuery& query, Allocator& allocator = default_allocator());
  // Also false for a kernel that was seen to compute something else than the CPU.
  bool supports(const KernelQuery& query) override { return why_not(query).ok(); }
  // The reason, where it does not.
  Status why_not(const KernelQuery& query);
  // Kernels found so in this process: "Conv to float32 [1, 8, 4, 4]: element 3 is 0, the CPU's 2".
  size_t complaint_count() const;
  const char* complaint(size_t i) const;
  size_t checked() const;  // kernels compared with the CPU in this process
  Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) override;
  vulkan::Context& context() { return *context_; }

 private:
  VulkanBackend(Allocator& allocator, vulkan::Context* context)
      : allocator_(allocator), context_(context) {}
  ~VulkanBackend() = default;
  static Status shaders_of(const KernelQuery& query, Allocator& allocator,
                           vulkan::Fingerprint* fingerprint);

  Allocator& allocator_;
  vulkan::Context* context_;
  vulkan::Trust* trust_ = nullptr;  // null: nothing is checked
};

}  // namespace wick
