// Plans of a convolution whose kernel reaches its input only in part (ConvReach).
#pragma once

#include "runtime/kernels/conv/conv.h"

namespace wick {

ConvReach conv_reach(const ConvShape& s);
// Returns the convolution with only that part of the kernel.
ConvShape cut_to_reach(const ConvReach& r, ConvShape s);

// For plans whose reach is not whole: the number of kept taps, and their offsets. The tap that
// replaces a run reads an extra channel of zeros.
int64_t count_reach_taps(const ConvPlan& p);
void fill_reach_offsets(const ConvPlan& p, int32_t* offset);
// Packs the kept taps like conv_pack_weights, for `channels` output channels from channel0 on; w is
// the whole weight.
void pack_reach_weights(const TileKernels& kernels, const ConvPlan& p, int64_t unit, const float* w,
                        int64_t channel0, int64_t channels, float* packed);

}  // namespace wick
