#include "runtime/backend/vulkan/shaders/shaders.h"

namespace wick::vulkan {
namespace {

// Generated: `constexpr uint32_t k_NAME_words[] = {...};` for every row of variants.def.
#include "wick_shaders.inc"

constexpr Shader kShaders[] = {
#define WICK_SHADER(name, file, bindings, defines) {#name, k_##name##_words, bindings},
#include "runtime/backend/vulkan/shaders/variants.def"
#undef WICK_SHADER
};

}  // namespace

Span<const Shader> shaders() { return kShaders; }

}  // namespace wick::vulkan
