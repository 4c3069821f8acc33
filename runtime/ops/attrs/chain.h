// Attributes of chains: elementwise ops, and reductions of whole rows, as one op.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

constexpr int kChainSteps = 48, kChainConstants = 16, kChainInputs = 16;

// A straight-line program, an op a step; the last step's result is the output. A step is one number
// (runtime/ops/chain.h reads and writes them): the op, its operands, a flag.
struct ChainAttrs {
  IntList<kChainSteps> steps;
  IntList<kChainConstants> constants;  // bits of doubles
  int64_t row_dims = 0;                // reductions take so many trailing dims; 0: there are none
};
WICK_ATTR_FIELDS(ChainAttrs, WICK_FIELD(ChainAttrs, 1, steps), WICK_FIELD(ChainAttrs, 2, constants),
                 WICK_FIELD(ChainAttrs, 3, row_dims));

}  // namespace wick
