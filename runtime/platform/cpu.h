// What the processor has beyond what the compiler was told, and how it computes floats.
#pragma once

#include <cstdint>

namespace wick::platform {

bool cpu_has_sha();       // x86: instructions for SHA-256
bool cpu_has_avx_vnni();  // x86: dot products of bytes in vectors of 256 bits
bool cpu_has_dot();       // Arm: dot products of bytes in vectors of 128 bits
// x86: products of tiles of bytes, or bfloat16. The system was asked for the tiles' registers, and
// has given them.
bool cpu_gives_byte_tiles();
bool cpu_gives_bf16_tiles();

// Of the calling thread: round to nearest, subnormal numbers kept. Gives what was before, for
// restore_float_mode().
uint64_t enter_float_mode();
void restore_float_mode(uint64_t saved);

// In a loop that waits for another thread.
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
