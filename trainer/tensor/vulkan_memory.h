// The Vulkan half of tensors, for the files of trainer/ that touch bytes or run kernels; not
// public.
#pragma once

#include "runtime/backend/vulkan/eager/eager.h"
#include "trainer/tensor/internal.h"

namespace wick {

// A device that tensors are on. Open while a tensor is, or until it fails or close_vulkan().
struct VulkanPlace {
  Owned<VulkanEager> eager;
  int index = 0;  // in the loader's list
};

// What an address of a Vulkan tensor (on_device()) stands for.
struct VulkanSpot {
  VulkanPlace* place = nullptr;
  VulkanMemory* memory = nullptr;
  uint64_t offset = 0;  // in bytes
};
VulkanSpot spot_of(const void* address);
// The memory behind an address that Storage had; its last use.
void release_vulkan(void* address);

// "vulkan:0: vkAllocateMemory: ..."
std::string failure_text(const VulkanPlace& place, Status status);

Device device_of(const TensorView& v);
Device best_vulkan(const Where& where);  // what "vulkan" stands for

// On the same device as `beside`, contents undefined.
Tensor new_tensor_beside(const TensorView& beside, const Shape& shape, DType dtype,
                         const Where& born);
// Full of one value, given as a tensor of one element on the CPU.
Tensor full_beside(const TensorView& beside, const Shape& shape, const Tensor& value,
                   const Where& born);

// A contiguous copy there, without history. Never the tensor itself.
Tensor transfer(const char* op, const Tensor& x, const Device& device, bool non_blocking,
                const Where& where);
// zeros() on the device of `beside`.
Tensor zeros_beside(const Tensor& beside, const Shape& shape, DType dtype,
                    const Where& where = Where::current());
// `t` itself where it is on the host.
Tensor to_host(const Tensor& t, const Where& where = Where::current());
// Where the device of `beside` is another one: a copy of t there.
Tensor moved_beside(const Tensor& beside, const Tensor& t, const Where& where = Where::current());
// The bytes of `from` into those of `to`: same shape, dtype and device, any strides, no overlap.
void copy_bytes(const Tensor& from, const Tensor& to, const Where& where = Where::current());

// A call that has an input on a device: numbers (0-dim CPU tensors without history) are moved
// there. Error for tensors of two devices, with both.
struct PlacedInputs {
  SmallVector<Tensor, 6> moved;
  SmallVector<const Tensor*, 6> in;
  TensorView there;  // of an input that is on the device
};
void place_inputs(OpId op, Span<const Tensor* const> in, const Where& where, PlacedInputs* placed);
// Runs a call on the device of its outputs, or says why that has no shader.
void run_on_vulkan(OpId op, const void* attrs, Span<const TensorView> in,
                   Span<const TensorView> out, const Where& where);

// The error of a call, with the module that runs.
[[noreturn]] void fail_call(OpId op, Status status, const Where& where);

bool any_on_device(Span<const TensorView> views);

// Every device that is open, waited for.
void wait_for_vulkan(const char* op, const Where& where);

// -- for tests
// Devices opened from now on are opened so; those that are open are let go of.
void set_vulkan_options(const VulkanOptions& options);
// Devices that no tensor is on are closed.
void close_vulkan();

}  // namespace wick
