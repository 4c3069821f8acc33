// Products of bytes on CPUs with AMX tiles (AMX_INT8), chosen at run time: 16 x 16 sums of 64 k an
// instruction. Rows lie in blocks of 32, [step][tile][16 rows][64 bytes], the second tile missing
// where 16 rows or fewer are left; columns in words of four k, 16 words a step.
#pragma once

#include <cstdint>

namespace wick {

// True when the CPU and the system grant the tiles, and force_simd_targets() leaves AVX3_DL.
bool byte_amx();

struct ByteAmxBlock {
  const void* rows;
  const uint32_t* columns;  // word i of step s of tap t: at tap[t] + (16 s + i) * word_step
  const int32_t* tap;
  int64_t taps, steps;
  int64_t word_step;
  int32_t* sums;  // [16 row_tiles][16 column_tiles], rows sums_step apart
  int64_t sums_step;
  int row_tiles;     // 1 or 2
  int column_tiles;  // 1 .. 4
};

// Between these two of one thread: any number of blocks.
void byte_amx_begin();
void byte_amx_end();
void byte_amx_conv(const ByteAmxBlock& block);  // rows are signed, columns unsigned
void byte_amx_gemm(const ByteAmxBlock& block);  // rows are unsigned, columns signed

// to[i][64] = the 64 words at from + offset[i]
void byte_amx_gather(const uint32_t* from, const int32_t* offset, int64_t count, uint32_t* to);

}  // namespace wick
