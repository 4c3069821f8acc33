// Trees and dictionaries choose by comparing; nothing flows back through them.
#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(TreeEnsemble, NonDiff::kPiecewiseConstant);
WICK_NONDIFF(LookUp, NonDiff::kIntegerOutput);

}  // namespace wick
