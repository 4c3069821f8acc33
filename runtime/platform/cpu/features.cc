#include "runtime/platform/cpu.h"

#include <initializer_list>

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

bool has(unsigned word, std::initializer_list<int> bits) {
  for (const int bit : bits)
    if ((word >> bit & 1) == 0) return false;
  return true;
}

// Which registers the system saves when it changes threads; 0 where it does not say so.
unsigned saved_registers() {
  constexpr int kOsXsave = 27;
  if (!has(leaf(1, 0).c, {kOsXsave})) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
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

CpuVectors cpu_vectors() {
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;  // of saved_registers()
  const Leaf one = leaf(1, 0), seven = leaf(7, 0);
  const unsigned saved = saved_registers();
  CpuVectors v;
  v.sse4 = has(one.c, {1, 20, 25});                                         // PCLMUL, SSE4.2, AES
  v.avx2 = v.sse4 && (saved & kYmm) == kYmm && has(one.c, {12, 28, 29}) &&  // FMA, AVX, F16C
           has(seven.b, {3, 5, 8});                                         // BMI, AVX2, BMI2
  v.avx512 = v.avx2 && (saved & kZmm) == kZmm && has(seven.b, {16, 17, 30, 31});  // F, DQ, BW, VL
  // VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ
  v.avx512_dl = v.avx512 && has(seven.c, {1, 6, 8, 9, 10, 11, 12, 14});
  return v;
}

bool cpu_has_sha() { return (leaf(1, 0).c & bit_SSE4_1) != 0 && (leaf(7, 0).b & bit_SHA) != 0; }
bool cpu_has_avx_vnni() { return (leaf(7, 1).a >> 4 & 1) != 0; }
bool cpu_has_avx512_bf16() { return (leaf(7, 1).a >> 5 & 1) != 0; }
bool cpu_gives_byte_tiles() { return gives_tiles(kByteTiles); }
bool cpu_gives_bf16_tiles() { return gives_tiles(kBf16Tiles); }
#else
CpuVectors cpu_vectors() { return {}; }
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
