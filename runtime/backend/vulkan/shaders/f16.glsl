// IEEE float16 arithmetic, two elements per word, as VK_KHR_shader_float_controls guarantees for such modules. No other
// float type is used: some devices cannot have different modes for two types.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 16);  // DenormPreserve
spirv_execution_mode(capabilities = [4466], 4461, 16);                                          // SignedZeroInfNanPreserve
spirv_execution_mode(capabilities = [4467], 4462, 16);                                          // RoundingModeRTE

#define SIGNS_OF_BOTH 0x80008000u

// Elements after the last of n stay 0.
uint word_within(uint both, uint w, uint n) { return 2 * w + 1 < n ? both : both & 0xffffu; }
