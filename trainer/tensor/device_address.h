// The address of a byte that a Vulkan device holds, as a TensorView carries it: a number in which
// views compute as with any pointer, and which no host can have mapped. Which memory it is:
// trainer/tensor/vulkan_memory.h.
#pragma once

#include <cstdint>

namespace wick {

// Bit 62 is never set alone in an address of x86-64; on Arm, which may tag the top byte, bit 55
// says that an address is the kernel's.
inline constexpr uint64_t kDeviceTag = uint64_t{1} << 62 | uint64_t{1} << 55;

inline bool on_device(const void* p) {
  return (reinterpret_cast<uintptr_t>(p) & kDeviceTag) == kDeviceTag;
}

}  // namespace wick
