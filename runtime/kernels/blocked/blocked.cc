#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/blocked/blocked.cc"
#include "runtime/kernels/blocked/blocked.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/blocked/blocked-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

static const BlockedKernels* blocked_set() {
  // Targets that only old machines choose would add the bodies to every program for little gain.
  if constexpr (kFewBodies || WICK_BLOCKS == 0) {
    static constexpr BlockedKernels kNone = {};
    return &kNone;
  } else {
    static constexpr BlockedKernels kSet = {kLanes, &blocked::area, &blocked::minus_zero,
                                            &blocked::depthwise, &blocked::pick};
    return &kSet;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {

HWY_EXPORT(blocked_set);
const BlockedKernels& blocked_kernels() { return *HWY_DYNAMIC_DISPATCH(blocked_set)(); }

}  // namespace wick
#endif
