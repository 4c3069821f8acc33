// What a SPIR-V module says of itself, as its specialisation makes it.
#pragma once

#include "runtime/core/array.h"

namespace wick::vulkan {

struct ModuleInfo {
  uint32_t group_size[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;  // of a work group
};

// `constants`: specialisation constant i has the value of element i. An error for what it cannot
// read; modules are our own.
Result<ModuleInfo> module_info(Span<const uint32_t> spirv, Span<const uint32_t> constants,
                               Allocator& allocator);

}  // namespace wick::vulkan
