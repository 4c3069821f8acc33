// Products of byte rows and weight panels, shared by QGemm, QLinearMatMul, MatMulInteger and
// DynamicLinear.
#pragma once

#include <algorithm>

#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/kernel.h"

namespace wick {

struct ByteGemm {
  int64_t m = 1, n = 1, k = 0, batches = 1;
  BytePlane a, b;  // strides in elements, with the batch dims
  int64_t nr = 1, per_word = 4;
  bool amx = false;

  int64_t words() const { return (k + per_word - 1) / per_word; }
  // Words of a panel, and of rows for AMX: whole steps, padded with zeros.
  int64_t kept_words() const {
    return per_word == 4 ? (words() + kStepWords - 1) / kStepWords * kStepWords : words();
  }
  int64_t row_words() const { return amx ? kept_words() : words(); }
  int64_t panels() const { return (n + nr - 1) / nr; }
  int64_t columns() const { return panels() * nr; }
  int64_t blocks() const { return (m + kByteRows - 1) / kByteRows; }
  int64_t line() const { return per_word * nr; }  // bytes of one word of every column of a panel
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

// Identifies a packed panel's layout. Targets with two k per word use 10, since 2 was pairs of
// int16, which older files may contain.
inline int64_t byte_panel_unit(const ByteKernels& kernels) {
  return kernels.nr | (kernels.per_word == 2 ? 10 : kernels.per_word) << 8;
}

// Describes a product of byte matrices, such as MatMulInteger's, with y's batches; n is 1 where b
// is a vector. With a single b the batches are merged into rows.
ByteGemm byte_matrices(const TensorView& a, const TensorView& b, const TensorView& y,
                       const ByteKernels& kernels, bool amx);
// Chooses the layout of g, whose sizes are set.
void choose_byte_form(const ByteKernels& kernels, bool amx, ByteGemm* g);

// Packs panel `panel` of the int8 or uint8 matrix b (g.b has its strides) and its column sums.
void pack_byte_panel(const ByteKernels& kernels, const ByteGemm& g, const uint8_t* b,
                     bool is_signed, int64_t panel, void* packed);
// Packs `count` rows from row 32 * block on, of k bytes each, with stride `step`, each byte XOR
// flip.
void pack_byte_rows(const ByteGemm& g, const ByteKernels& kernels, const uint8_t* rows,
                    int64_t step, uint8_t flip, int64_t block, int64_t count, uint32_t* packed);
// Computes sums[32][nr] of a block of rows and a panel.
void multiply_bytes(const ByteKernels& kernels, const ByteGemm& g, const uint32_t* rows,
                    const void* packed, int64_t block, int64_t panel, int64_t count, int32_t* sums);
// Packs all panels of the matrix that begins at element `at` of w.
void pack_byte_panels(const ByteKernels& kernels, const ByteGemm& g, const TensorView& w,
                      int64_t at, ThreadPool* pool, void* packed);
// Returns the sum of k bytes in their stored form: XOR flip, signed where x is.
int32_t sum_of_bytes(const uint8_t* bytes, int64_t k, uint8_t flip, bool is_signed);

// One matrix product with packed rows and panels.
struct ByteProduct {
  const ByteKernels& t;
  const ByteGemm& g;
  ByteColumnsEnd end;  // for the whole output
  size_t y_bytes;      // per output element
  uint32_t* rows;
  const void* panels;

  void run(ThreadPool* pool) const;

 private:
  void block(int64_t row_block, int64_t panel) const;
};

}  // namespace wick
