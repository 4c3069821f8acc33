// The Vulkan backend: opens the system's Vulkan loader at run time and runs f32 steps on a device;
// the session gives every step it has no shader for to the CPU. Vulkan floats keep a derived bound
// (P3), not the CPU's bits.
#pragma once

#include "runtime/backend/backend.h"

namespace wick {

namespace vulkan {
class Context;
class Fingerprint;
struct Capabilities;
class Trust;
struct Api;
}  // namespace vulkan

struct VulkanOptions {
  // Index or part of a name (any case). Null or "": the environment's WICK_VULKAN_DEVICE, else the
  // best device.
  const char* device = nullptr;
  // Copies through staging buffers even where host and device share memory, as the environment's
  // WICK_VULKAN_FORCE_STAGING=1 says too. For tests: slower, same results.
  bool force_staging = false;
  // A run on the device that takes longer is taken for a hang: the session goes on on the CPU.
  uint64_t hang_ns = 60'000'000'000;
  // Checks each kernel against the CPU before a model's first run on this driver (trust/trust.h).
  bool check_kernels = true;
  // Where verdicts and compiled pipelines are kept: null for the environment's WICK_CACHE_DIR, else
  // the user's cache folder; "": nowhere.
  const char* cache_folder = nullptr;
  // For tests, 0 for none: as if the device showed a shader no more bytes of a tensor, and gave no
  // more at once (vulkan::ContextOptions).
  uint64_t max_range = 0, max_allocation = 0;
  bool timeline = true;  // false, for tests: fences also where there are timeline semaphores
  // Steps between others that run on the CPU: given to the device where that pays (offload.h), or
  // all that it can run. A program of which it runs every step is its own in any case.
  enum class Offload : uint8_t { kWhatPays, kAllItCan };
  Offload offload = Offload::kWhatPays;
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
  // Of arithmetic in 16 bits; f16_ieee: all of it.
  bool f16_rounds_to_even = false, f16_keeps_subnormals = false, f16_keeps_specials = false;
  bool f16_ieee = false, i8_storage = false, integer_dot = false, matrix_units = false;
};

// What a self-test found.
class VulkanSelfTest {
 public:
  struct Call {
    const char* op;
    TensorView made;                  // its first output: dtype and shape
    Span<const char* const> kernels;  // that it runs
    const char* wrong;                // "": as the CPU, in every run; else the call stays there
  };
  virtual void on_call(const Call& call) = 0;
  virtual void on_unused(const char* kernel) = 0;  // no call that this device can run has it

 protected:
  ~VulkanSelfTest() = default;
};

// A kernel, before its specialisation.
struct VulkanKernel {
  const char* name = "";
  uint32_t group_size[3] = {}, shared_bytes = 0, buffers = 0;
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

  VulkanDevice device() const;
  const char* device_name() const;
  // "discrete gpu", "integrated gpu", "virtual gpu", "cpu", "other"
  const char* device_type() const;

  const char* name() const override { return "vulkan"; }
  // Whether there are shaders for a call, whatever the device. False in a build without Vulkan.
  static bool has_shaders(const KernelQuery& query, Allocator& allocator = default_allocator());
  // Why no call of the op has one, whatever its dtypes and sizes; "" for an op that has some.
  static const char* why_no_shader(OpId op);
  // Also false for a kernel that was seen to compute something else than the CPU.
  bool supports(const KernelQuery& query) override { return why_not(query).ok(); }
  Status why_not(const KernelQuery& query) override;
  Status pays(const PartitionSpec& spec) override;
  // Kernels found so in this process: "Conv to float32 [1, 8, 4, 4]: element 3 is 0, the CPU's 2".
  size_t complaint_count() const;
  const char* complaint(size_t i) const;
  size_t checked() const;  // kernels compared with the CPU in this process
  // Compares calls of every kernel with the CPU, whatever is known of them, and keeps what it
  // finds. An error: it could not be done.
  Status self_test(VulkanSelfTest& report);
  static Status kernels(Array<VulkanKernel>& out);
  Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) override;
  vulkan::Context& context() { return *context_; }

 private:
  class Examiner;
  VulkanBackend(Allocator& allocator, vulkan::Context* context)
      : allocator_(allocator), context_(context) {}
  ~VulkanBackend() = default;
  // How a call is looked at: as it is or expanded, and whether a part is more than a shader sees.
  enum class Form : uint8_t { kCall, kCallInParts, kExpandedInParts };
  // Bytes that a shader sees, and of one allocation.
  struct Limits {
    uint64_t range = UINT64_MAX, allocation = UINT64_MAX;
  };
  static Status shaders_of(const KernelQuery& query, Allocator& allocator,
                           const vulkan::Capabilities& can, const Limits& limits,
                           vulkan::Fingerprint* fingerprint, Form* form);

  Allocator& allocator_;
  vulkan::Context* context_;
  vulkan::Trust* trust_ = nullptr;  // null: nothing is checked
  bool all_it_can_ = false;
};

}  // namespace wick
