// Facts that a SPIR-V module contains, with its specialisation applied.
#pragma once

#include "runtime/core/array.h"

namespace wick::vulkan {

struct ModuleInfo {
  uint32_t group_size[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;  // per work group
};

// `constants`: specialisation constant i has the value of element i. Fails for what it cannot
// parse; the modules are our own.
Result<ModuleInfo> module_info(Span<const uint32_t> spirv, Span<const uint32_t> constants,
                               Allocator& allocator);

}  // namespace wick::vulkan
