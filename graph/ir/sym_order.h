// Orders of symbolic sizes beyond what the bounds of their symbols tell.
#pragma once

#include "graph/ir/sym_dim.h"

namespace wick {

// True when the expression is known to be at most 0 whatever the symbols are; false: not known.
// floor(x, b) is put between (x - b + 1) / b and x / b, max(a, b) is looked at as a and as b.
bool never_positive(const SymDim& d);

}  // namespace wick
