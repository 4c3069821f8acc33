// The first-order gradient of the recurrent cells that layers create: one walk back over time.
#pragma once

#include "trainer/autograd/grad/common.h"

namespace wick {

// Sets the gradients and returns true. Returns false, with nothing set, for any other cell (other
// functions, a clip, peepholes, tied gates, a candidate that reads the reset state) or if the
// single steps have to be visible (higher orders, forward mode, captures, explanations). The row
// must save the inputs and the output y.
bool walk_back(GradCtx& c);

}  // namespace wick
