// The Vulkan backend: opens the system's Vulkan loader at run time and runs f32 steps on a device;
// steps without a shader run on the CPU. Floats on Vulkan keep a derived error bound (P3), not the
// CPU's bits.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/array.h"

namespace wick {

namespace vulkan {
class Context;
class Fingerprint;
struct Capabilities;
class Trust;
struct Api;
}  // namespace vulkan

// Options of VulkanBackend::create().
struct VulkanOptions {
  // Index or part of a name (case-insensitive). Null or "": the environment's WICK_VULKAN_DEVICE,
  // else the best device.
  const char* device = nullptr;
  // Copies through staging buffers even if host and device share memory, like
  // WICK_VULKAN_FORCE_STAGING=1 in the environment. For tests: slower, same results.
  bool force_staging = false;
  // A run on the device that takes longer counts as a hang: the session continues on the CPU.
  uint64_t hang_ns = 60'000'000'000;
  // Compares each kernel with the CPU before a model's first run on this driver (trust/trust.h).
  bool check_kernels = true;
  // The folder for verdicts and compiled pipelines; null: the environment's WICK_CACHE_DIR, else
  // the user's cache folder; "": they are not stored.
  const char* cache_folder = nullptr;
  // For tests, 0 for none: limits the bytes of a tensor that a shader can access, and those of one
  // allocation (vulkan::ContextOptions).
  uint64_t max_range = 0, max_allocation = 0;
  bool timeline = true;  // false, for tests: uses fences even with timeline semaphores
  // Steps between others that run on the CPU go to the device where that pays (offload.h), or
  // whenever it can run them. A program that it can run completely always runs there.
  enum class Offload : uint8_t { kWhatPays, kAllItCan };
  // See Offload.
  Offload offload = Offload::kWhatPays;
  void (*intercept)(vulkan::Api&) = nullptr;  // for tests: replaces Vulkan functions
};

// A device in the loader's list.
struct VulkanDevice {
  char name[256] = "";            // the driver's
  const char* type = "";          // as VulkanBackend::device_type()
  const char* why_unusable = "";  // "" for one that can be used
  bool best = false;              // chosen where none is requested
  // The API and the driver; limits in bytes; and what compute shaders may use.
  uint32_t vulkan_major = 0, vulkan_minor = 0, driver_version = 0;
  uint64_t memory_bytes = 0, largest_allocation_bytes = 0, largest_tensor_bytes = 0;
  uint32_t subgroup_size = 0, shared_memory_bytes = 0;
  bool subgroup_arithmetic = false, f16_storage = false, f16_arithmetic = false;
  // These describe 16-bit arithmetic; f16_ieee: all of them.
  bool f16_rounds_to_even = false, f16_keeps_subnormals = false, f16_keeps_specials = false;
  bool f16_ieee = false, i8_storage = false, integer_dot = false, matrix_units = false;
};

// Receives the results of a self-test.
class VulkanSelfTest {
 public:
  // An op that the self-test compared with the CPU.
  struct Call {
    const char* op;                   // its name
    TensorView made;                  // the first output: dtype and shape
    Span<const char* const> kernels;  // the kernels that the call runs
    const char* wrong;                // "": always equal to the CPU's; else calls stay there
  };
  // Called after each.
  virtual void on_call(const Call& call) = 0;
  virtual void on_unused(const char* kernel) = 0;  // no call that this device can run uses it

 protected:
  ~VulkanSelfTest() = default;
};

// A kernel before its specialisation.
struct VulkanKernel {
  const char* name = "";  // the shader's
  // Its declared sizes, and the number of buffers.
  uint32_t group_size[3] = {}, shared_bytes = 0, buffers = 0;
};

// Runs steps on a Vulkan device. Sessions in any number of threads may share one; it must outlive
// them.
class VulkanBackend final : public Backend {
 public:
  // Lists all devices in the loader's order, in which VulkanOptions::device counts. kUnsupported
  // and kDevice as for create().
  static Status devices(Array<VulkanDevice>& out);
  // Fails with a one-line text for the user: kUnsupported in a build without Vulkan; kDevice
  // without a loader or a usable device; kNotFound when no device is the requested one. The caller
  // then uses only the CPU.
  static Result<Owned<VulkanBackend>> create(Allocator& allocator,
                                             const VulkanOptions& options = {});
  static void destroy(VulkanBackend* backend);  // after every session that used it

  // Return the opened device, and its name.
  VulkanDevice device() const;
  const char* device_name() const;
  // "discrete gpu", "integrated gpu", "virtual gpu", "cpu" or "other".
  const char* device_type() const;

  const char* name() const override { return "vulkan"; }
  // Returns whether there are shaders for a call, on any device. False in a build without Vulkan.
  static bool has_shaders(const KernelQuery& query, Allocator& allocator = default_allocator());
  // Returns why the op has no shader for any dtype or size; "" for an op that has some.
  static const char* why_no_shader(OpId op);
  // Also false for a kernel whose results were found to differ from the CPU's.
  bool supports(const KernelQuery& query) override { return why_not(query).ok(); }
  Status why_not(const KernelQuery& query) override;
  Status pays(const PartitionSpec& spec) override;
  // The kernels found to differ in this process: "Conv to float32 [1, 8, 4, 4]: element 3 is 0, the
  // CPU's 2".
  size_t complaint_count() const;
  const char* complaint(size_t i) const;
  size_t checked() const;  // kernels compared with the CPU in this process
  // Compares calls of every kernel with the CPU, even if a verdict is known, and stores the
  // verdicts. Fails if that was not possible.
  Status self_test(VulkanSelfTest& report);
  static Status kernels(Array<VulkanKernel>& out);
  Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) override;
  Result<Owned<DeviceTensor>> create_tensor(DType dtype, const Shape& shape) override;
  const void* home() const override { return context_; }
  Status load_cache(const char* path) override;
  // Writes what this process knows of the device's kernels, the compiled pipelines included, to a
  // file for load_cache(): of the kernels of one model where only that was bound, and the options'
  // cache_folder is "". kInvalidArgument: kernels are not checked (check_kernels); kIo,
  // kOutOfMemory, kDevice; kBudgetExceeded: the file would be larger than load_cache() takes.
  Status save_cache(const char* path);
  // Returns the opened device as the backend's own parts see it.
  vulkan::Context& context() { return *context_; }

 private:
  class Examiner;
  VulkanBackend(Allocator& allocator, vulkan::Context* context)
      : allocator_(allocator), context_(context) {}
  ~VulkanBackend() = default;
  // Tells how a call is checked: as it is or expanded, and whether in parts because a shader cannot
  // access it whole.
  enum class Form : uint8_t { kCall, kCallInParts, kExpandedInParts };
  // The bytes that a shader can access, and those of one allocation.
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
