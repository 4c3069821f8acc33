// Rows of bytes by panels of weights: what QGemm, QLinearMatMul, MatMulInteger and DynamicLinear
// share.
#pragma once

#include <algorithm>

#include "runtime/kernels/byte_tiles.h"
#include "runtime/kernels/integer.h"
#include "runtime/kernels/kernel.h"

namespace wick {

struct ByteGemm {
  int64_t m = 1, n = 1, k = 0, batches = 1;
  BytePlane a, b;  // element strides; batches of a product of matrices
  int64_t nr = 1, per_word = 4;
  bool amx = false;

  int64_t words() const { return (k + per_word - 1) / per_word; }
  // Of a panel and of rows for AMX: whole steps of bytes, the rest zeros.
  int64_t kept_words() const {
    return per_word == 4 ? (words() + kStepWords - 1) / kStepWords * kStepWords : words();
  }
  int64_t row_words() const { return amx ? kept_words() : words(); }
  int64_t panels() const { return (n + nr - 1) / nr; }
  int64_t columns() const { return panels() * nr; }
  int64_t blocks() const { return (m + kByteRows - 1) / kByteRows; }
  int64_t line() const { return per_word * nr; }  // bytes of a panel's word of each column
  size_t panel_bytes() const { return static_cast<size_t>(kept_words() * line()); }
  // All panels, then each column's sum.
  size_t packed_bytes() const {
    return static_cast<size_t>(panels()) * (panel_bytes() + 4 * static_cast<size_t>(nr));
  }
  size_t rows_bytes() const { return 4 * static_cast<size_t>(blocks() * kByteRows * row_words()); }
  const int32_t* sums(const void* packed) const {
    return reinterpret_cast<const int32_t*>(static_cast<const char*>(packed) +
                                            static_cast<size_t>(panels()) * panel_bytes());
  }
};

// Of a packed panel's layout. A target of pairs says 10, since 2 was pairs of int16, which older
// files may hold.
inline int64_t byte_panel_unit(const ByteKernels& kernels) {
  return kernels.nr | (kernels.per_word == 2 ? 10 : kernels.per_word) << 8;
}

// A product of matrices of bytes, MatMulInteger's, with y's batches; n is one where b is a vector.
// Rows of batches follow each other where there is one b.
ByteGemm byte_matrices(const TensorView& a, const TensorView& b, const TensorView& y,
                       const ByteKernels& kernels, bool amx);
// The rest of g, whose sizes are known.
void choose_byte_form(const ByteKernels& kernels, bool amx, ByteGemm* g);

// Panel `panel` of int8 or uint8 numbers of `b` (row: between two k, column: between two columns)
// and its sums.
void pack_byte_panel(const ByteKernels& kernels, const ByteGemm& g, const uint8_t* b,
                     bool is_signed, int64_t panel, void* packed);
// Rows [32 block, + count) of k bytes each, `step` apart, each XOR flip.
void pack_byte_rows(const ByteGemm& g, const ByteKernels& kernels, const uint8_t* rows,
                    int64_t step, uint8_t flip, int64_t block, int64_t count, uint32_t* packed);
// sums[32][nr] of a block of rows and a panel.
void multiply_bytes(const ByteKernels& kernels, const ByteGemm& g, const uint32_t* rows,
                    const void* packed, int64_t block, int64_t panel, int64_t count, int32_t* sums);
// All panels of the matrix that begins at element `at` of w.
void pack_byte_panels(const ByteKernels& kernels, const ByteGemm& g, const TensorView& w,
                      int64_t at, ThreadPool* pool, void* packed);
// The sum of k bytes as they are stored: XOR flip, signed where x is.
int32_t sum_of_bytes(const uint8_t* bytes, int64_t k, uint8_t flip, bool is_signed);

// One product of matrices, rows and panels packed.
struct ByteProduct {
  const ByteKernels& t;
  const ByteGemm& g;
  ByteColumnsEnd end;  // of the whole
  size_t y_bytes;      // of a number
  uint32_t* rows;
  const void* panels;

  void run(ThreadPool* pool) const;

 private:
  void block(int64_t row_block, int64_t panel) const;
};

}  // namespace wick
