// The bf16 matrix product on CPUs with AMX tiles (AMX_BF16), chosen at run time: a tile register
// holds 16 x 16 outputs, and an instruction takes 32 k.
//
// The order of summation, per output, with k padded with zeros to whole steps: each step has two
// chains of fma from +0, one over its even k and one over its odd k, ascending; their sum is added
// to the output's. All of it is in f32; subnormal operands and results are treated as 0, whatever
// mode the thread is in. It does not depend on m, n, threads or the position of a row. See
// docs/numerics.md: P3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/half.h"
#include "runtime/core/thread_pool.h"

namespace wick {

// Returns whether the CPU has the tiles, the system grants them, and force_simd_targets() leaves
// AVX-512 enabled.
bool bf16_tiles();

struct Bf16Gemm {
  int64_t m = 0, n = 0, k = 0;
  const BFloat16* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const BFloat16* b = nullptr;
  int64_t b_row = 0, b_col = 0;
  // Receives finished sums: rows [i, i + rows) of columns [j, j + cols), with a row stride of 32.
  void (*finish)(const void* context, const float* sums, int64_t i, int64_t j, int64_t rows,
                 int64_t cols) = nullptr;
  const void* context = nullptr;
};

size_t bf16_gemm_scratch_bytes(int64_t m, int64_t n, int64_t k);  // 64-byte aligned
void bf16_gemm(const Bf16Gemm& g, void* scratch, ThreadPool* pool);

}  // namespace wick
