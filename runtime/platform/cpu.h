// CPU features beyond those that the compiler was told to assume, and the floating point mode.
#pragma once

#include <cstdint>

namespace wick::platform {

// x86: the sets of instructions that Highway's targets are compiled for, where the processor has
// all of a set, and the system keeps its registers. They are asked of the processor itself: a
// compiler's own library may not know them (that of zig 0.17 says of each that it is not there).
struct CpuVectors {
  bool sse4 = false;       // SSE4.2, AES, PCLMUL
  bool avx2 = false;       // those, AVX2, FMA, F16C, BMI, BMI2
  bool avx512 = false;     // those, AVX-512 F, VL, DQ, BW
  bool avx512_dl = false;  // those, and what Ice Lake added
};
CpuVectors cpu_vectors();

bool cpu_has_sha();          // x86: SHA-256 instructions
bool cpu_has_avx_vnni();     // x86: 256-bit dot products of bytes
bool cpu_has_avx512_bf16();  // x86: sums of pairs of products of bfloat16
bool cpu_has_dot();          // Arm: 128-bit dot products of bytes
// x86 (AMX): products of tiles of bytes or of bfloat16. The first call asks the system for
// permission to use the tile registers; true means that it was granted.
bool cpu_gives_byte_tiles();
bool cpu_gives_bf16_tiles();

// Sets the calling thread to round to nearest without flushing subnormal numbers. Returns the
// previous mode, for restore_float_mode().
uint64_t enter_float_mode();
void restore_float_mode(uint64_t saved);

// A hint for loops that wait for another thread.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#elif defined(__riscv)
  asm volatile(".insn i 0x0f, 0, x0, x0, 0x010");  // "pause", which older assemblers do not know
#elif defined(__powerpc64__)
  asm volatile("or 27, 27, 27");  // "yield"
#endif
}

}  // namespace wick::platform
