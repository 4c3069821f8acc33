// Vulkan as a device of tensors. A loader is looked for when the first of these, or the first
// transfer to "vulkan", asks; a program that never does pays nothing.
//
//   if (vulkan_is_available()) {
//     net.to("vulkan");
//     Tensor y = net(x.to("vulkan"));  // runs there; returns before the device is done
//     print(y.cpu());                  // waits
//   }
//
// Transfers are explicit. An op on tensors of two devices is an error that names both; only a 0-dim
// CPU tensor (a number) joins one of Vulkan by itself. What has no shader is an error too, never a
// quiet trip to the CPU. Floats keep P3's bounds, not the CPU's bits.
#pragma once

#include <source_location>
#include <string>

namespace wick {

bool vulkan_is_available();
// "" where it is; else the one line why not.
std::string why_no_vulkan();
// As the loader lists them, those that cannot be used too; 0 where there is no loader.
int vulkan_device_count();
// Of "vulkan" (-1) or "vulkan:N". Error where there is none.
std::string vulkan_device_name(int index = -1,
                               const std::source_location& where = std::source_location::current());

// Returns when all that was given to Vulkan devices so far is done. Throws what went wrong there
// since: an index out of range in a shader, a lost device.
void vulkan_synchronize(const std::source_location& where = std::source_location::current());

}  // namespace wick
