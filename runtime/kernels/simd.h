// The SIMD targets that are compiled in and that this CPU supports, without Highway's headers.
#pragma once

#include <cstdint>

namespace wick {

// Returns a bit set of Highway targets (HWY_AVX2, ...), of which the lowest bit is the best. Never
// empty. Respects force_simd_targets().
int64_t simd_targets();

// From now on only these targets are chosen (of those that the CPU has; 0: all again). For tests
// and `wick bench`: not to be called while kernels run. Earlier plans keep their choice.
void force_simd_targets(int64_t targets);

const char* simd_target_name(int64_t target);

// Returns whether the target has a fused multiply-add: it then gives the same bits as the reference
// (P2 of the numeric contract).
bool simd_target_has_fma(int64_t target);

// Calls f(target) once for each available target, with only that one enabled.
template <class F>
void for_each_simd_target(F&& f) {
  force_simd_targets(0);
  for (int64_t rest = simd_targets(); rest != 0; rest &= rest - 1) {
    int64_t target = rest & -rest;
    force_simd_targets(target);
    f(target);
    force_simd_targets(0);
  }
}

}  // namespace wick
