// Attributes of linear solvers and matrix decompositions.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct TriangularAttrs {
  int64_t upper = 0, transpose = 0, unitriangular = 0;
};
WICK_ATTR_FIELDS(TriangularAttrs, WICK_FIELD(TriangularAttrs, 1, upper),
                 WICK_FIELD(TriangularAttrs, 2, transpose),
                 WICK_FIELD(TriangularAttrs, 3, unitriangular));

struct FactorAttrs {
  int64_t full = 0;
};  // 1: square orthogonal factors, 0: min(m, n) columns
WICK_ATTR_FIELDS(FactorAttrs, WICK_FIELD(FactorAttrs, 1, full));

}  // namespace wick
