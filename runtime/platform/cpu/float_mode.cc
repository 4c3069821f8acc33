#include "runtime/platform/cpu.h"

#if defined(__x86_64__) || defined(__SSE__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace wick::platform {

#if defined(__x86_64__) || defined(__SSE__)
namespace {
constexpr unsigned kModeBits =
    0x8000 | 0x6000 | 0x0040;  // flush to zero, rounding, denormals are zero
}  // namespace

uint64_t enter_float_mode() {
  const unsigned mode = _mm_getcsr();
  if ((mode & kModeBits) != 0) _mm_setcsr(mode & ~kModeBits);
  return mode;
}

void restore_float_mode(uint64_t saved) {
  const auto mode = static_cast<unsigned>(saved);
  // Exception flags raised inside the scope stay raised, as they would without it.
  if ((mode & kModeBits) != 0) _mm_setcsr((_mm_getcsr() & ~kModeBits) | (mode & kModeBits));
}
#elif defined(__aarch64__)
namespace {
// FZ (24), RMode (22-23), FZ16 (19), AH and FIZ (1, 0)
constexpr uint64_t kModeBits = (7u << 22) | (1u << 19) | 3u;

void write_fpcr(uint64_t v) { asm volatile("msr fpcr, %0" : : "r"(v)); }
}  // namespace

uint64_t enter_float_mode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  if ((mode & kModeBits) != 0) write_fpcr(mode & ~kModeBits);
  return mode;
}

void restore_float_mode(uint64_t saved) {
  if ((saved & kModeBits) != 0) write_fpcr(saved);
}
#elif defined(__arm__) && defined(__ARM_FP)
namespace {
constexpr uint32_t kModeBits = (7u << 22) | (1u << 19);  // FZ (24), RMode (22-23), FZ16 (19)

uint32_t read_fpscr() {
  uint32_t v;
  asm volatile("vmrs %0, fpscr" : "=r"(v));
  return v;
}
void write_fpscr(uint32_t v) { asm volatile("vmsr fpscr, %0" : : "r"(v)); }
}  // namespace

uint64_t enter_float_mode() {
  const uint32_t mode = read_fpscr();
  if ((mode & kModeBits) != 0) write_fpscr(mode & ~kModeBits);
  return mode;
}

void restore_float_mode(uint64_t saved) {
  const auto mode = static_cast<uint32_t>(saved);
  // The register also holds the exception flags: those raised inside the scope stay raised.
  if ((mode & kModeBits) != 0) write_fpscr((read_fpscr() & ~kModeBits) | (mode & kModeBits));
}
#elif defined(__riscv_flen)
// RISC-V always keeps subnormal numbers; its rounding mode has a register apart from the flags.
uint64_t enter_float_mode() {
  unsigned long mode;
  asm volatile("frrm %0" : "=r"(mode));
  if (mode != 0) asm volatile("fsrm zero");
  return mode;
}

void restore_float_mode(uint64_t saved) {
  if (saved != 0) asm volatile("fsrm %0" : : "r"(static_cast<unsigned long>(saved)));
}
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
namespace {
// kModeBits are those of FPSCR, which scalar code and VSX obey: NI (2), RN (0-1). kNonJava is the
// NJ bit of VSCR: with it AltiVec's vector instructions (compilers emit vmaddfp) flush subnormals
// to zero; it may be set when a process starts.
constexpr uint32_t kModeBits = 7, kNonJava = 1u << 16;
using Words = uint32_t __attribute__((vector_size(16)));

// Writes the lowest field alone (XE, NI, RN): exception flags raised inside the scope stay raised.
void write_fpscr(uint64_t v) { asm volatile("mtfsf 1, %0" : : "d"(__builtin_bit_cast(double, v))); }
uint32_t read_vscr() {
  Words v;
  asm volatile("mfvscr %0" : "=v"(v));
  return v[0];
}
void write_vscr(uint32_t v) { asm volatile("mtvscr %0" : : "v"(Words{v, 0, 0, 0})); }
}  // namespace

uint64_t enter_float_mode() {
  double fpscr;
  asm volatile("mffs %0" : "=d"(fpscr));
  const uint64_t mode = __builtin_bit_cast(uint64_t, fpscr) & 15;
  const uint32_t vscr = read_vscr();
  if ((mode & kModeBits) != 0) write_fpscr(mode & ~kModeBits);
  if ((vscr & kNonJava) != 0) write_vscr(vscr & ~kNonJava);
  return mode | (vscr & kNonJava);
}

void restore_float_mode(uint64_t saved) {
  if ((saved & kModeBits) != 0) write_fpscr(saved);
  if ((saved & kNonJava) != 0) write_vscr(read_vscr() | kNonJava);
}
#elif defined(FE_TONEAREST)
uint64_t enter_float_mode() {
  const int mode = fegetround();
  if (mode != FE_TONEAREST) fesetround(FE_TONEAREST);
  return static_cast<uint64_t>(mode);
}

void restore_float_mode(uint64_t saved) {
  const int mode = static_cast<int>(saved);
  if (mode != FE_TONEAREST) fesetround(mode);
}
#else
// The compiler's own software functions compute floats here, and they have one mode.
uint64_t enter_float_mode() { return 0; }
void restore_float_mode(uint64_t /*saved*/) {}
#endif

}  // namespace wick::platform
