#include "runtime/kernels/simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "runtime/platform/cpu.h"

namespace wick {
namespace {

TEST(Simd, BestTargetFirstAndNamed) {
  int64_t all = simd_targets();
  ASSERT_NE(all, 0);
  for (int64_t rest = all; rest != 0; rest &= rest - 1) {
    EXPECT_STRNE(simd_target_name(rest & -rest), "Unknown");
  }
#if defined(__x86_64__)
  // The fallback is always there; the wider targets are, exactly when the CPU says so.
  EXPECT_NE(all & HWY_STATIC_TARGET, 0);
  EXPECT_EQ((all & HWY_SSE4) != 0, __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ((all & HWY_AVX2) != 0, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ((all & HWY_AVX3) != 0, __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(platform::cpu_vectors().avx512_dl, __builtin_cpu_supports("avx512vpopcntdq") != 0);
#endif
}

TEST(Simd, ForcingChoosesOneTargetAndUndoes) {
  int64_t all = simd_targets();
  std::vector<int64_t> seen;
  for_each_simd_target([&](int64_t target) {
    EXPECT_EQ(simd_targets(), target);
    // If only one target is compiled in, there is nothing to choose
    // (runtime/kernels/hwy_targets.cc).
    constexpr bool kOne = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0;
    EXPECT_TRUE(kOne || hwy::GetChosenTarget().IsInitialized());
    seen.push_back(target);
  });
  EXPECT_EQ(seen.size(), static_cast<size_t>(std::popcount(static_cast<uint64_t>(all))));
  EXPECT_EQ(simd_targets(), all);
}

TEST(Simd, FmaTargets) {
  EXPECT_TRUE(simd_target_has_fma(HWY_AVX2));
  EXPECT_TRUE(simd_target_has_fma(HWY_AVX3));
  EXPECT_TRUE(simd_target_has_fma(HWY_SCALAR));
  EXPECT_FALSE(simd_target_has_fma(HWY_SSE4));
}

}  // namespace
}  // namespace wick
