// Byte products with instructions that are in none of our SIMD targets, chosen at run time: dot
// products of aarch64 (four products of signed bytes per lane), and AVX-VNNI on CPUs without
// AVX-512 (four products of an unsigned and a signed byte).
#pragma once

#include "runtime/kernels/bytes/byte_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define WICK_AVX_VNNI 1
#endif

namespace wick {

#if defined(__aarch64__) || defined(WICK_AVX_VNNI)
constexpr int kDotRows = 4, kDotColumns = 16;
bool has_dot();
void dot_conv_tile(const ByteTile& t);
void dot_gemm_tile(const ByteTile& t);
void dot_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool panel, void* out);
#endif

}  // namespace wick
