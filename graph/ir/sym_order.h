// Orders symbolic sizes beyond what the bounds of their symbols tell.
#pragma once

#include "graph/ir/sym_dim.h"

namespace wick {

// Returns true if the expression is at most 0 whatever the symbols are; false: not known. It bounds
// floor(x, b) by (x - b + 1) / b and x / b, and tries max(a, b) as a and as b.
bool never_positive(const SymDim& d);

}  // namespace wick
