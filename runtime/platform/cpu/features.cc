#include "runtime/platform/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace wick::platform {

#if defined(__x86_64__) || defined(__i386__)
namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

// Returns all zeros where the processor has no such leaf.
Leaf leaf(unsigned number, unsigned part) {
  Leaf l;
  if (__get_cpuid_count(number, part, &l.a, &l.b, &l.c, &l.d) == 0) return {};
  return l;
}

[[maybe_unused]] constexpr unsigned kBf16Tiles = 1u << 22, kTiles = 1u << 24, kByteTiles = 1u << 25;

bool gives_tiles(unsigned kind) {
#if defined(__x86_64__) && defined(__linux__)
  if ((~leaf(7, 0).d & (kind | kTiles)) != 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  (void)kind;
  return false;
#endif
}

}  // namespace

bool cpu_has_sha() { return (leaf(1, 0).c & bit_SSE4_1) != 0 && (leaf(7, 0).b & bit_SHA) != 0; }
bool cpu_has_avx_vnni() { return (leaf(7, 1).a >> 4 & 1) != 0; }
bool cpu_has_avx512_bf16() { return (leaf(7, 1).a >> 5 & 1) != 0; }
bool cpu_gives_byte_tiles() { return gives_tiles(kByteTiles); }
bool cpu_gives_bf16_tiles() { return gives_tiles(kBf16Tiles); }
#else
bool cpu_has_sha() { return false; }
bool cpu_has_avx_vnni() { return false; }
bool cpu_has_avx512_bf16() { return false; }
bool cpu_gives_byte_tiles() { return false; }
bool cpu_gives_bf16_tiles() { return false; }
#endif

bool cpu_has_dot() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kHasDot = 1ul << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kHasDot) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  return true;
#else
  return false;
#endif
}

}  // namespace wick::platform
