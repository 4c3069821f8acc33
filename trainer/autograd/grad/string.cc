// Ops on strings have no gradient.
#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(StringConcat, NonDiff::kInferenceOnly);
WICK_NONDIFF(StringSplit, NonDiff::kInferenceOnly);
WICK_NONDIFF(StringNormalizer, NonDiff::kInferenceOnly);
WICK_NONDIFF(CastString, NonDiff::kInferenceOnly);
WICK_NONDIFF(RegexFullMatch, NonDiff::kInferenceOnly);

}  // namespace wick
