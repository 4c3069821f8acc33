// Attributes of indexing, sorting and cumulative ops.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

enum class ScatterReduction : int64_t { kNone = 0, kAdd = 1, kMul = 2, kMax = 3, kMin = 4 };
struct ScatterAttrs {
  int64_t axis = 0, reduction = 0;
};
WICK_ATTR_FIELDS(ScatterAttrs, WICK_FIELD(ScatterAttrs, 1, axis),
                 WICK_FIELD(ScatterAttrs, 2, reduction).up_to(ScatterReduction::kMin));

struct GatherNDAttrs {
  int64_t batch_dims = 0;
};
WICK_ATTR_FIELDS(GatherNDAttrs, WICK_FIELD(GatherNDAttrs, 1, batch_dims));

struct ScatterNDAttrs {
  int64_t reduction = 0;  // a ScatterReduction
};
WICK_ATTR_FIELDS(ScatterNDAttrs,
                 WICK_FIELD(ScatterNDAttrs, 1, reduction).up_to(ScatterReduction::kMin));

struct TopKAttrs {
  int64_t k = 1, axis = -1, largest = 1, sorted = 1;
};
WICK_ATTR_FIELDS(TopKAttrs, WICK_FIELD(TopKAttrs, 1, k), WICK_FIELD(TopKAttrs, 2, axis),
                 WICK_FIELD(TopKAttrs, 3, largest), WICK_FIELD(TopKAttrs, 4, sorted));

struct UniqueAttrs {
  IntList<1> axis;  // empty: the flattened elements
  int64_t sorted = 1;
};
WICK_ATTR_FIELDS(UniqueAttrs, WICK_FIELD(UniqueAttrs, 1, axis), WICK_FIELD(UniqueAttrs, 2, sorted));

struct CumulateAttrs {
  int64_t axis = 0, exclusive = 0, reverse = 0;
};
WICK_ATTR_FIELDS(CumulateAttrs, WICK_FIELD(CumulateAttrs, 1, axis),
                 WICK_FIELD(CumulateAttrs, 2, exclusive), WICK_FIELD(CumulateAttrs, 3, reverse));

struct TriluAttrs {
  int64_t upper = 1, k = 0;  // k: the diagonal, > 0 above the main one
};
WICK_ATTR_FIELDS(TriluAttrs, WICK_FIELD(TriluAttrs, 1, upper), WICK_FIELD(TriluAttrs, 2, k));

}  // namespace wick
