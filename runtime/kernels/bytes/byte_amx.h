// Byte products on CPUs with AMX tiles (AMX_INT8), chosen at run time: an instruction computes 16 x
// 16 sums over 64 k. Rows are packed in blocks of 32, [step][tile][16 rows][64 bytes], without the
// second tile where at most 16 rows are left; columns are packed in words of four k, 16 words per
// step.
#pragma once

#include <cstdint>

namespace wick {

// Returns whether the CPU has the tiles, the system grants them, and force_simd_targets() leaves
// AVX3_DL enabled.
bool byte_amx();

struct ByteAmxBlock {
  const void* rows;
  const uint32_t* columns;  // word i of step s of tap t: at tap[t] + (16 s + i) * word_step
  const int32_t* tap;
  int64_t taps, steps;
  int64_t word_step;
  int32_t* sums;  // [16 row_tiles][16 column_tiles], row stride sums_step
  int64_t sums_step;
  int row_tiles;     // 1 or 2
  int column_tiles;  // 1 .. 4
};

// Call any number of blocks between these two, on one thread.
void byte_amx_begin();
void byte_amx_end();
void byte_amx_conv(const ByteAmxBlock& block);  // signed rows, unsigned columns
void byte_amx_gemm(const ByteAmxBlock& block);  // unsigned rows, signed columns

// Copies 64 words each: to[i][64] = the words at from + offset[i].
void byte_amx_gather(const uint32_t* from, const int32_t* offset, int64_t count, uint32_t* to);

}  // namespace wick
