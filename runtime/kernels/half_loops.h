// Arrays between f32 and the 16-bit floats: BFloat16's and Half's own conversions, by vectors where
// the CPU has them. The same bits, NaNs taken as one value.
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
// In place: to the numbers that the type of `kind` has.
void round_to(float* x, int64_t n, BFloat16 kind);
void round_to(float* x, int64_t n, Half kind);

}  // namespace wick
