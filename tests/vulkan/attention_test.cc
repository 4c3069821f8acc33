// Attention in one dispatch: several blocks of keys, rows that fill none, masks, shared heads.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/vulkan/against_oracle.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

FusedAttentionAttrs with(std::initializer_list<AttentionStep> steps) {
  FusedAttentionAttrs a;
  for (AttentionStep s : steps) a.steps.values[a.steps.count++] = static_cast<int64_t>(s);
  return a;
}

Input number(double v) { return {DType::kF32, {}, 0, 0, {v}}; }

TEST(VulkanAttention, WithinBoundsAtOddSizes) {
  WICK_NEED_DEVICE();
  const double no = -INFINITY;
  std::vector<double> causal;
  for (int i = 0; i < 65; ++i) {
    for (int j = 0; j < 65; ++j) causal.push_back(j <= i);
  }
  // A first block of keys that no row may look at, then one that all may.
  Input late = of(DType::kBool, {1, 1, 1, 63});
  for (int j = 0; j < 63; ++j) late.values.push_back(j >= 40);
  const Sample samples[] = {
      sample("plain",
             {f32({2, 3, 17, 63}, -1, 1), f32({2, 3, 129, 63}, -1, 1), f32({2, 3, 129, 65}, -1, 1)},
             with({})),
      sample("small", {f32({1, 1, 1, 1}), f32({1, 1, 3, 1}), f32({1, 1, 3, 1})}, with({})),
      sample("wide",
             {f32({1, 2, 9, 127}, -1, 1), f32({1, 2, 33, 127}, -1, 1), f32({1, 2, 33, 128}, -1, 1),
              number(0.1)},
             with({AttentionStep::kMul})),
      sample("causal",
             {f32({3, 65, 17}, -1, 1),
              f32({3, 65, 17}, -1, 1),
              f32({3, 65, 17}, -1, 1),
              number(0.25),
              {DType::kBool, {65, 65}, 0, 0, causal},
              number(no)},
             with({AttentionStep::kMulQuery, AttentionStep::kKeep})),
      sample("late",
             {f32({1, 2, 3, 16}, -1, 1), f32({1, 2, 63, 16}, -1, 1), f32({1, 2, 63, 16}, -1, 1),
              late, number(no)},
             with({AttentionStep::kKeep})),
      sample("shared heads",
             {f32({2, 6, 5, 8}, -1, 1), f32({2, 3, 33, 8}, -1, 1), f32({2, 2, 33, 9}, -1, 1),
              f32({2, 1, 5, 33}, -2, 2)},
             with({AttentionStep::kAdd, AttentionStep::kTanh})),
  };
  for (const Sample& s : samples) expect_within_bounds(OpId::kFusedAttention, s);
}

}  // namespace
}  // namespace wick::test
