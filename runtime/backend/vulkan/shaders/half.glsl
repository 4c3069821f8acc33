// STORE may be float16_t: 16 bits in memory, float in registers.
#if HALF
#extension GL_EXT_shader_16bit_storage : require
#endif
