// f32 matrix product: packed, blocked and threaded. The order of the numeric contract: per output
// one FMA for each k, ascending, from +0, then the epilogue. The bits do not depend on block sizes,
// the number of threads or packing.
#pragma once

#include <cstddef>

#include "runtime/core/thread_pool.h"
#include "runtime/kernels/gemm/tile.h"

namespace wick {

// Computes c[i][j] = epilogue(sum over k of a[i][k] * b[k][j]). A and B have strides in elements
// (transposed and strided operands need no copy); C's columns are contiguous.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const float* b = nullptr;  // may be null when packed_b is given
  int64_t b_row = 0, b_col = 0;
  const float* packed_b = nullptr;  // from gemm_pack_b, made by the same TileKernels
  int64_t packed_k = 0;             // the k it was packed with, if larger than k; else 0
  float* c = nullptr;
  int64_t c_row = 0;
  Epilogue epilogue;
};

// Packs B in panels of nr columns: [panel][k][nr]; the last panel has as few whole vectors as
// possible and is padded with zeros.
size_t gemm_packed_b_bytes(const TileKernels& kernels, int64_t k, int64_t n);
void gemm_pack_b(const TileKernels& kernels, const float* b, int64_t b_row, int64_t b_col,
                 int64_t k, int64_t n, float* packed, ThreadPool* pool = nullptr);

// An upper bound for any operand strides; `threads` is the pool's. The scratch must be 64-byte
// aligned.
size_t gemm_scratch_bytes(const TileKernels& kernels, int64_t m, int64_t n, int64_t k,
                          bool packed_b, int threads);

void gemm(const TileKernels& kernels, const Gemm& g, float* scratch, ThreadPool* pool);

// The reference: plain loops with std::fma.
void gemm_ref(const Gemm& g);

// Applies the epilogue with plain loops, in Epilogue's order.
void finish_ref(const Epilogue& e, int64_t channel0, float* out, int64_t out_step, int64_t rows,
                int64_t cols);

}  // namespace wick
