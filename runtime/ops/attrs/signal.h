// Attributes of Fourier transforms.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct DftAttrs {
  int64_t axis = -2;
  int64_t dft_length = 0;  // 0: the axis' size (for the inverse to reals: 2 (size - 1))
  int64_t inverse = 0, onesided = 0;
};
WICK_ATTR_FIELDS(DftAttrs, WICK_FIELD(DftAttrs, 1, axis), WICK_FIELD(DftAttrs, 2, dft_length),
                 WICK_FIELD(DftAttrs, 3, inverse), WICK_FIELD(DftAttrs, 4, onesided));

}  // namespace wick
