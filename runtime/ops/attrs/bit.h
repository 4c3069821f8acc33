// Attributes of remainders, bit shifts and tests of floats.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct ModAttrs {
  int64_t fmod = 0;
};
WICK_ATTR_FIELDS(ModAttrs, WICK_FIELD(ModAttrs, 1, fmod));

struct BitShiftAttrs {
  int64_t right = 0;
};  // 0: left
WICK_ATTR_FIELDS(BitShiftAttrs, WICK_FIELD(BitShiftAttrs, 1, right));

struct IsInfAttrs {
  int64_t detect_negative = 1, detect_positive = 1;
};
WICK_ATTR_FIELDS(IsInfAttrs, WICK_FIELD(IsInfAttrs, 1, detect_negative),
                 WICK_FIELD(IsInfAttrs, 2, detect_positive));

}  // namespace wick
