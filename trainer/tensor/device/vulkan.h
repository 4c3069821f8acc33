// Vulkan as a device of tensors. The Vulkan loader is searched when one of these functions, or the
// first transfer to "vulkan", needs it; a program that never does has no cost.
//
//   if (vulkan_is_available()) {
//     net.to("vulkan");
//     Tensor y = net(x.to("vulkan"));  // runs there; returns before the device is done
//     print(y.cpu());                  // waits
//   }
//
// Transfers are explicit. An op on tensors of two devices throws an Error that names both; only a
// 0-dim CPU tensor (a number) is moved to the Vulkan device automatically. An op without a shader
// throws Error too, and never falls back to the CPU silently. Floats keep P3's bounds, not the
// CPU's bits.
#pragma once

#include <source_location>
#include <string>

namespace wick {

// Returns whether there is a Vulkan device that Wick can use.
bool vulkan_is_available();
// Returns "" if Vulkan is available, else the reason in one line.
std::string why_no_vulkan();
// Returns the number of devices that the loader lists, including unusable ones; 0 if there is no
// loader.
int vulkan_device_count();
// Returns the name of "vulkan" (-1) or "vulkan:N". Throws Error if there is no such device.
std::string vulkan_device_name(int index = -1,
                               const std::source_location& where = std::source_location::current());

// Returns when all work submitted to Vulkan devices so far is done. Throws the errors that occurred
// there since: an index out of range in a shader, a lost device.
void vulkan_synchronize(const std::source_location& where = std::source_location::current());

}  // namespace wick
