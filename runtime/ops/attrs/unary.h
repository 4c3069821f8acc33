// Attributes of elementwise ops with one input.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct LeakyReluAttrs {
  double alpha = 0.01;
};
WICK_ATTR_FIELDS(LeakyReluAttrs, WICK_FIELD(LeakyReluAttrs, 1, alpha));

struct EluAttrs {
  double alpha = 1.0;
};
WICK_ATTR_FIELDS(EluAttrs, WICK_FIELD(EluAttrs, 1, alpha));

struct GeluAttrs {
  int64_t tanh = 0;
};  // 0: erf form, 1: tanh approximation
WICK_ATTR_FIELDS(GeluAttrs, WICK_FIELD(GeluAttrs, 1, tanh));

struct HardSigmoidAttrs {
  double alpha = 0.2, beta = 0.5;
};
WICK_ATTR_FIELDS(HardSigmoidAttrs, WICK_FIELD(HardSigmoidAttrs, 1, alpha),
                 WICK_FIELD(HardSigmoidAttrs, 2, beta));

struct ClipAttrs {
  double min = -__builtin_inf();
  double max = __builtin_inf();
};
WICK_ATTR_FIELDS(ClipAttrs, WICK_FIELD(ClipAttrs, 1, min), WICK_FIELD(ClipAttrs, 2, max));

enum class RoundMode : int64_t { kUp = 0, kDown = 1, kNearest = 2 };
struct CastAttrs {
  int64_t to = static_cast<int64_t>(DType::kF32);  // a DType
  int64_t saturate = 1;                            // for 8-bit floats
  int64_t round_mode = 0;                          // a RoundMode, for float8_e8m0fnu
};
WICK_ATTR_FIELDS(CastAttrs, WICK_FIELD(CastAttrs, 1, to).up_to(kDTypeCount - 1, 1),
                 WICK_FIELD(CastAttrs, 2, saturate),
                 WICK_FIELD(CastAttrs, 3, round_mode).up_to(RoundMode::kNearest));

}  // namespace wick
