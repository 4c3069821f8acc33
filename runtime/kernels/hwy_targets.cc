// Target selection for Highway's dynamic dispatch. Highway is used through its headers only: this
// file defines the few functions that they need, so that nothing links libhwy (a .so in Debian).
#define HWY_WANT_AVX3_DL  // every target that any file has
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "hwy/targets.h"
#include "runtime/core/status.h"
#include "runtime/kernels/simd.h"
#include "runtime/platform/cpu.h"

namespace hwy {
namespace {

constinit ChosenTarget g_chosen;

}  // namespace

ChosenTarget& GetChosenTarget() { return g_chosen; }

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
// Only one target is compiled: there is nothing to choose, and no need for 64-bit atomics, which
// small machines lack.
int64_t SupportedTargets() { return HWY_STATIC_TARGET; }
void DisableTargets(int64_t /*disabled_targets*/) {}
void SetSupportedTargetsForTest(int64_t /*targets*/) {}
#else
namespace {

constinit std::atomic<int64_t> g_disabled{0};
constinit std::atomic<int64_t> g_forced{0};

int64_t detect_targets() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  const wick::platform::CpuVectors cpu = wick::platform::cpu_vectors();
  if (cpu.sse4) targets |= HWY_SSSE3 | HWY_SSE4;
  if (cpu.avx2) targets |= HWY_AVX2;
  if (cpu.avx512) targets |= HWY_AVX3;
  if (cpu.avx512_dl) targets |= HWY_AVX3_DL;
#else
  targets |= HWY_TARGETS & HWY_NEON;  // part of the baseline wherever it is compiled
#endif
  return targets & HWY_TARGETS;
}

// Files without AVX3_DL code of their own run their AVX3 code there.
void choose(int64_t targets) {
  if (targets & HWY_AVX3_DL) targets |= HWY_AVX3;
  g_chosen.Update(targets);
}

}  // namespace

int64_t SupportedTargets() {
  static constinit std::atomic<int64_t> detected{0};
  int64_t all = detected.load(std::memory_order_relaxed);
  if (all == 0) {
    all = detect_targets();
    detected.store(all, std::memory_order_relaxed);
  }
  if (int64_t forced = g_forced.load()) all &= forced;
  all &= ~g_disabled.load();
  return all != 0 ? all : HWY_STATIC_TARGET;
}

void DisableTargets(int64_t disabled_targets) {
  g_disabled.store(disabled_targets);
  choose(SupportedTargets());
}

void SetSupportedTargetsForTest(int64_t targets) {
  g_forced.store(targets);
  choose(SupportedTargets());
}
#endif

void Abort(const char* file, int line, const char* format, ...) {
#if WICK_ERROR_TEXTS
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
#else
  (void)file, (void)line, (void)format;
#endif
  abort();
}

}  // namespace hwy

namespace wick {

int64_t simd_targets() { return hwy::SupportedTargets() & HWY_TARGETS; }

void force_simd_targets(int64_t targets) { hwy::SetSupportedTargetsForTest(targets); }

const char* simd_target_name(int64_t target) { return hwy::TargetName(target); }

#if HWY_ARCH_ARM_V7
// runtime/cmake/WickRuntime.cmake disables it: it flushes subnormals to zero, its Div is an
// estimate with Newton steps, and its MulAdd rounds twice.
static_assert((HWY_TARGETS & HWY_NEON) == 0, "NEON on 32-bit Arm does not keep the bits (P2)");
#endif

bool simd_target_has_fma(int64_t target) {
#if defined(__wasm_relaxed_simd__)
  return (target & HWY_EMU128) == 0;
#else
  return (target & (HWY_SSSE3 | HWY_SSE4 | HWY_EMU128 | HWY_WASM)) == 0;
#endif
}

}  // namespace wick
