// Image ops that models bring: the trainer composes its own (interpolate, conv_transpose, fold) of
// ops that have gradients.
#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(Resize, NonDiff::kInferenceOnly);
WICK_NONDIFF(GridSample, NonDiff::kInferenceOnly);
WICK_NONDIFF(AffineGrid, NonDiff::kInferenceOnly);
WICK_NONDIFF(RoiAlign, NonDiff::kInferenceOnly);
WICK_NONDIFF(MaxRoiPool, NonDiff::kInferenceOnly);
WICK_NONDIFF(MaxPoolIndices, NonDiff::kInferenceOnly);
WICK_NONDIFF(LpPool, NonDiff::kInferenceOnly);
WICK_NONDIFF(ConvTranspose, NonDiff::kInferenceOnly);
WICK_NONDIFF(Col2Im, NonDiff::kInferenceOnly);
WICK_NONDIFF(DeformConv, NonDiff::kInferenceOnly);

}  // namespace wick
