#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(FusedElementwise, NonDiff::kInferenceOnly);

}  // namespace wick
