// Converts arrays between f32 and the 16-bit floats, with vectors where the CPU has them. The
// results are bit-identical to the conversions of BFloat16 and Half, with all NaNs counted as
// equal.
#pragma once

#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/core/half.h"

namespace wick {

inline bool is_16_bit_float(DType t) { return t == DType::kF16 || t == DType::kBF16; }

void widen(const BFloat16* from, float* to, int64_t n);
void widen(const Half* from, float* to, int64_t n);
void narrow(const float* from, BFloat16* to, int64_t n);
void narrow(const float* from, Half* to, int64_t n);
// Round in place to the numbers that the type of `kind` can represent.
void round_to(float* x, int64_t n, BFloat16 kind);
void round_to(float* x, int64_t n, Half kind);

}  // namespace wick
