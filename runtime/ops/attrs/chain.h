// Attributes of FusedElementwise: a chain of elementwise ops and of reductions of whole rows.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

constexpr int kChainSteps = 48, kChainConstants = 16, kChainInputs = 16;

// A straight-line program with one op per step; the last step's result is the output. A step is
// encoded in one number (runtime/ops/chain.h): the op, its operands, a flag.
struct ChainAttrs {
  IntList<kChainSteps> steps;
  IntList<kChainConstants> constants;  // bits of doubles
  int64_t row_dims = 0;                // trailing dims that reductions reduce; 0: no reductions
};
WICK_ATTR_FIELDS(ChainAttrs, WICK_FIELD(ChainAttrs, 1, steps), WICK_FIELD(ChainAttrs, 2, constants),
                 WICK_FIELD(ChainAttrs, 3, row_dims).up_to(kMaxRank));

}  // namespace wick
