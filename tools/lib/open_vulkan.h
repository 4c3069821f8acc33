// Opens the Vulkan device that a command's models share.
#pragma once

#include <memory>
#include <string>

#include "runtime/backend/vulkan/backend.h"
#include "wick/error.h"

namespace wick::tool {

// Returns a new backend, or the one of that name that is still in use. `all_it_can` is
// RunnerOptions'.
Result<std::shared_ptr<VulkanBackend>> open_vulkan(const std::string& device,
                                                   bool all_it_can = false, bool unchecked = false);
// Returns the error of a command that needs a device and has none.
inline Error no_vulkan(const Status& why) {
  return Error(std::string("vulkan: ") + why.message() +
                   "; `wick devices` says what there is, a device comes with its driver",
               why.code());
}

}  // namespace wick::tool
