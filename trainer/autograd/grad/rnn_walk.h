// The first-order gradient of the recurrent cells that layers make: one walk back over time.
#pragma once

#include "trainer/autograd/grad/common.h"

namespace wick {

// Sets the gradients and says so; false, with nothing set, where the cell is another one (other
// functions, a clip, peepholes, tied gates, a candidate that reads the reset state) or somebody
// has to see the steps (higher orders, forward mode, captures, explanations). The row must save
// the inputs and the output y.
bool walk_back(GradCtx& c);

}  // namespace wick
