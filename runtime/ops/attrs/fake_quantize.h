// Attributes of quantization-aware training.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

// x is represented by integers from qmin to qmax; a scale serves the whole tensor or one index of
// `axis`.
struct FakeQuantizeAttrs {
  int64_t axis = 1, qmin = 0, qmax = 255;
  int64_t learned = 0;  // 1: scale and zero point get gradients (LSQ), 0: they are constant
  int64_t of = 0;       // FakeQuantizeGrad: gradient of 0: x, 1: scale, 2: zero point
};
WICK_ATTR_FIELDS(FakeQuantizeAttrs, WICK_FIELD(FakeQuantizeAttrs, 1, axis),
                 WICK_FIELD(FakeQuantizeAttrs, 2, qmin), WICK_FIELD(FakeQuantizeAttrs, 3, qmax),
                 WICK_FIELD(FakeQuantizeAttrs, 4, learned),
                 WICK_FIELD(FakeQuantizeAttrs, 5, of).up_to(2));

}  // namespace wick
