// The table of embedded SPIR-V modules.
#pragma once

#include <cstdint>

#include "runtime/core/span.h"

namespace wick::vulkan {

enum class ShaderId : uint8_t {
#define WICK_SHADER(name, file, bindings, defines) k_##name,
#include "runtime/backend/vulkan/shaders/variants.def"
#undef WICK_SHADER
  kCount
};

struct Shader {
  const char* name;
  Span<const uint32_t> spirv;
  uint32_t bindings;
};

constexpr size_t kShaderCount = static_cast<size_t>(ShaderId::kCount);

Span<const Shader> shaders();  // indexed by ShaderId
inline const Shader& shader(ShaderId id) { return shaders()[static_cast<size_t>(id)]; }

}  // namespace wick::vulkan
