// bf16 matrix product on CPUs with AMX tiles (AMX_BF16), chosen at run time: 16 x 16 outputs in a
// tile register, 32 k a step.
//
// The order, per output, k filled up with zeros to whole steps: in each step two chains of fma from
// +0, one over its even k, one over its odd k, ascending; their sum is added to the output's. All
// in f32; subnormal operands and results are read and written as 0, whatever mode the thread is in.
// It does not depend on m, n, threads or where a row lies. See docs/numerics.md: P3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/half.h"
#include "runtime/core/thread_pool.h"

namespace wick {

// True when the CPU and the system grant the tiles, and force_simd_targets() leaves AVX-512.
bool bf16_tiles();

struct Bf16Gemm {
  int64_t m = 0, n = 0, k = 0;
  const BFloat16* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const BFloat16* b = nullptr;
  int64_t b_row = 0, b_col = 0;
  // Takes finished sums: rows [i, i + rows) of columns [j, j + cols), sums 32 apart.
  void (*finish)(const void* context, const float* sums, int64_t i, int64_t j, int64_t rows,
                 int64_t cols) = nullptr;
  const void* context = nullptr;
};

size_t bf16_gemm_scratch_bytes(int64_t m, int64_t n, int64_t k);  // 64-byte aligned
void bf16_gemm(const Bf16Gemm& g, void* scratch, ThreadPool* pool);

}  // namespace wick
