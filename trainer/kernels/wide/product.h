// The matrix product of float64, in register tiles and threaded: matmul, convolutions and their
// gradients go through it. The order of the numeric contract: per output one FMA for each k,
// ascending, from +0 or from the sum that is there. The bits do not depend on blocks or threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/thread_pool.h"

namespace wick {

// The vector operand: a matrix in memory, or the inputs under a convolution's kernel.
class WideRows {
 public:
  virtual ~WideRows() = default;
  // Packs rows [k, k + depth) of `cols` columns from j on in panels of `columns` of them:
  // [panel][k][columns], zeros beyond the last.
  virtual void pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
                    double* panels) const = 0;
};
// The most columns of a panel.
constexpr int64_t kWideMostColumns = 32;

// A matrix in memory, with strides in elements.
class WideMatrix final : public WideRows {
 public:
  WideMatrix(const double* b, int64_t b_row, int64_t b_col) : data_(b), row_(b_row), col_(b_col) {}
  void pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
            double* panels) const override;

 private:
  const double* data_;
  int64_t row_, col_;
};

// c[i][j] = sum over k of a[i][k] * b[k][j]. A has strides in elements, C's columns are contiguous.
struct WideProduct {
  int64_t m = 0, n = 0, k = 0;
  const double* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const WideRows* b = nullptr;
  double* c = nullptr;
  int64_t c_row = 0;
  bool resume = false;  // start from the sums in c instead of +0
};

// Returns whether the current SIMD target computes with the contract's bits.
bool wide_products();

// Doubles of scratch that one worker needs.
constexpr int64_t kWideScratch = 256 * 96 + 256 * 64;

// scratch has kWideScratch doubles for each thread of the pool (null: one).
void wide_product(const WideProduct& p, double* scratch, ThreadPool* pool);

}  // namespace wick
