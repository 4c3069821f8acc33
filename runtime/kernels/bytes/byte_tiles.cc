#define HWY_WANT_AVX3_DL
#include "runtime/kernels/bytes/byte_tiles.h"

#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/bytes/byte_tiles.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/bytes/byte_depthwise-inl.h"
#include "runtime/kernels/bytes/byte_dot.h"
#include "runtime/kernels/bytes/byte_end-inl.h"
#include "runtime/kernels/bytes/byte_tiles-inl.h"
#include "runtime/kernels/bytes/byte_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL
constexpr auto kWindowsOf = &byte_windows;
#else
constexpr void (*kWindowsOf)(const ByteWindows&) = nullptr;
#endif

static const ByteKernels* byte_set() {
  static constexpr ByteKernels kSet = {HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL ? 8 : 4,
                                       kByteVectors * kByteLanes,
                                       kPerWord,
                                       false,
                                       &byte_tile<false>,
                                       &byte_tile<true>,
                                       &byte_zip,
                                       &end_rows,
                                       &end_columns,
                                       &byte_depthwise,
                                       kWindowsOf,
                                       &byte_range_of,
                                       &quantize_row};
#if HWY_ARCH_ARM_A64 || (defined(WICK_AVX_VNNI) && HWY_TARGET == HWY_AVX2)
  static constexpr ByteKernels kDot = {
      kDotRows,       kDotColumns,     4,        HWY_ARCH_ARM_A64 != 0,
      &dot_conv_tile, &dot_gemm_tile,  &dot_zip, &end_rows,
      &end_columns,   &byte_depthwise, nullptr,  &byte_range_of,
      &quantize_row};
  if (has_dot()) return &kDot;
#endif
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {
constinit std::atomic<bool> g_allowed{true};
}

HWY_EXPORT(byte_set);
const ByteKernels& byte_kernels() { return *HWY_DYNAMIC_DISPATCH(byte_set)(); }

void allow_byte_instructions(bool allowed) { g_allowed.store(allowed); }
bool byte_instructions_allowed() { return g_allowed.load(); }

}  // namespace wick
#endif
