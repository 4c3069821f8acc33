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

const Shader& shader(ShaderId id) { return kShaders[static_cast<size_t>(id)]; }

}  // namespace wick::vulkan
