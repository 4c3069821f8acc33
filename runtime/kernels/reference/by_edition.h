// The functions that depend on the edition (math_edition_body-inl.h), one number at a time.
#pragma once

#include <cmath>

#include "runtime/kernels/math/math_scalar.h"

namespace wick::reference {

// f64 has one form, which may use libm.
#define WICK_REF_BY_EDITION(name, f64)                               \
  inline float name##_of(Edition e, float x) {                       \
    const scalar_math::F v(x);                                       \
    return (is_first(e) ? scalar_math::name##_in<Edition::k1>(v)     \
                        : scalar_math::name##_in<kNewestEdition>(v)) \
        .v;                                                          \
  }                                                                  \
  inline double name##_of(Edition, double x) { return f64; }

WICK_REF_BY_EDITION(exp, std::exp(x))
WICK_REF_BY_EDITION(sigmoid, 1 / (1 + std::exp(-x)))
WICK_REF_BY_EDITION(tanh, std::tanh(x))
WICK_REF_BY_EDITION(silu, x / (1 + std::exp(-x)))
WICK_REF_BY_EDITION(gelu_tanh,
                    x / (1 + std::exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x))))
#undef WICK_REF_BY_EDITION

}  // namespace wick::reference
