// The Vulkan part of tensors, for the files of trainer/ that access bytes or run kernels; not
// public.
#pragma once

#include "runtime/backend/vulkan/eager/eager.h"
#include "trainer/tensor/internal.h"

namespace wick {

// A device that holds tensors. It is open while a tensor is on it, or until it fails or
// close_vulkan() is called.
struct VulkanPlace {
  Owned<VulkanEager> eager;
  int index = 0;  // in the loader's list
};

// The memory that an address of a Vulkan tensor (on_device()) refers to.
struct VulkanSpot {
  VulkanPlace* place = nullptr;
  VulkanMemory* memory = nullptr;
  uint64_t offset = 0;  // in bytes
};
VulkanSpot spot_of(const void* address);
// Frees the memory behind an address of a Storage, which must not be used afterwards.
void release_vulkan(void* address);

// Returns "vulkan:0: vkAllocateMemory: ...".
std::string failure_text(const VulkanPlace& place, Status status);

Device device_of(const TensorView& v);
Device best_vulkan(const Where& where);  // the device that "vulkan" means

// Makes an uninitialized tensor on the device of `beside`.
Tensor new_tensor_beside(const TensorView& beside, const Shape& shape, DType dtype,
                         const Where& born);
// Makes a tensor on the device of `beside` filled with one value, which is given as a CPU tensor of
// one element.
Tensor full_beside(const TensorView& beside, const Shape& shape, const Tensor& value,
                   const Where& born);

// Returns a contiguous copy on the device, without a history; never the tensor itself.
Tensor transfer(const char* op, const Tensor& x, const Device& device, bool non_blocking,
                const Where& where);
// Makes zeros() on the device of `beside`.
Tensor zeros_beside(const Tensor& beside, const Shape& shape, DType dtype,
                    const Where& where = Where::current());
// Returns `t` itself if it is on the host, else a copy there.
Tensor to_host(const Tensor& t, const Where& where = Where::current());
// Returns t, or a copy of it on the device of `beside` if that is another one.
Tensor moved_beside(const Tensor& beside, const Tensor& t, const Where& where = Where::current());
// Copies the bytes of `from` to `to`: same shape, dtype and device, any strides, no overlap.
void copy_bytes(const Tensor& from, const Tensor& to, const Where& where = Where::current());

// The inputs of a call with an input on a device: numbers (0-dim CPU tensors without a history) are
// moved there. Throws an Error that names both devices if tensors are on two.
struct PlacedInputs {
  SmallVector<Tensor, 6> moved;
  SmallVector<const Tensor*, 6> in;
  TensorView there;  // the view of an input that is on the device
};
void place_inputs(OpId op, Span<const Tensor* const> in, const Where& where, PlacedInputs* placed);
// Runs a call on the device of its outputs; throws if that has no shader for it.
void run_on_vulkan(OpId op, const void* attrs, Span<const TensorView> in,
                   Span<const TensorView> out, const Where& where);

// Throws the error of a call, with the running module.
[[noreturn]] void fail_call(OpId op, Status status, const Where& where);

bool any_on_device(Span<const TensorView> views);

// Waits for every open device.
void wait_for_vulkan(const char* op, const Where& where);

// -- for tests
// Devices opened from now on use these options; those that are open are released.
void set_vulkan_options(const VulkanOptions& options);
// Closes devices that hold no tensor.
void close_vulkan();

}  // namespace wick
