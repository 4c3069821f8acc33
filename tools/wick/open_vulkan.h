// The Vulkan device that a command's models share.
#pragma once

#include <memory>
#include <string>

#include "runtime/backend/vulkan/backend.h"

namespace wick::tool {

// Opened anew, or the one of that name that somebody holds.
Result<std::shared_ptr<VulkanBackend>> open_vulkan(const std::string& device);

}  // namespace wick::tool
