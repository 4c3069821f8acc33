// The address of a byte on a Vulkan device as it is stored in a TensorView: a number with which
// views compute as with any pointer, but which cannot be an address of the host.
// trainer/tensor/device/vulkan_memory.h finds the memory behind it.
#pragma once

#include <cstdint>

namespace wick {

// Bit 62 is never set alone in an address of x86-64; on Arm, which may tag the top byte, bit 55
// marks an address of the kernel.
inline constexpr uint64_t kDeviceTag = uint64_t{1} << 62 | uint64_t{1} << 55;

inline bool on_device(const void* p) {
  return (reinterpret_cast<uintptr_t>(p) & kDeviceTag) == kDeviceTag;
}

}  // namespace wick
