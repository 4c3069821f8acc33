// Plans of a kernel that reaches its input in part (ConvReach).
#pragma once

#include "runtime/kernels/conv.h"

namespace wick {

ConvReach conv_reach(const ConvShape& s);
// The convolution by that part.
ConvShape cut_to_reach(const ConvReach& r, ConvShape s);

// Of a plan whose reach is not whole: how many taps are kept, their offsets, and conv_pack_weights
// of them. What stands for a run reads one more channel, of zeros.
int64_t count_reach_taps(const ConvPlan& p);
void fill_reach_offsets(const ConvPlan& p, int32_t* offset);
// Of output channels channel0 on, `channels` of them; w is the whole weight.
void pack_reach_weights(const TileKernels& kernels, const ConvPlan& p, int64_t unit, const float* w,
                        int64_t channel0, int64_t channels, float* packed);

}  // namespace wick
